"""Sizes that a graph works out with operators of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from prema_gym.errors import ConfigError
from prema_gym.networks import read_network
from prema_gym.networks.importers.onnx_graph import load
from tests.networks.importer_files import integers, layers, node, write_graph

STORED = [
    integers("zero", [0]),
    integers("one", [1]),
    integers("two", [2]),
    integers("three", [3]),
    integers("heads", [4]),
    integers("rest", [-1]),
    helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
]


def heads(reshape: str) -> list[onnx.NodeProto]:
    """Attention over 4 heads as exporters write it: (N, 10, 32) → (N, 10, 4, 8) by arithmetic."""
    return [
        node("Shape", "x", "sizes"),
        node("Slice", "sizes zero two", "outer"),
        node("Gather", "sizes two", "width"),
        node("Cast", "width", "float", to=TensorProto.FLOAT),
        node("Mul", "float half", "halved"),
        node("Mul", "halved half", "quarter"),
        node("Cast", "quarter", "head", to=TensorProto.INT64),
        node("Concat", "outer heads head", "target", axis=0),
        node("Reshape", f"x {reshape}", "split"),
        node("Transpose", "split", "q", perm=[0, 2, 1, 3]),
        node("Transpose", "split", "k", perm=[0, 2, 3, 1]),
        node("MatMul", "q k", "scores"),
    ]


def graph(folder: Path, nodes: Sequence[onnx.NodeProto]) -> Path:
    return write_graph(folder / "g.onnx", nodes, {"x": ("N", 10, 32)}, stored=STORED)


def test_sizes_reached_by_arithmetic_are_worked_out(tmp_path: Path) -> None:
    path = graph(tmp_path, heads("target"))
    plain = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
    inferred = {value.name: value.type.tensor_type.shape for value in plain.graph.value_info}
    assert not all(dim.HasField("dim_value") for dim in inferred["q"].dim), "no need for ours"
    (product,) = layers(read_network(path).network)
    assert product.output_shape == (4, 10, 10)
    assert product.macs == 4 * 10 * 8 * 10


def test_what_is_worked_out_leads_to_more(tmp_path: Path) -> None:
    """A second reshape by the sizes of what the first one gave."""
    nodes = [
        *heads("target"),
        node("Shape", "scores", "again"),
        node("Cast", "again", "f", to=TensorProto.FLOAT),
    ]
    nodes += [
        node("Mul", "f half", "g"),
        node("Cast", "g", "i", to=7),
        node("Gather", "i two", "j"),
    ]
    nodes += [node("Concat", "j rest", "shape", axis=0), node("Reshape", "scores shape", "y")]
    nodes += [node("MatMul", "y w", "z")]
    path = write_graph(
        tmp_path / "g.onnx", nodes, {"x": ("N", 10, 32)}, {"w": (80, 3)}, stored=STORED
    )
    *_, last = layers(read_network(path).network)
    assert last.work(1)[0].m == 5  # type: ignore[union-attr]


def test_operators_of_old_sets_too(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "sizes"),
        node("Gather", "sizes point", "batch"),
        node("Unsqueeze", "batch", "outer", axes=[0]),
        node("Concat", "outer rest", "target", axis=0),
        node("Reshape", "x target", "flat"),
        node("MatMul", "flat w", "y"),
    ]
    point = helper.make_tensor("point", TensorProto.INT64, [], [0])
    path = write_graph(
        tmp_path / "g.onnx",
        nodes,
        {"x": ("N", 10, 32)},
        {"w": (320, 5)},
        stored=[*STORED, point],
        opset=9,
    )
    assert read_network(path).network.macs() == 1600


def test_a_malformed_or_long_result_stays_open(tmp_path: Path) -> None:
    for bad in (
        node("Concat", "sizes half", "bad", axis=5),
        node("Range", "zero rest zero", "bad"),
    ):
        nodes = [*heads("bad")[:8], bad, *heads("bad")[8:]]
        with pytest.raises(ConfigError, match=r"operator 'the scores' .*|ONNX cannot infer"):
            read_network(graph(tmp_path, nodes))


def test_what_the_values_decide_stays_open(tmp_path: Path) -> None:
    nodes = [
        node("NonZero", "x", "found"),
        node("Cast", "found", "f", to=TensorProto.FLOAT),
        node("Exp", "f", "y"),
    ]
    nodes.append(node("Relu", "x", "z"))
    (note,) = read_network(graph(tmp_path, nodes)).notes[1:]
    assert note.endswith("2 of 4 operators skipped (50 %): 1 NonZero, 1 Exp (open shape)")


def test_long_weights_are_not_kept(tmp_path: Path) -> None:
    """Only sizes matter, so that a large file is not copied in every round."""
    nodes = [node("MatMul", "x w", "y")]
    w = helper.make_tensor("w", TensorProto.FLOAT, [32, 5], [1.0] * 160)
    path = write_graph(tmp_path / "g.onnx", nodes, {"x": (1, 10, 32)}, stored=[w])
    assert read_network(path).network.macs() == 1600
    assert load.load(str(path), {}, lambda _: 0).shapes["w"] == (32, 5)


def test_sizes_that_no_tensor_has_are_refused_at_once(tmp_path: Path) -> None:
    """Found by changing files at random: what we know of a result was written again and again."""
    nodes = [node("Einsum", "x w", "y", equation="bsd,dhk->bhsk")]
    for size, message in ((-(2**63), "stored tensor 'w' has sizes"), (2**62, "")):
        path = write_graph(tmp_path / "g.onnx", nodes, {"x": (1, 4, 8)}, {"w": (8, size, 4)})
        if message:
            with pytest.raises(ConfigError, match=message):
                read_network(path)
        else:
            assert read_network(path).network.macs() == 4 * 8 * size * 4
