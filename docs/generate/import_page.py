"""Writes docs/imports.md: multiply-accumulates as we read them, and as ONNX Runtime executes them.

    python -m docs.generate.import_page FOLDER_OF_ONNX_FILES …

Files are those of the folders and the small graphs of ``tests/networks/onnx_cases.py``. What ran is
taken from ONNX Runtime's profile, inner graphs and every step of a loop included, without its
optimisations. Needs the package ``onnxruntime``. Weights that are not in a file become zeros, and
numbers of a type that no kernel has become floats: that changes no size.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from prema_gym.networks import read_network
from tests.networks.executed import Ran, executed_macs
from tests.networks.onnx_cases import CASES

PAGE = Path(__file__).parents[1] / "imports.md"

_HEAD = """# What is read of ONNX files, held against what runs

Made by `python -m docs.generate.import_page`. Multiply-accumulates of one inference as the importer counts them, and as ONNX Runtime {version} executed them:
the sizes of all arrays that its products read and wrote, taken from its profile (branches and every step of a loop included). Batch 1; an axis that
the file leaves open has the size that was given. Below the public files, then a small graph for each way in which work could be lost.

| file | ours | executed | |
|---|---:|---:|---|
"""  # noqa: E501 - a page's lines are as long as they are


def main() -> None:
    """Write the page; stop if a count differs."""
    import onnxruntime

    folders = [Path(argument) for argument in sys.argv[1:]]
    files = sorted(path for folder in folders for path in folder.glob("*.onnx"))
    rows = []
    for name, ours, model, feeds in (*_public(files), *_small()):
        executed = executed_macs(run(model, feeds))
        rows.append((name, ours, executed))
        print(name, ours, executed, flush=True)
    lines = [_line(name, ours, executed) for name, ours, executed in rows]
    head = _HEAD.replace("{version}", onnxruntime.__version__)
    PAGE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    if any(ours != executed for _, ours, executed in rows):
        sys.exit("a count differs")


def _line(name: str, ours: int, executed: int) -> str:
    word = "" if ours == executed else "differs"
    return f"| {name} | {_number(ours)} | {_number(executed)} | {word} |"


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


Read = tuple[str, int, onnx.ModelProto, Mapping[str, Any]]


def _public(files: Sequence[Path]) -> Iterator[Read]:
    for path in files:
        model = executable(onnx.load(path, load_external_data=False))
        yield f"`{path.name}`", read_network(path).network.macs(), model, feeds_of(model)


def _small() -> Iterator[Read]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.onnx"
        for case in CASES:
            path.write_bytes(case.model().SerializeToString())
            macs = read_network(path, dims=case.dims).network.macs()
            yield case.name, macs, case.model(), case.arrays()


def executable(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model with weights of zeros, all its numbers floats where no kernel takes the others."""
    floats = {TensorProto.INT8, TensorProto.BFLOAT16, TensorProto.UINT8}
    graph = model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type in floats:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for weight in graph.initializer:
        missing = weight.data_location == TensorProto.EXTERNAL or not _has_data(weight)
        if missing or weight.data_type in floats:
            kind = TensorProto.FLOAT if weight.data_type in floats else weight.data_type
            dtype = helper.tensor_dtype_to_np_dtype(kind)
            zeros = np.zeros(tuple(weight.dims), dtype)
            weight.CopyFrom(numpy_helper.from_array(zeros, weight.name))
    model.ir_version = min(max(model.ir_version, 4), 10)
    return model


def _has_data(weight: onnx.TensorProto) -> bool:
    listed = (weight.float_data, weight.int64_data, weight.int32_data, weight.double_data)
    return bool(weight.raw_data) or any(map(len, listed))


def feeds_of(model: onnx.ModelProto) -> dict[str, Any]:
    """Zeros for every input, an open axis of size 1."""
    stored = {weight.name for weight in model.graph.initializer}
    found = {}
    for value in model.graph.input:
        if value.name not in stored:
            tensor = value.type.tensor_type
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            sizes = [dim.dim_value or 1 for dim in tensor.shape.dim]
            found[value.name] = np.zeros(sizes, dtype)
    return found


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Ran]:
    """Execute a model with ONNX Runtime and read its profile."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        # Weights that are packed once are no longer among what an operator reads.
        options.add_session_config_entry("session.disable_prepacking", "1")
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        session.run(None, dict(feeds))
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    settings = {
        one.name: {a.name: helper.get_attribute_value(a) for a in one.attribute}
        for one in model.graph.node
    }
    return [_ran(event, settings) for event in events if event["name"].endswith("_kernel_time")]


def _ran(event: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> Ran:
    """One event of a profile."""
    details = event["args"]
    read, wrote = (
        [shape for entry in details.get(key, []) for shape in entry.values()]
        for key in ("input_type_shape", "output_type_shape")
    )
    name = event["name"].removesuffix("_kernel_time")
    return Ran(details["op_name"], read, wrote, settings.get(name, {}))


if __name__ == "__main__":
    main()
