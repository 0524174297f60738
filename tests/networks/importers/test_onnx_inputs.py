"""Inputs that are no plain tensors or that nobody reads, and lists of sizes in another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from prema_gym.errors import ConfigError
from prema_gym.networks import read_network
from tests.networks.importer_files import Sizes, integers, node, write_graph

PLAIN = [node("MatMul", "x w", "y")]
SIZES = {"x": (5, 16)}
WEIGHTS = {"w": (16, 8)}


def with_input(path: Path, value: onnx.ValueInfoProto) -> Path:
    """The file with one more input."""
    model = onnx.load(path, load_external_data=False)
    model.graph.input.append(value)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    "value",
    [
        helper.make_empty_tensor_value_info("unused"),
        helper.make_tensor_value_info("unused", TensorProto.FLOAT, [1, "k", "l"]),
    ],
    ids=["no shape", "open axes"],
)
def test_an_input_that_nobody_reads_may_be_open(value: onnx.ValueInfoProto, tmp_path: Path) -> None:
    path = with_input(write_graph(tmp_path / "g.onnx", PLAIN, SIZES, WEIGHTS), value)
    assert read_network(path).network.macs() == 5 * 16 * 8
    assert read_network(path, dims={"k": 3} if value.type.tensor_type.HasField("shape") else {})


def test_an_input_may_be_a_sequence_or_may_be_left_out(tmp_path: Path) -> None:
    nodes = [
        node("SequenceAt", "list zero", "first"),
        node("OptionalGetElement", "maybe", "got"),
        node("MatMul", "first w", "y"),
        node("MatMul", "got w", "z"),
    ]
    path = write_graph(
        tmp_path / "g.onnx", nodes, {}, WEIGHTS, stored=[integers("zero", [0])], opset=18
    )
    with_input(path, helper.make_tensor_sequence_value_info("list", TensorProto.FLOAT, [5, 16]))
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["t", 16])
    with_input(path, helper.make_value_info("maybe", helper.make_optional_type_proto(tensor)))
    assert read_network(path, dims={"t": 7}).network.macs() == (5 + 7) * 16 * 8


def test_an_axis_can_be_given_as_empty(tmp_path: Path) -> None:
    """Attention without keys before."""
    nodes = [node("Concat", "past x", "all", axis=1), node("MatMul", "all w", "y")]
    inputs: dict[str, Sizes] = {"past": (1, "p", 16), "x": (1, 4, 16)}
    path = write_graph(tmp_path / "g.onnx", nodes, inputs, WEIGHTS)
    assert read_network(f"{path}?p=0").network.macs() == 4 * 16 * 8
    assert read_network(path, dims={"p": 3}).network.macs() == 7 * 16 * 8


def test_a_batch_of_one_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """10 steps of 16 are 5 × 32; a batch of one step is not."""
    nodes = [node("Reshape", "x to", "r"), node("MatMul", "r w", "y")]
    path = write_graph(
        tmp_path / "g.onnx",
        nodes,
        {"x": ("t", 16)},
        {"w": (32, 8)},
        stored=[integers("to", [5, 32])],
    )
    assert read_network(path, dims={"t": 10}).network.macs() == 5 * 32 * 8
    message = r"\(1, 16\) cannot become \(5, 32\) \(input 'x': open axis 0 \('t'\) taken as a batch"
    with pytest.raises(ConfigError, match=message):
        read_network(path)


def test_lists_of_sizes_are_read_from_another_file(tmp_path: Path) -> None:
    """An exporter may move every stored tensor out; weights alone may be missing."""
    nodes = [node("Reshape", "x to", "r"), node("MatMul", "r w", "y")]
    stored = [
        numpy_helper.from_array(np.array([5, 32]), "to"),
        numpy_helper.from_array(np.ones((32, 8), np.float32), "w"),
    ]
    path = write_graph(tmp_path / "g.onnx", nodes, {"x": (10, 16)}, stored=stored)
    onnx.save_model(
        onnx.load(path), str(path), save_as_external_data=True, location="g.bin", size_threshold=0
    )
    assert read_network(path).network.macs() == 5 * 32 * 8
    (tmp_path / "g.bin").unlink()
    with pytest.raises(ConfigError, match=r"'to' lies in another file, which cannot be read"):
        read_network(path)


def test_no_file_outside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(np.array([5, 32]).tobytes())
    (tmp_path / "inner").mkdir()
    to = TensorProto(name="to", data_type=TensorProto.INT64, dims=[2])
    to.data_location = TensorProto.EXTERNAL
    to.external_data.add(key="location", value="../secret.bin")
    nodes = [node("Reshape", "x to", "r"), node("MatMul", "r w", "y")]
    path = write_graph(
        tmp_path / "inner" / "g.onnx", nodes, {"x": (10, 16)}, {"w": (32, 8)}, stored=[to]
    )
    with pytest.raises(ConfigError, match="'to' lies in another file"):
        read_network(path)
