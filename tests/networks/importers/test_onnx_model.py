"""Inputs of open size, and what the file alone says of its tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import Gemm, read_network
from prema_gym.networks.importers.onnx_graph import load
from tests.networks.importer_files import Sizes, integers, layers, node, write_graph

CONV = [node("Conv", "x w", "c", pads=[1, 1, 1, 1])]
WEIGHTS = {"w": (8, 3, 3, 3)}
MACS = 32 * 32 * 8 * 3 * 9


def graph(folder: Path, sizes: Sizes | None, known: Sizes | None = None) -> Path:
    tensors = {} if known is None else {"c": known}
    return write_graph(folder / "g.onnx", CONV, {"x": sizes}, WEIGHTS, known=tensors)


@pytest.mark.parametrize(("axis", "called"), [("N", " ('N')"), (None, ""), (-1, "")])
def test_an_open_first_axis_is_a_batch_of_one_with_a_note(
    tmp_path: Path, axis: int | str | None, called: str
) -> None:
    path = graph(tmp_path, [axis, 3, 32, 32])
    imported = read_network(path)
    assert imported.network.macs() == MACS
    assert imported.notes == (f"{path}: input 'x': open axis 0{called} taken as a batch of 1",)


def test_what_the_file_says_with_the_same_symbol_is_the_same_size(tmp_path: Path) -> None:
    imported = read_network(graph(tmp_path, ["N", 3, 32, 32], ["N", 8, "H", "W"]))
    assert imported.network.macs() == MACS


def test_a_fixed_batch_is_work_of_one_task(tmp_path: Path) -> None:
    path = graph(tmp_path, [4, 3, 32, 32])
    imported = read_network(path)
    assert imported.network.macs() == 4 * MACS
    assert imported.network.weights == 8 * 3 * 9
    (layer,) = layers(imported.network)
    (work,) = layer.work(2)
    assert isinstance(work, Gemm)
    assert work.macs == 8 * MACS
    assert imported.notes == (
        f"{path}: input 'x': axis 0 has size 4, all of it the work of one task at batch 1",
    )


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (["N", 3, "height", 32], "input 'x': axis 2 (height) is open, only axis 0 may be"),
        ([1, 3, 32, None], "input 'x': axis 3 (x[3]) is open, only axis 0 may be"),
        (None, "input 'x' has no shape; export it with one"),
    ],
)
def test_other_open_sizes_are_an_error_with_input_and_axis(
    tmp_path: Path, sizes: Sizes | None, message: str
) -> None:
    path = graph(tmp_path, sizes)
    with pytest.raises(ConfigError) as caught:
        read_network(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_what_contradicts_itself_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "g.onnx"
    write_graph(path, [node("Relu", "x", "y")], {"x": (1, 3)}, known={"y": (1, 3, 4)})
    model = onnx.load(path)
    model.opset_import.clear()
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ConfigError, match=r"g\.onnx: ONNX cannot infer its shapes: "):
        read_network(path)


def test_a_stored_tensor_among_the_inputs_is_no_input(tmp_path: Path) -> None:
    """As files of IR version 3 have it."""
    path = write_graph(tmp_path / "g.onnx", CONV, {"x": (1, 3, 32, 32), "w": ("A", "B", 3, 3)})
    model = onnx.load(path)
    (stored,) = onnx.load(
        graph(tmp_path, [1, 3, 32, 32]), load_external_data=False
    ).graph.initializer
    model.graph.initializer.append(stored)
    path.write_bytes(model.SerializeToString())
    assert read_network(path).network.macs() == MACS


def test_who_reads_what(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "a"), node("Add", "a a", "b"), node("Relu", "b", "c")]
    path = write_graph(tmp_path / "g.onnx", nodes, {"x": (1, 3)})
    found = load.load(str(path), {}, lambda _: 0)
    assert [found.is_read_once(name) for name in "xabc"] == [True, False, True, False]
    assert found.only_reader("a") is None
    assert found.only_reader("b") == found.operators[2]
    assert found.constants == {""}
    assert [operator.name for operator in found.operators] == ["the a", "the b", "the c"]


def test_what_holds_nothing_is_not_open(tmp_path: Path) -> None:
    """An empty cache of keys, say; and a graph of which nothing is left says why."""
    nodes = [node("Concat", "past x", "all", axis=1), node("MatMul", "all w", "y")]
    path = write_graph(
        tmp_path / "g.onnx", nodes, {"past": (1, 0, 16), "x": (1, 4, 16)}, {"w": (16, 8)}
    )
    imported = read_network(path)
    assert (imported.network.macs(), imported.notes) == (4 * 16 * 8, ())
    path = write_graph(
        tmp_path / "g.onnx", [node("MatMul", "x w", "y")], {"x": (0, 16)}, {"w": (16, 8)}
    )
    assert failure(path) == (
        ": none of its 1 operators is a layer of ours (input 'x' is empty: [0, 16])"
    )


def failure(path: Path, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read_network(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


def test_open_axes_are_bound_by_name(tmp_path: Path) -> None:
    path = graph(tmp_path, ["N", 3, "t", None], ["N", 8, "t", 32])
    imported = read_network(path, dims={"t": 16, "x[3]": 32})
    assert imported.network.macs() == MACS // 2
    assert imported.notes == (f"{path}: input 'x': open axis 0 ('N') taken as a batch of 1",)
    assert read_network(f"{path}?N=2&t=32&x[3]=32").network.macs() == 2 * MACS
    assert "unknown open axis 'T' in its inputs (known: N, t, x[3])" in failure(
        path, dims={"T": 16}
    )
    assert "axis 3 (x[3]) is open" in failure(path, dims={"t": 16})
    assert "--dim x[3]=SIZE" in failure(path, dims={"t": 16})


def test_an_open_first_axis_that_is_no_batch_is_said_where_the_import_fails(
    tmp_path: Path,
) -> None:
    """Places of a sequence, split into pairs."""
    nodes = [node("Reshape", "x pairs", "p"), node("MatMul", "p w", "y")]
    path = write_graph(
        tmp_path / "g.onnx",
        nodes,
        {"x": ("places", 16)},
        {"w": (16, 8)},
        stored=[integers("pairs", [-1, 2, 16])],
    )
    assert failure(path).endswith(
        "(input 'x': open axis 0 ('places') taken as a batch of 1; give its size as "
        "--dim NAME=SIZE)"
    )
    assert read_network(path, dims={"places": 6}).network.macs() == 6 * 16 * 8


def test_a_file_of_old_whose_stored_tensors_are_no_inputs(tmp_path: Path) -> None:
    path = graph(tmp_path, [1, 3, 32, 32])
    model = onnx.load(path, load_external_data=False)
    model.ir_version = 3
    path.write_bytes(model.SerializeToString())
    assert read_network(path).network.macs() == MACS


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Where it has to be written; elsewhere it is a name like others."""
    fused = node("FusedGemm", "x w", "result", domain="com.microsoft", activation="Relu")
    path = write_graph(tmp_path / "g.onnx", [fused], {"x": (1, 4)}, {"w": (4, 2)})
    path.write_bytes(path.read_bytes().replace(b"result", b"\xfdesult"))
    assert failure(path) == ": ONNX files hold names in UTF-8; one of these is not"
