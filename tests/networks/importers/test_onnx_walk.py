"""Whole graphs: real files, what rides along for nothing, what is skipped, what is refused."""

from __future__ import annotations

import json
import math
import pickle
import sys
from collections import Counter
from pathlib import Path

import onnx
import pytest

from prema_gym.cli import main
from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.networks import Network, VectorWork, get, read_network
from tests.networks.importer_files import DATA, Sizes, layers, node, onnx_file, write_graph

IMAGE = {"x": (1, 3, 8, 8)}

# Totals worked out when the files were collected: from inferred shapes, and again from the shapes
# that ONNX Runtime's arrays had. The second number is a published one for the same architecture
# (torchvision's model pages: GFLOPS there are multiply-accumulates, in units of 10⁹).
TOTALS = {
    "alexnet": (654_560_384, None),
    "resnet18": (1_814_073_344, 1.81),
    "mobilenetv2": (300_774_272, 0.30),
    "ds_cnn": (2_656_768, None),
    "light_squeezenet": (349_151_936, 0.35),
    "light_resnet50": (4_089_184_256, 4.09),
    "swiglu_256_4096_14336": (3 * 256 * 4096 * 14336, None),
}


def counted_from_raw_shapes(path: Path) -> int:
    """Multiply-accumulates by a formula of its own on what ONNX says of the tensors."""
    model = onnx.load(path, load_external_data=False)
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    graph = model.graph
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        shapes[value.name] = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    total = 0
    for operator in graph.node:
        if operator.op_type == "Conv":
            taps = math.prod(shapes[operator.input[1]][1:])
            total += math.prod(shapes[operator.output[0]]) * taps
        elif operator.op_type == "Gemm":
            transposed = any(a.name == "transA" and a.i for a in operator.attribute)
            inner = shapes[operator.input[0]][0 if transposed else 1]
            total += math.prod(shapes[operator.output[0]]) * inner
    return total


@pytest.mark.parametrize("name", TOTALS)
def test_a_real_file_has_its_macs(name: str) -> None:
    macs = read_network(onnx_file(name)).network.macs()
    total, published = TOTALS[name]
    assert macs == total == counted_from_raw_shapes(onnx_file(name))
    if published is not None:
        assert macs / 1e9 == pytest.approx(published, rel=0.01)


def test_weights_are_those_published() -> None:
    """The same pages; batch normalisation is folded away in two of the files."""
    weights = {name: read_network(onnx_file(name)).network.weights for name in TOTALS}
    assert weights["light_resnet50"] == 25_557_032
    assert weights["light_squeezenet"] == 1_235_496
    assert weights["resnet18"] == 11_689_512 - 4_800  # one value a channel instead of two
    assert weights["alexnet"] == get("alexnet").weights


def works(network: Network, batch: int) -> Counter[tuple[object, ...]]:
    """All work without its names."""
    return Counter(
        tuple(vars(work).items())[1:] for layer in layers(network) for work in layer.work(batch)
    )


@pytest.mark.parametrize("batch", [1, 4])
def test_an_imported_network_asks_for_what_the_one_of_the_zoo_does(batch: int) -> None:
    """ResNet-50, once exported from a framework and once written by hand: the same work."""
    imported = read_network(onnx_file("light_resnet50")).network
    assert works(imported, batch) == works(get("resnet-50"), batch)


def test_external_weights_need_not_be_there() -> None:
    assert not list((DATA / "onnx").glob("*.data"))
    model = onnx.load(onnx_file("resnet18"), load_external_data=False)
    external = onnx.TensorProto.EXTERNAL
    assert sum(weight.data_location == external for weight in model.graph.initializer) > 5
    assert len(layers(read_network(onnx_file("resnet18")).network)) == 31


def odd(inputs: str, output: str) -> onnx.NodeProto:
    return onnx.helper.make_node("Odd", inputs.split(), [output], domain="mine")


def test_what_is_skipped_is_listed_with_its_share(tmp_path: Path) -> None:
    nodes = [odd("x", "a"), odd("x", "b"), node("Relu", "x", "y"), node("Relu", "a", "z")]
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE)
    listed = f"{path}: 3 of 4 operators skipped (75 %): 2 mine::Odd, 1 Relu (open shape)"
    assert read_network(path).notes == (listed,)
    assert read_network(onnx_file("resnet18")).notes == ()


@pytest.mark.parametrize(
    ("inputs", "known", "loss"),
    [
        # 8 × 8 pixels of 3 channels, 5 filters: as many as the product that is known, 960.
        ("x u", {}, "about 50 % of all MACs"),
        ("x r", {}, "about 61.5 % of all MACs"),  # 3 products of 8 × 8 and 8 × 8: two computed maps
        ("x o", {}, "an unknown number of MACs in 1 mine::Odd"),
        ("x s", {}, None),  # one value a channel: no product
        ("u u", {}, None),  # weights alone: before the network runs
    ],
)
def test_work_that_is_lost_is_told_and_refused(
    tmp_path: Path, inputs: str, known: dict[str, Sizes], loss: str | None
) -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("Relu", "x", "r"),
        odd("x", "o"),
        odd(inputs, "y"),
    ]
    weights = {"w": (5, 3, 1, 1), "u": (5, 3), "s": (3,)}
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, weights, known=known)
    skipped = f"{path}: 2 of 4 operators skipped (50 %): 2 mine::Odd"
    if loss is None:
        assert read_network(path).notes == (skipped,)
        return
    with pytest.raises(ConfigError) as caught:
        read_network(path)
    assert str(caught.value).startswith(f"{skipped}; work lost: ")
    assert str(caught.value).endswith(f"; --lenient, or {path}?lenient, reads it all the same")
    imported = read_network(path, lenient=True)
    assert imported.network.macs() == 64 * 15
    assert read_network(f"{path}?lenient").notes == imported.notes
    assert imported.notes == (f"{skipped}; work lost: {loss}",)


def test_weights_among_the_settings_are_weights(tmp_path: Path) -> None:
    """As a regression of another domain holds them."""
    regression = onnx.helper.make_node(
        "LinearRegressor", ["x"], ["o"], domain="mine", coefficients=[1.0] * 80
    )
    path = write_graph(
        tmp_path / "g.onnx",
        [regression, node("MatMul", "x w", "y")],
        {"x": (1, 80)},
        {"w": (80, 4)},
    )
    assert "work lost: an unknown number of MACs in 1 mine::LinearRegressor" in failure(path)


@pytest.mark.usefixtures("own_networks")
def test_the_command_line_refuses_them_too_and_shows_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = node("MatMul", "x w", "y")
    path = write_graph(tmp_path / "g.onnx", [odd("x w", "a"), product], IMAGE, {"w": (8, 4)})
    for options, status in ((("--lenient",), 0), ((), 2)):
        with pytest.raises(SystemExit) as caught:
            main(["networks", str(path), "alexnet", "absent.onnx"[: 11 * status], *options])
        out, err = capsys.readouterr()
        assert caught.value.code == 2
        assert "alexnet" in out
        assert ("1 of 2 operators skipped" in err, err.count("\n")) == (True, 2)


@pytest.mark.usefixtures("own_networks")
def test_the_command_line_binds_axes_and_keeps_names_as_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    product = [node("MatMul", "x w", "y")]
    write_graph(tmp_path / "g.onnx", product, {"x": (1, "t", 16)}, {"w": (16, 8)})
    with pytest.raises(SystemExit):
        main(["networks", "g.onnx", "g.onnx?t=4", "alexnet", "--dim", "t=128", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["network"] for row in rows] == ["g.onnx?t=128", "g.onnx?t=4", "alexnet"]
    assert [round(row["GMACs"] * 1e9) for row in rows[:2]] == [128 * 16 * 8, 4 * 16 * 8]
    with pytest.raises(SystemExit):
        main(["preemption", "g.onnx?t=4", "--format", "csv"])
    assert "\ng.onnx?t=4,1," in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["networks", "g.onnx", "--dim", "t=1_0"])
    assert "the size of an axis must be NAME=SIZE, got 't=1_0'" in capsys.readouterr().err


def test_a_real_file_with_an_operator_of_its_own() -> None:
    """SwiGLU: its Silu is a function in the file, a sigmoid and a product."""
    path = onnx_file("swiglu_256_4096_14336")
    imported = read_network(path)
    assert imported.notes == (
        f"{path}: input 'input': axis 0 has size 256, all of it the work of one task at batch 1",
    )
    kinds = Counter(type(layer).__name__ for layer in layers(imported.network))
    assert kinds == {"Linear": 3, "Elementwise": 3}


def test_the_network_crosses_to_another_process() -> None:
    network = read_network(onnx_file("ds_cnn")).network
    assert pickle.loads(pickle.dumps(network)) == network


CHAINS = {
    # Folded into the product, or applied while it drains.
    "Relu": 0,
    "Sigmoid": 0,
    "BatchNormalization": 0,
    "BatchNormalization Relu": 0,
    "Add": 0,
    "Mul Add Clip": 0,
    "Add Identity Relu": 0,
    # One activation only, and no arithmetic behind it.
    "Relu Relu": 1,
    "Relu Add": 1,
    "Softmax": 1,
    "Exp": 1,
}


def chain(kinds: str) -> list[onnx.NodeProto]:
    """Operators one after another, from tensor ``c``."""
    nodes, at = [], "c"
    for number, kind in enumerate(kinds.split()):
        more = {"BatchNormalization": "s s s s", "Add": "s3", "Mul": "s3", "Clip": "low"}
        nodes.append(node(kind, f"{at} {more.get(kind, '')}", f"t{number}"))
        at = f"t{number}"
    return nodes


@pytest.mark.parametrize("kinds", CHAINS)
@pytest.mark.parametrize("groups", [1, 3])
def test_what_rides_along_with_a_product_costs_nothing(
    tmp_path: Path, kinds: str, groups: int
) -> None:
    nodes = [node("Conv", "x w", "c", group=groups), *chain(kinds)]
    weights = {"w": (6, 3 // groups, 1, 1), "s": (6,), "s3": (6, 1, 1), "low": ()}
    found = layers(read_network(write_graph(tmp_path / "g.onnx", nodes, IMAGE, weights)).network)
    assert len(found) == 1 + CHAINS[kinds]


def test_a_table_added_to_a_product_is_no_bias(tmp_path: Path) -> None:
    """Position embeddings, say: as large as the result."""
    nodes = [node("MatMul", "x w", "p"), node("Add", "p table", "y")]
    path = tmp_path / "g.onnx"
    write_graph(path, nodes, {"x": (1, 10, 4)}, {"w": (4, 6), "table": (1, 10, 6)})
    product, added = layers(read_network(path).network)
    assert product.weights == 24
    assert added.work(1) == (VectorWork("the y", 60, 1, 120),)


def test_operators_that_the_file_defines_are_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "g.onnx"
    block = onnx.helper.make_node("Block", ["x", "w"], ["y"], domain="mine")
    write_graph(path, [block], IMAGE, {"w": (6, 3, 1, 1)})
    model = onnx.load(path, load_external_data=False)
    inside = [node("Conv", "a b", "c"), node("Relu", "c", "d")]
    opset = [onnx.helper.make_opsetid("", 20)]
    defined = onnx.helper.make_function("mine", "Block", ["a", "b"], ["d"], inside, opset)
    model.functions.append(defined)
    path.write_bytes(model.SerializeToString())
    imported = read_network(path)
    assert (imported.network.macs(), imported.notes) == (64 * 18, ())


def test_batch_normalisation_behind_a_convolution_counts_its_weights(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c"), *chain("BatchNormalization")]
    weights = {"w": (6, 3, 1, 1), "s": (6,)}
    network = read_network(write_graph(tmp_path / "g.onnx", nodes, IMAGE, weights)).network
    assert network.weights == 18 + 2 * 6


@pytest.mark.parametrize("kind", ["BatchNormalization", "Relu"])
def test_nothing_rides_along_if_others_read_the_result(tmp_path: Path, kind: str) -> None:
    weights = {"w": (6, 3, 1, 1), "s": (6,)}
    nodes = [node("Conv", "x w", "c"), *chain(kind)]
    for read_twice in (
        write_graph(tmp_path / "a.onnx", [*nodes, node("Add", "c t0", "y")], IMAGE, weights),
        write_graph(tmp_path / "b.onnx", nodes, IMAGE, weights, outputs=["c", "t0"]),
    ):
        conv, alone, *_ = layers(read_network(read_twice).network)
        assert conv.weights == 18
        assert alone.name == "the t0"


def test_an_activation_behind_a_residual_sum_is_free_as_in_the_zoo(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c"), node("Add", "x c", "sum"), node("Relu", "sum", "y")]
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, {"w": (3, 3, 1, 1)})
    assert [layer.name for layer in layers(read_network(path).network)] == ["the c", "the sum"]
    nodes[2] = node("BatchNormalization", "sum s s s s", "y")  # but a normalisation is not
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, {"w": (3, 3, 1, 1), "s": (3,)})
    assert len(layers(read_network(path).network)) == 3


def test_work_on_weights_and_shapes_is_done_before(tmp_path: Path) -> None:
    nodes = [
        node("Mul", "w scale", "scaled"),
        node("Transpose", "scaled", "turned", perm=[1, 0, 2, 3]),
        node("Shape", "x", "sizes"),
        node("Mul", "sizes sizes", "areas"),
        node("Conv", "x turned", "c"),
    ]
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, {"w": (3, 6, 1, 1), "scale": ()})
    imported = read_network(path)
    assert [layer.name for layer in layers(imported.network)] == ["the c"]
    assert imported.notes == ()


def test_operators_without_a_name_and_repeated_names(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "a"), node("Conv", "a w", "b"), node("Conv", "b w", "c")]
    nodes[0].name = nodes[1].name = "conv"
    nodes[2].name = ""
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, {"w": (3, 3, 1, 1)})
    names = [layer.name for layer in layers(read_network(path).network)]
    assert names == ["conv", "conv#2", "c"]


def failure(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_network(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


def test_an_empty_list_of_layers_is_an_error(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "g.onnx", [node("Identity", "x", "y")], IMAGE)
    assert failure(path) == ": none of its 1 operators is a layer of ours"
    (tmp_path / "empty.onnx").write_bytes(b"")
    assert "it is empty" in failure(tmp_path / "empty.onnx")
    odd = onnx.helper.make_node("Odd", ["x"], ["y"], domain="mine")
    assert failure(write_graph(tmp_path / "g.onnx", [odd], IMAGE)).endswith(
        "is a layer of ours (1 of 1 operators skipped (100 %): 1 mine::Odd)"
    )


def test_a_product_of_open_size_is_an_error_and_other_work_is_listed(tmp_path: Path) -> None:
    weights = {"w": (3, 3, 1, 1)}
    odd = onnx.helper.make_node("Odd", ["x"], ["o"], domain="mine")
    path = write_graph(tmp_path / "g.onnx", [odd, node("Conv", "o w", "c")], IMAGE, weights)
    assert failure(path).startswith(
        ": operator 'the c' (Conv): its sizes are known only when it runs"
    )
    assert "perhaps behind what is not known here: mine::Odd;" in failure(path)
    nodes = [odd, node("Exp", "o", "e"), node("Conv", "x w", "c")]
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, weights)
    (note,) = read_network(path).notes
    assert note == f"{path}: 2 of 3 operators skipped (66.7 %): 1 mine::Odd, 1 Exp (open shape)"


def test_the_file_may_say_what_an_unknown_operator_gives(tmp_path: Path) -> None:
    odd = onnx.helper.make_node("Odd", ["x"], ["o"], domain="mine")
    nodes, known = [odd, node("Conv", "o w", "c")], {"o": (1, 5, 8, 8)}
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, {"w": (3, 5, 1, 1)}, known=known)
    assert read_network(path).network.macs() == 64 * 15


def test_sizes_that_do_not_fit_are_one_line_with_the_operator(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c", group=2)]
    path = write_graph(tmp_path / "g.onnx", nodes, IMAGE, {"w": (4, 3, 1, 1)})
    assert failure(path) == (
        ": operator 'the c' (Conv): filters of 3 channels in 2 groups do not fit 3 channels"
    )
    path = write_graph(tmp_path / "g.onnx", [node("Conv", "x w", "c")], IMAGE, {"w": (4, 3, 9, 9)})
    assert ": operator 'the c' (Conv): Conv2d 'the c': a window of 9 does not fit" in failure(path)


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.onnx"
    path.write_bytes(b"\xff" * 64)
    assert failure(path) == f"'{path}' is not an ONNX file"
    assert "No such file" in failure(tmp_path / "absent.onnx")
    assert "Is a directory" in failure_of_folder(tmp_path)


def failure_of_folder(tmp_path: Path) -> str:
    (tmp_path / "folder.onnx").mkdir()
    return failure(tmp_path / "folder.onnx")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"resnet18\.onnx needs the package 'onnx'.*\[netw"):
        read_network(onnx_file("resnet18"))


def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    """Each byte of a small file's first 600 flipped in turn, and cut off there."""
    whole = onnx_file("swiglu_256_4096_14336").read_bytes()
    path = tmp_path / "damaged.onnx"
    for at in range(0, 600, 7):
        flipped = bytearray(whole)
        flipped[at] ^= 0x55
        for damaged in (bytes(flipped), whole[:at]):
            path.write_bytes(damaged)
            try:
                read_network(path)
            except ConfigError as error:
                message = str(error)
                assert "\n" not in message, message
