"""Files with something wrong in them end in an error of ours, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import onnx
import pytest
from onnx import helper

from prema_gym.errors import PremaError
from prema_gym.networks import read_network
from tests.networks.mutated import originals, read_one, write


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_mutated_files_are_read_or_refused_in_one_line(tmp_path: Path, first: int) -> None:
    """As ``python -m benchmarks.mutated_imports`` does for 10 000."""
    files = originals()
    read, messages = 0, []
    for seed in range(first, first + 100):
        path = write(seed, files, tmp_path)
        start = time.perf_counter()
        try:
            read += read_one(path, seed)
        except PremaError as error:
            messages.append(str(error))
        assert time.perf_counter() - start < 10, seed
    assert 0 < read < 100
    assert not any("\n" in message for message in messages)


FOUND = {
    # ONNX's inference would write the vector out, number by number.
    "a vector of 2147483647 numbers": [helper.make_node("Add", ["x", "long"], ["y"])],
    "no tensor is so large": [
        helper.make_node(
            "QMoE",
            ["x", "x", "long", "s"],
            ["y"],
            domain="com.microsoft",
            expert_weight_bits=4,
        )
    ],
    # Without an input.
    "none of its": [helper.make_node("ReorderOutput", [], ["y"], domain="com.microsoft.nchwc")],
}


@pytest.mark.parametrize("reason", FOUND)
def test_what_mutated_files_have_found(tmp_path: Path, reason: str) -> None:
    size = 2**62 if "large" in reason else 2**31 - 1
    sizes = [1, size] if "large" in reason else [size]
    stored = onnx.TensorProto(name="long", data_type=onnx.TensorProto.FLOAT, dims=sizes)
    given, got = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 16]) for name in "xy"
    )
    graph = helper.make_graph(FOUND[reason], "found", [given], [got], [stored])
    if reason.startswith("none"):
        del graph.initializer[:]
    domains = [helper.make_opsetid(name, 1) for name in ("com.microsoft", "com.microsoft.nchwc")]
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), *domains])
    onnx.save(model, tmp_path / "found.onnx")
    with pytest.raises(PremaError, match=reason):
        read_network(tmp_path / "found.onnx")


def test_a_name_that_is_no_text_is_refused_at_any_depth(tmp_path: Path) -> None:
    """ONNX hands some of them out as bytes, others not at all."""
    inner = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["inside"])],
        "inner",
        [],
        [helper.make_tensor_value_info("inside", onnx.TensorProto.FLOAT, [2, 16])],
    )
    node = helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner)
    given, got = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 16]) for name in "xy"
    )
    yes = helper.make_tensor("yes", onnx.TensorProto.BOOL, [], [True])
    model = helper.make_model(helper.make_graph([node], "found", [given], [got], [yes]))
    content = model.SerializeToString()
    for name in (b"inside", b"yes"):
        broken = content.replace(name, b"\xff" + name[1:])
        (tmp_path / "found.onnx").write_bytes(broken)
        with pytest.raises(PremaError, match="names in UTF-8"):
            read_network(tmp_path / "found.onnx")
