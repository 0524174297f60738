"""How does a trained network leave Python, and how long does a decision take?

The exported program, ONNX or TorchScript, maps tables (B, S, C) to actions (B,), any B and S:
scaling of the inputs, legality and the choice are all inside.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.scorer.torch_scorer import SlotScorer
from prema_gym.errors import MissingExtraError, UnknownNameError
from prema_gym.evaluation.policy import Decider
from prema_gym.files import write_atomically
from prema_gym.simulator import Simulator
from prema_gym.simulator.observation import NUM_COLUMNS, column_names
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch

FORMATS = ("onnx", "torchscript")
INPUT, OUTPUT = "tables", "actions"
QUANTUM_US = 250.0
"""The paper's scheduling quantum: a decision must be far quicker."""
_OPSET = 17  # any runtime of the last years reads it


class Chooser(nn.Module):
    """The network and the choice: tables (B, S, C) to actions int64 (B,)."""

    def __init__(self, policy: LearnedPolicy) -> None:
        """Take over a policy's weights."""
        super().__init__()
        self.scorer = SlotScorer(policy.shape)
        self.scorer.load(policy.weights)

    def forward(self, tables: Tensor) -> Tensor:
        """The action of highest score in each table."""
        actions: Tensor = self.scorer(tables).argmax(dim=-1)
        return actions


def export(policy: LearnedPolicy, path: Path, format: str) -> None:
    """Write a policy's network to a file.

    Args:
        policy: One of ours (``agents.load`` of a shipped name or of a run with our network).
        path: The file, replaced if it is there.
        format: "onnx" or "torchscript".

    Raises:
        UnknownNameError: There is no such format.
        MissingExtraError: "onnx", and that package is not installed.
    """
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    chooser = Chooser(policy).eval()
    # Any table will do: nothing in the network depends on the values or the number of rows.
    example = torch.zeros(2, 5, NUM_COLUMNS)
    with warnings.catch_warnings():
        # Both exporters are called old; the new ones need a further package and fix the shapes.
        warnings.simplefilter("ignore")
        if format == "torchscript":
            traced = torch.jit.trace(chooser, (example,))  # type: ignore[no-untyped-call]
            write_atomically(path, lambda beside: traced.save(str(beside)))
            return
        try:
            import onnx  # noqa: F401 - torch needs it, and says so only in the middle of a file
        except ModuleNotFoundError:
            raise MissingExtraError("exporting to ONNX", "onnx", "networks") from None
        write_atomically(
            path, lambda beside: _write_onnx(chooser, example, policy.mechanisms, beside)
        )


def _write_onnx(chooser: Chooser, example: Tensor, mechanisms: tuple[str, ...], path: Path) -> None:
    import onnx

    torch.onnx.export(
        chooser,
        (example,),
        str(path),
        input_names=[INPUT],
        output_names=[OUTPUT],
        dynamic_axes={INPUT: {0: "batch", 1: "slots"}, OUTPUT: {0: "batch"}},
        opset_version=_OPSET,
        dynamo=False,
    )
    model = onnx.load(path)
    # What its user must know who has nothing but the file.
    model.doc_string = (
        f"{INPUT}: observation tables float32 [batch, slots, {NUM_COLUMNS}], a row a slot, zeros "
        f"where there is no task; columns in the metadata, units in their names. {OUTPUT}: int64 "
        "[batch], mechanism · slots + slot to run; mechanisms in the metadata."
    )
    known = {"columns": ",".join(column_names()), "mechanisms": ",".join(mechanisms)}
    onnx.helper.set_model_props(model, known)
    onnx.save(model, path)


def latency_us(
    decide: Callable[[NDArray[np.float32]], object], table: NDArray[np.float32]
) -> float:
    """Median time of one decision on one table, one thread, warm [µs].

    Args:
        decide: For example ``policy.predict``.
        table: Observation table float32 (S, C).
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(50):  # compiled, cached, warm
            decide(table)
        times = np.empty(1000)
        for i in range(len(times)):
            start = time.perf_counter_ns()
            decide(table)
            times[i] = time.perf_counter_ns() - start
    finally:
        torch.set_num_threads(threads)
    return float(np.median(times)) / 1e3


def latencies_us(policies: Mapping[str, Decider]) -> dict[str, float]:
    """:func:`latency_us` of several policies on one table of the paper's workload."""
    catalog = compile_scenario(scenarios.get("paper"))
    simulator = Simulator(catalog)
    simulator.load(sample_batch(catalog, [0]))
    for _ in range(5):  # by then several tasks are in the table
        simulator.step([int(simulator.mask[0].argmax())])
    table = simulator.observation[0].copy()
    return {name: latency_us(policy.predict, table) for name, policy in policies.items()}
