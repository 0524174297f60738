from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from prema_gym import agents  # noqa: E402
from prema_gym.agents.policies.export import Chooser, export, latency_us  # noqa: E402
from prema_gym.agents.policies.learned import LearnedPolicy  # noqa: E402
from prema_gym.errors import UnknownNameError  # noqa: E402
from prema_gym.simulator.observation import NUM_COLUMNS, column_names  # noqa: E402
from prema_gym.workloads import scenarios  # noqa: E402
from prema_gym.workloads.catalog import compile_scenario  # noqa: E402
from tests.agents.conftest import random_policy, tables  # noqa: E402


def learned() -> LearnedPolicy:
    policy = agents.load("learned")
    assert isinstance(policy, LearnedPolicy)
    return policy


def ten_thousand_tables() -> NDArray[np.float32]:
    """Decisions of the paper's workloads."""
    catalog = compile_scenario(scenarios.get("paper"))
    seen = [table for table, _ in tables(catalog, count=200, steps=80)]
    return np.concatenate(seen)[:10_000]


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_torchscript_chooses_the_same_action_on_ten_thousand_tables(tmp_path: Path) -> None:
    policy = learned()
    observations = ten_thousand_tables()
    assert len(observations) == 10_000
    export(policy, tmp_path / "learned.pt", "torchscript")
    loaded = torch.jit.load(tmp_path / "learned.pt")
    with torch.no_grad():
        chosen = loaded(torch.from_numpy(observations)).numpy()
        assert loaded(torch.zeros(1, 64, NUM_COLUMNS)).tolist() == [0]
    assert np.array_equal(chosen, policy.predict(observations)[0])


def test_onnx_chooses_the_same_action_on_ten_thousand_tables(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    policy = learned()
    observations = ten_thousand_tables()
    export(policy, tmp_path / "learned.onnx", "onnx")
    session = ReferenceEvaluator(str(tmp_path / "learned.onnx"))
    with np.errstate(all="ignore"):  # empty rows
        (chosen,) = session.run(None, {"tables": observations})
        (wide,) = session.run(None, {"tables": np.zeros((1, 64, NUM_COLUMNS), np.float32)})
    assert np.array_equal(wide, [0])
    assert np.array_equal(chosen, policy.predict(observations)[0])
    # What a user finds in the file.
    model = onnx.load(tmp_path / "learned.onnx")
    told = {entry.key: entry.value.split(",") for entry in model.metadata_props}
    assert told == {"columns": list(column_names()), "mechanisms": ["checkpoint"]}
    assert f"[batch, slots, {NUM_COLUMNS}]" in model.doc_string


def test_several_mechanisms_are_exported_too() -> None:
    policy = random_policy(mechanisms=("checkpoint", "drain"))
    observations = ten_thousand_tables()[:100]
    with torch.no_grad():
        chosen = Chooser(policy)(torch.from_numpy(observations)).numpy()
    assert np.array_equal(chosen, policy.predict(observations)[0])


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown format 'onx'; did you mean 'onnx'"):
        export(random_policy(), tmp_path / "x", "onx")


def test_latency_is_a_time() -> None:
    policy = random_policy()
    table = ten_thousand_tables()[0]
    assert 0 < latency_us(lambda t: policy.predict(t), table) < 1e6
