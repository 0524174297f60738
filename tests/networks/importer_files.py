"""What the tests of the importers share: the real files, and graphs written on the spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from prema_gym.networks import Layer, Network

DATA = Path(__file__).parent / "data"

Sizes = Sequence[int | str | None]


def scalesim(name: str) -> Path:
    return DATA / "scalesim" / f"{name}.csv"


def onnx_file(name: str) -> Path:
    return DATA / "onnx" / f"{name}.onnx"


def layers(network: Network) -> list[Layer]:
    return [layer for phase in network.phases() for layer in phase.layers]


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """An operator named after its first result; names are separated by blanks, ``-`` is none."""
    read = ["" if name == "-" else name for name in inputs.split()]
    written = outputs.split()
    return helper.make_node(kind, read, written, name=f"the {written[0]}", **attributes)


def weight(name: str, sizes: Sequence[int]) -> onnx.TensorProto:
    """A stored tensor whose data lie in a file that is not there."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=sizes)
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "absent.bin"
    return tensor


def integers(name: str, values: Sequence[int]) -> onnx.TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def write_graph(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sizes | None],
    weights: Mapping[str, Sequence[int]] | None = None,
    *,
    stored: Sequence[onnx.TensorProto] = (),
    known: Mapping[str, Sizes] | None = None,
    outputs: Sequence[str] | None = None,
    opset: int = 20,
) -> Path:
    """Write a graph whose results are what nobody reads, unless said otherwise."""

    def value(name: str, sizes: Sizes | None) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)

    read = {name for each in nodes for name in each.input}
    results = [name for each in nodes for name in each.output if name not in read]
    graph = helper.make_graph(
        nodes,
        "graph",
        [value(name, sizes) for name, sizes in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in (outputs or results)],
        initializer=[*(weight(name, sizes) for name, sizes in (weights or {}).items()), *stored],
        value_info=[value(name, sizes) for name, sizes in (known or {}).items()],
    )
    domains = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=domains)
    path.write_bytes(model.SerializeToString())
    return path
