"""Each family of operators, by hand: layers, work and what cannot be expressed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from prema_gym.errors import ConfigError
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.timing import time_network
from prema_gym.networks import Conv2d, Gemm, Layer, Network, VectorWork, read_network
from tests.networks.importer_files import integers, layers, node, write_graph


def network(folder: Path, nodes: Sequence[onnx.NodeProto], *args: Any, **kwargs: Any) -> Network:
    imported = read_network(write_graph(folder / "g.onnx", nodes, *args, **kwargs))
    assert [note for note in imported.notes if "axis 0" not in note] == []
    return imported.network


def works(folder: Path, *args: Any, batch: int = 1, **kwargs: Any) -> list[tuple[Any, ...]]:
    """(m, k, n, count) of products, (elements, ops, reads) of vector work, in order."""
    found: list[tuple[Any, ...]] = []
    for layer in layers(network(folder, *args, **kwargs)):
        for work in layer.work(batch):
            if isinstance(work, Gemm):
                found.append((work.m, work.k, work.n, work.count))
            else:
                assert work.count == 1
                found.append((work.elements, work.ops_per_element, work.input_elements))
    return found


def conv(folder: Path, channels: int, filters: int, groups: int, size: int = 112) -> Network:
    nodes = [node("Conv", "x w", "c", group=groups, pads=[1, 1, 1, 1], kernel_shape=[3, 3])]
    shapes = {"x": (1, channels, size, size)}
    return network(folder, nodes, shapes, {"w": (filters, channels // groups, 3, 3)})


def only(network: Network) -> Layer:
    (layer,) = layers(network)
    return layer


@pytest.mark.parametrize(
    ("quantised", "inputs", "plain", "sizes"),
    [
        ("QLinearConv", "x s z w s z s z b", "x w b", (8, 3, 3, 3)),
        ("QLinearConv", "x s z w s z s z", "x w", (8, 3, 3, 3)),
        ("ConvInteger", "x w z z", "x w", (8, 3, 3, 3)),
        ("QLinearMatMul", "x s z w s z s z", "x w", (10, 5)),
        ("MatMulInteger", "x w", "x w", (10, 5)),
    ],
)
def test_a_quantised_product_is_the_plain_one(
    tmp_path: Path, quantised: str, inputs: str, plain: str, sizes: tuple[int, ...]
) -> None:
    kind = {4: "Conv", 2: "MatMul"}[len(sizes)]
    settings = {"pads": [1, 1, 1, 1], "strides": [2, 2]} if kind == "Conv" else {}
    stored = [
        helper.make_tensor(name, kind_of, dims, [1] * math.prod(dims))
        for name, kind_of, dims in (
            ("s", TensorProto.FLOAT, ()),
            ("z", TensorProto.UINT8, ()),
            ("w", TensorProto.UINT8, sizes),
            ("b", TensorProto.INT32, (8,)),
        )
    ]
    results = [onnx.ValueInfoProto(name="y")]
    image = [helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 3, 10, 10))]
    nodes = [node(quantised, inputs, "y", **settings)]
    graph = helper.make_graph(nodes, "graph", image, results, stored)
    path = tmp_path / "quantised.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    imported = read_network(path)
    note = "1 quantised product taken at the machine's own width (element_bytes)"
    assert imported.notes == (f"{path}: {note}",)
    weights = {"w": sizes, "b": (8,)}
    wanted = network(tmp_path, [node(kind, plain, "y", **settings)], {"x": (1, 3, 10, 10)}, weights)
    found = [layer.work(4) for layer in layers(imported.network)]
    assert found == [layer.work(4) for layer in layers(wanted)]
    assert imported.network.macs() > 0


def test_dynamic_quantisation_costs_a_pass_over_the_input(tmp_path: Path) -> None:
    """As a quantiser writes a dense layer: 32-bit products scaled by a number made of two."""
    nodes = [
        node("DynamicQuantizeLinear", "x", "q sx z"),
        node("MatMulInteger", "q w z zw", "p"),
        node("Cast", "p", "f", to=TensorProto.FLOAT),
        node("Mul", "sx sw", "s"),
        node("Mul", "f s", "m"),
        node("Add", "m b", "a"),
        node("Relu", "a", "y"),
    ]
    stored = [
        helper.make_tensor("w", TensorProto.UINT8, (64, 128), [1] * (64 * 128)),
        helper.make_tensor("zw", TensorProto.UINT8, (), [1]),
        helper.make_tensor("sw", TensorProto.FLOAT, (), [1]),
        helper.make_tensor("b", TensorProto.FLOAT, (128,), [1] * 128),
    ]
    path = write_graph(tmp_path / "g.onnx", nodes, {"x": (10, 64)}, stored=stored)
    imported = read_network(path)
    found = [work for layer in layers(imported.network) for work in layer.work(1)]
    quantising, product = found
    assert isinstance(quantising, VectorWork)
    assert quantising.elements == 10 * 64
    assert isinstance(product, Gemm)
    assert (product.m, product.k, product.n, product.count) == (10, 64, 128, 1)


def test_depthwise_grouped_and_dense_convolutions(tmp_path: Path) -> None:
    depthwise = conv(tmp_path, 32, 32, 32)
    grouped, dense = conv(tmp_path, 32, 64, 4), conv(tmp_path, 32, 64, 1)
    assert depthwise.macs() == 3_612_672
    assert grouped.macs() == 57_802_752
    assert dense.macs() == 231_211_008
    assert isinstance(only(depthwise).work(1)[0], VectorWork)
    assert only(grouped).work(1) == (Gemm("the c", 112 * 112, 9 * 8, 16, 4, 8 * 112 * 112),)
    per_cycle = [
        each.macs() / time_network(NPUConfig(), each, batch=1).cycles for each in (depthwise, dense)
    ]
    assert per_cycle[0] < per_cycle[1] / 4


@pytest.mark.parametrize(
    ("settings", "output", "padding"),
    [
        ({}, (5, 7), (0, 0, 0, 0)),
        ({"pads": [1, 0, 2, 1]}, (8, 8), (1, 0, 2, 1)),
        ({"strides": [2, 3]}, (3, 3), (0, 0, 0, 0)),
        ({"dilations": [2, 1]}, (3, 7), (0, 0, 0, 0)),
        ({"auto_pad": "VALID", "strides": [2, 2]}, (3, 4), (0, 0, 0, 0)),
        # ⌈7/2⌉ = 4 and ⌈9/2⌉ = 5 places span 3 · 2 + 3 = 9 and 4 · 2 + 3 = 11 pixels.
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (4, 5), (1, 1, 1, 1)),
        # One place more than fits: 7 pixels in steps of 3 need 2 · 3 + 3 = 9, so 1 + 1.
        ({"auto_pad": "SAME_LOWER", "strides": [3, 2]}, (3, 5), (1, 1, 1, 1)),
    ],
)
def test_windows(
    tmp_path: Path, settings: dict[str, Any], output: tuple[int, int], padding: tuple[int, ...]
) -> None:
    nodes = [node("Conv", "x w", "c", **settings)]
    layer = only(network(tmp_path, nodes, {"x": (1, 2, 7, 9)}, {"w": (4, 2, 3, 3)}))
    assert isinstance(layer, Conv2d)
    assert (layer.output_shape, layer.padding) == ((4, *output), padding)


@pytest.mark.parametrize(("mode", "left", "right"), [("SAME_UPPER", 0, 1), ("SAME_LOWER", 1, 0)])
def test_where_the_odd_pixel_of_automatic_padding_goes(
    tmp_path: Path, mode: str, left: int, right: int
) -> None:
    """An even window needs one pixel in all."""
    nodes = [node("Conv", "x w", "c", auto_pad=mode)]
    layer = only(network(tmp_path, nodes, {"x": (1, 2, 8, 8)}, {"w": (4, 2, 2, 2)}))
    assert isinstance(layer, Conv2d)
    assert layer.padding == (left, left, right, right)


@given(
    size=st.tuples(st.integers(7, 20), st.integers(7, 20)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    mode=st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    groups=st.sampled_from([1, 2, 4]),
    batch=st.integers(1, 3),
)
def test_random_convolutions_have_the_macs_of_a_plain_formula(
    tmp_path_factory: pytest.TempPathFactory,
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    pads: tuple[int, ...],
    mode: str,
    groups: int,
    batch: int,
) -> None:
    """The import holds our output against ONNX's; here the formula is written a third time."""
    settings: dict[str, Any] = {"pads": pads} if mode == "NOTSET" else {"auto_pad": mode}
    nodes = [node("Conv", "x w", "c", strides=stride, dilations=dilation, group=groups, **settings)]
    found = network(
        tmp_path_factory.mktemp("graph"),
        nodes,
        {"x": (batch, 4, *size)},
        {"w": (8, 4 // groups, *kernel)},
    )
    places = batch * 8
    for axis in (0, 1):
        span = dilation[axis] * (kernel[axis] - 1) + 1
        room = {"NOTSET": pads[axis] + pads[axis + 2] - span, "VALID": -span}.get(mode, -1)
        places *= (size[axis] + room) // stride[axis] + 1
    assert found.macs() == places * kernel[0] * kernel[1] * 4 // groups


def test_convolutions_along_one_axis_and_over_three(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c", strides=[2], pads=[1, 2], dilations=[2])]
    found = works(tmp_path, nodes, {"x": (1, 6, 50)}, {"w": (8, 6, 5)})
    assert found == [((50 + 3 - 9) // 2 + 1, 30, 8, 1)]
    nodes = [node("Conv", "x w b", "c", group=2, strides=[2, 1, 1])]
    shapes, weights = {"x": (2, 4, 5, 6, 7)}, {"w": (6, 2, 3, 3, 3), "b": (6,)}
    assert works(tmp_path, nodes, shapes, weights, batch=3) == [(3 * 2 * 2 * 4 * 5, 54, 3, 2)]
    assert network(tmp_path, nodes, shapes, weights).weights == 6 * 54 + 6
    depthwise = [node("Conv", "x w", "c", group=4)]
    found = works(tmp_path, depthwise, shapes, {"w": (4, 1, 3, 3, 3)})
    assert found == [(2 * 4 * 3 * 4 * 5, 27, 2 * 4 * 210 + 4 * 27)]


def test_transposed_convolutions(tmp_path: Path) -> None:
    shapes, weights = {"x": (2, 6, 5, 7)}, {"w": (6, 4, 3, 3)}
    nodes = [node("ConvTranspose", "x w", "c", strides=[2, 2])]
    taps = 70 * 4 * 9
    assert works(tmp_path, nodes, shapes, weights) == [(70, 6, 36, 1), (taps, 1, taps)]
    nodes = [node("ConvTranspose", "x w", "c", strides=[3, 3])]  # nothing overlaps
    assert works(tmp_path, nodes, shapes, weights) == [(70, 6, 36, 1)]
    nodes = [node("ConvTranspose", "x w", "c", group=2)]
    taps = 70 * 2 * 4 * 9
    assert works(tmp_path, nodes, shapes, weights) == [(70, 3, 36, 2), (taps, 1, taps)]


@pytest.mark.parametrize(
    ("settings", "left", "right"),
    [
        ({}, (5, 6), (6, 7)),
        ({"transB": 1}, (5, 6), (7, 6)),
        ({"transA": 1}, (6, 5), (6, 7)),
        ({"transA": 1, "transB": 1}, (6, 5), (7, 6)),
    ],
)
def test_gemm(
    tmp_path: Path, settings: dict[str, int], left: tuple[int, int], right: tuple[int, int]
) -> None:
    nodes, weights = [node("Gemm", "x w b", "y", **settings)], {"w": right, "b": (7,)}
    assert works(tmp_path, nodes, {"x": left}, weights, batch=2) == [(10, 6, 7, 1)]
    assert network(tmp_path, nodes, {"x": left}, weights).weights == 6 * 7 + 7
    # Two activations: a product for each item.
    nodes = [node("Gemm", "x v", "y", **settings)]
    assert works(tmp_path, nodes, {"x": left, "v": right}, batch=2) == [(5, 6, 7, 2)]


@pytest.mark.parametrize(
    ("left", "right", "product"),
    [
        ((5, 6), (6, 7), (5, 6, 7, 2)),
        ((6,), (6, 7), (1, 6, 7, 2)),
        ((5, 6), (6,), (5, 6, 1, 2)),
        ((3, 5, 6), (6, 7), (15, 6, 7, 2)),
        ((3, 5, 6), (3, 6, 7), (5, 6, 7, 6)),
        ((5, 6), (3, 6, 7), (5, 6, 7, 6)),
        ((2, 1, 5, 6), (4, 6, 7), (5, 6, 7, 16)),
    ],
)
def test_products_of_two_activations(
    tmp_path: Path, left: tuple[int, ...], right: tuple[int, ...], product: tuple[int, ...]
) -> None:
    found = works(tmp_path, [node("MatMul", "x v", "y")], {"x": left, "v": right}, batch=2)
    assert found == [product]


def test_a_product_with_weights_takes_the_bias_behind_it(tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "p"), node("Add", "b p", "y")]
    shapes, weights = {"x": (3, 5, 6)}, {"w": (6, 7), "b": (7,)}
    assert works(tmp_path, nodes, shapes, weights, batch=2) == [(30, 6, 7, 1)]
    assert network(tmp_path, nodes, shapes, weights).weights == 49
    nodes = [node("MatMul", "x w", "p"), node("Add", "p p", "y")]
    assert network(tmp_path, nodes, shapes, weights).weights == 42


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        # One op for each element of a window; the map is read once.
        (node("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2]), (2 * 4 * 9, 9, 512)),
        (
            node("AveragePool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
            (2 * 4 * 16, 9, 512),
        ),
        (
            node("AveragePool", "x", "y", kernel_shape=[3, 3], auto_pad="SAME_UPPER"),
            (512, 9, 512),
        ),
        (node("GlobalAveragePool", "x", "y"), (8, 64, 512)),
        (node("ReduceMean", "x", "y", keepdims=0), (1, 512, 512)),
        (node("ReduceMax", "x axes", "y"), (2 * 64, 4, 512)),
        (node("ArgMax", "x", "y", axis=1), (2 * 64, 4, 512)),
        (node("Relu", "x", "y"), (512, 1, 512)),
        (node("Erf", "x", "y"), (512, 1, 512)),
        (node("Add", "x x", "y"), (512, 1, 1024)),
        (node("Sum", "x x x", "y"), (512, 2, 1536)),
        (node("Mul", "x s", "y"), (512, 1, 512)),
        (node("Mul", "x small", "y"), (512, 1, 512)),
        (node("Where", "s x x", "y"), (512, 1, 1024)),
        (node("Softmax", "x", "y"), (512, 5, 512)),
        (node("LogSoftmax", "x", "y", axis=1), (512, 5, 512)),
        (node("BatchNormalization", "x f f f f", "y"), (512, 1, 512 + 8)),
        (node("LRN", "x", "y", size=5), (512, 5 + 3, 512)),
        (node("LayerNormalization", "x e e", "y"), (512, 4, 512 + 16)),
        (node("InstanceNormalization", "x f f", "y"), (512, 4, 512 + 8)),
    ],
    ids=lambda value: value.op_type if isinstance(value, onnx.NodeProto) else None,
)
def test_vector_work(
    tmp_path: Path, operator: onnx.NodeProto, expected: tuple[int, int, int]
) -> None:
    """Two items of 4 × 8 × 8 in one file; a scenario's batch multiplies all but the weights."""
    shapes = {"x": (2, 4, 8, 8), "small": (2, 4, 1, 1)}
    weights, axes = {"s": (4, 1, 1), "f": (4,), "e": (8,)}, [integers("axes", [1])]
    assert works(tmp_path, [operator], shapes, weights, stored=axes) == [expected]
    (elements, ops, read), parameters = expected, expected[2] % 256 if expected[2] < 1024 else 0
    found = works(tmp_path, [operator], shapes, weights, stored=axes, batch=3)
    assert found == [(3 * elements, ops, 3 * (read - parameters) + parameters)]


@pytest.mark.parametrize(
    "operator",
    [
        node("Reshape", "x sizes", "y"),
        node("Flatten", "x", "y"),
        node("Transpose", "x", "y"),
        node("Concat", "x x", "y", axis=1),
        node("Slice", "x one two", "y"),
        node("Identity", "x", "y"),
        node("Dropout", "x", "y"),
        node("Cast", "x", "y", to=onnx.TensorProto.FLOAT16),
        node("Gather", "x one", "y", axis=1),
        node("Pad", "x pads", "y"),
        node("DepthToSpace", "x", "y", blocksize=2),
    ],
    ids=lambda value: value.op_type,
)
def test_moving_data_costs_nothing(tmp_path: Path, operator: onnx.NodeProto) -> None:
    stored = [
        integers("sizes", [2, -1]),
        integers("one", [1]),
        integers("two", [2]),
        integers("pads", [0, 0, 1, 1, 0, 0, 1, 1]),
    ]
    nodes = [operator, node("Relu", "x", "z")]
    found = network(tmp_path, nodes, {"x": (2, 4, 8, 8)}, stored=stored)
    assert [layer.name for layer in layers(found)] == ["the z"]


def test_rows_of_a_stored_table_are_an_embedding(tmp_path: Path) -> None:
    nodes = [node("Cast", "x", "i", to=onnx.TensorProto.INT64), node("Gather", "table i", "y")]
    found = network(tmp_path, nodes, {"x": (1, 12)}, {"table": (1000, 16)})
    assert found.weights == 16_000
    assert only(found).work(2)[0] == VectorWork("the y", 384, 1, 384)


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3)])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("layout", [0, 1])
def test_recurrent_layers_are_a_phase_of_their_own(
    tmp_path: Path, kind: str, gates: int, directions: int, layout: int
) -> None:
    length, batch, features, hidden = 10, 2, 6, 8
    settings: dict[str, Any] = {"hidden_size": hidden, "layout": layout}
    if directions == 2:
        settings["direction"] = "bidirectional"
    nodes = [
        node("Relu", "x", "a"),
        node(kind, "a w r b", "y", **settings),
        node("Relu", "y", "z"),
    ]
    shapes = {"x": (batch, length, features) if layout else (length, batch, features)}
    weights = {
        "w": (directions, gates * hidden, features),
        "r": (directions, gates * hidden, hidden),
        "b": (directions, 2 * gates * hidden),
    }
    found = network(tmp_path, nodes, shapes, weights)
    assert [phase.repeat for phase in found.phases()] == [1, length, 1]
    per_step = gates * hidden * (features + hidden)
    assert found.macs() == length * batch * directions * per_step
    assert found.weights == directions * (per_step + gates * hidden)
    assert time_network(NPUConfig(), found, batch=1).cycles > 0


@pytest.mark.parametrize(
    ("nodes", "kind", "message"),
    [
        ([node("MaxPool", "x", "y")], "MaxPool", "kernel_shape must be 2 whole numbers, got None"),
        (
            [node("Conv", "x w", "y", strides=[1])],
            "Conv",
            "strides must be 2 whole numbers, got [1]",
        ),
        (
            [node("Conv", "x w", "y", auto_pad="SAME")],
            "Conv",
            "unknown auto_pad 'SAME' (known: NOTSET, VALID, ",
        ),
        (
            [node("Conv", "x w", "y", group=[1, 1])],
            "Conv",
            "group must be a whole number, got [1, 1]",
        ),
        ([node("Conv", "x", "y")], "Conv", "input 1 must be given, got ['x']"),
        ([node("Conv", "x m", "y")], "Conv", "input 1 must have 4 axes, got (4, 4)"),
        ([node("Gemm", "x m", "y")], "Gemm", "input 0 must have 2 axes, got (1, 4, 8, 8)"),
        (
            [node("MatMul", "x m", "y")],
            "MatMul",
            "a product of (1, 4, 8, 8) and (4, 4) does not exist",
        ),
        ([node("LSTM", "x m m", "y", hidden_size=1)], "LSTM", "input 0 must have 3 axes, got"),
    ],
)
def test_malformed_operators_are_named(
    tmp_path: Path, nodes: list[onnx.NodeProto], kind: str, message: str
) -> None:
    path = tmp_path / "g.onnx"
    write_graph(path, nodes, {"x": (1, 4, 8, 8)}, {"w": (4, 4, 1, 1), "m": (4, 4)})
    with pytest.raises(ConfigError) as caught:
        read_network(path)
    assert str(caught.value).startswith(f"{path}: operator 'the y' ({kind}): {message}")


def test_dilated_pools_and_pools_over_three_axes(tmp_path: Path) -> None:
    pool = node("MaxPool", "x", "y", kernel_shape=[3, 3], dilations=[2, 2])
    assert works(tmp_path, [pool], {"x": (1, 4, 8, 8)}) == [(4 * 16, 9, 256)]
    pool = node("AveragePool", "x", "y", kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    assert works(tmp_path, [pool], {"x": (1, 4, 4, 6, 8)}) == [(4 * 24, 8, 4 * 192)]


def test_nearest_pixels_are_copied_and_interpolation_is_listed(tmp_path: Path) -> None:
    scales = onnx.helper.make_tensor("scales", onnx.TensorProto.FLOAT, [4], [1, 1, 2, 2])
    shapes = {"x": (1, 4, 8, 8)}
    found = works(tmp_path, [node("Resize", "x - scales", "y")], shapes, stored=[scales])
    assert found == [(1024, 1, 1024)]
    nodes = [node("Resize", "x - scales", "y", mode="linear"), node("Relu", "x", "z")]
    path = write_graph(tmp_path / "g.onnx", nodes, shapes, stored=[scales])
    assert "1 Resize (linear)" in read_network(path).notes[0]
