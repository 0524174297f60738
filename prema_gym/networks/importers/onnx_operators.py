"""What does each ONNX operator cost? One function a family, and the table of what is known.

Each function turns an operator into layers whose shapes are the file's own. Tensors come from
outside the network as far as a layer can see (wiring is ONNX's matter), so what moves data without
computing needs no layer. A fixed batch is part of a layer's rows or channels, or repeats the layer.
Source: the operators' definitions, ONNX operator sets 1 to 22.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prema_gym.errors import ConfigError
from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.importers.onnx_model import Graph, Operator
from prema_gym.networks.importers.onnx_sizes import Shape
from prema_gym.networks.importers.products import Product, Repeated
from prema_gym.networks.layers import Embedding, Layer, Linear
from prema_gym.networks.network import Phase
from prema_gym.networks.pointwise import Elementwise, Normalization, Softmax
from prema_gym.networks.recurrent import GRUCell, LSTMCell
from prema_gym.networks.tensor import Tensor

Layers = tuple[Layer, ...]
Cost = Callable[[Graph, Operator, str], "Layers | Phase"]
"""(graph, operator, layer name) → layers run once, or a phase run several times."""


class UnsupportedError(Exception):
    """An operator, or a form of it, that no layer of ours stands for; holds what to call it."""


class OpenShapeError(UnsupportedError):
    """A size that an operator's cost depends on is known only when the network runs."""


def shape_of(graph: Graph, operator: Operator, tensor: str) -> Shape:
    """Sizes of a tensor that an operator reads or writes.

    Raises:
        OpenShapeError: They are not known.
    """
    if tensor not in graph.shapes:
        raise OpenShapeError(f"{operator.kind} (open shape)")
    return graph.shapes[tensor]


def _input(
    graph: Graph, operator: Operator, index: int, *, least: int = 0, most: int | None = None
) -> Shape:
    """Sizes of an input, which must be there and have as many axes as its operator works on."""
    if not operator.has_input(index):
        raise ConfigError(f"{operator.kind} needs an input {index}, got {list(operator.inputs)}")
    shape = shape_of(graph, operator, operator.inputs[index])
    if len(shape) < least or (most is not None and len(shape) > most):
        raise ConfigError(f"{operator.kind} needs {least} axes of input {index}, got {shape}")
    return shape


def _integer(operator: Operator, name: str, default: int) -> int:
    """A setting that is one number; yes and no are 1 and 0."""
    value = operator.attributes.get(name, default)
    if not isinstance(value, int):
        raise ConfigError(f"{operator.kind} needs a whole number as {name}, got {value!r}")
    return value


def _integers(operator: Operator, name: str, length: int, default: int | None = None) -> list[int]:
    """A setting with a number for each of ``length`` axes."""
    missing = None if default is None else [default] * length
    values = operator.attributes.get(name, missing)
    if not isinstance(values, list) or len(values) != length:
        raise ConfigError(f"{operator.kind} needs {length} numbers as {name}, got {values!r}")
    return values


def _elements(graph: Graph, operator: Operator) -> int:
    return math.prod(shape_of(graph, operator, operator.outputs[0]))


# Windows ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Window:
    """A window over a map, in the words of our layers; one axis is a map of height 1."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int, int, int]


def _pair(operator: Operator, values: Sequence[int], missing: int) -> tuple[int, int]:
    """Sizes of one or two axes as (height, width)."""
    if len(values) not in (1, 2):
        raise UnsupportedError(f"{operator.kind} (over {len(values)} axes)")
    height, width = (missing, *values)[-2:]
    return height, width


def _window(operator: Operator, size: Sequence[int], kernel: Sequence[int]) -> _Window:
    """Where a convolution's or pool's window goes."""
    axes = len(size)
    stride = _integers(operator, "strides", axes, 1)
    dilation = _integers(operator, "dilations", axes, 1)
    mode = operator.attributes.get("auto_pad", "NOTSET")
    if mode == "NOTSET":
        pads = _integers(operator, "pads", 2 * axes, 0)
    else:
        spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        pads = _automatic_pads(mode, size, spans, stride)
    before, after = _pair(operator, pads[:axes], 0), _pair(operator, pads[axes:], 0)
    return _Window(
        size=_pair(operator, size, 1),
        kernel=_pair(operator, kernel, 1),
        stride=_pair(operator, stride, 1),
        dilation=_pair(operator, dilation, 1),
        padding=(*before, *after),
    )


def _automatic_pads(
    mode: str, size: Sequence[int], spans: Sequence[int], stride: Sequence[int]
) -> list[int]:
    """Padding before, then after each axis: none, or as much as gives ⌈size/stride⌉ positions."""
    if mode == "VALID":
        return [0] * (2 * len(size))
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ConfigError(f"auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got {mode!r}")
    total = [
        max((-(-pixels // step) - 1) * step + span - pixels, 0)
        for pixels, span, step in zip(size, spans, stride, strict=True)
    ]
    small = [pad // 2 for pad in total]
    large = [pad - half for pad, half in zip(total, small, strict=True)]
    return [*small, *large] if mode == "SAME_UPPER" else [*large, *small]


def _repeated(layer: Layer, items: int) -> Layer:
    """A layer for the items of a fixed batch."""
    return layer if items == 1 else Repeated(layer.name, layer, items)


def _agreed(graph: Graph, operator: Operator, layer: Layer) -> Layers:
    """A layer alone, if it gives as many elements as ONNX's own inference says."""
    given = graph.shapes.get(operator.outputs[0])
    if given is not None and math.prod(given) != layer.output.elements:
        raise ConfigError(f"our result is {layer.output_shape}, the file's {given}")
    return (layer,)


def _follows(graph: Graph, operator: Operator, kind: str) -> Operator | None:
    """The operator of a kind that alone reads the result, if it is so."""
    reader = graph.only_reader(operator.outputs[0])
    return reader if reader is not None and reader.kind == kind else None


def _conv(graph: Graph, operator: Operator, name: str) -> Layers:
    batch, channels, *size = x = _input(graph, operator, 0, least=3)
    filters, per_group, *kernel = _input(graph, operator, 1, least=len(x), most=len(x))
    groups = _integer(operator, "group", 1)
    if per_group * groups != channels:
        raise ConfigError(
            f"filters of {per_group} channels in {groups} groups do not fit {channels} channels"
        )
    window = _window(operator, size, kernel)
    layer = Conv2d(
        name,
        Tensor((channels, *window.size)),
        out_channels=filters,
        kernel=window.kernel,
        stride=window.stride,
        padding=window.padding,
        dilation=window.dilation,
        groups=groups,
        bias=operator.has_input(2),
        batch_norm=_follows(graph, operator, "BatchNormalization") is not None,
    )
    return _agreed(graph, operator, _repeated(layer, batch))


def _conv_transpose(graph: Graph, operator: Operator, name: str) -> Layers:
    """Each pixel times all taps, then the taps that overlap are added up."""
    batch, channels, *size = x = _input(graph, operator, 0, least=3)
    _, filters, *kernel = _input(graph, operator, 1, least=len(x), most=len(x))
    if _integer(operator, "group", 1) != 1:
        raise UnsupportedError("ConvTranspose (in groups)")
    pixels, width = batch * math.prod(size), filters * math.prod(kernel)
    taps = Linear(name, Tensor((pixels, channels)), out_features=width, bias=False)
    stride = _integers(operator, "strides", len(size), 1)
    if all(step >= taps_along for step, taps_along in zip(stride, kernel, strict=True)):
        return (taps,)
    return taps, Elementwise(f"{name}/sum", (Tensor((pixels * width,)),))


def _pool(graph: Graph, operator: Operator, name: str) -> Layers:
    batch, channels, *size = _input(graph, operator, 0, least=3)
    window = _window(operator, size, _integers(operator, "kernel_shape", len(size)))
    if window.dilation != (1, 1):
        raise UnsupportedError(f"{operator.kind} (dilated)")
    layer = Pool2d(
        name,
        Tensor((batch * channels, *window.size)),
        kernel=window.kernel,
        stride=window.stride,
        padding=window.padding,
        ceil_mode=bool(_integer(operator, "ceil_mode", 0)),
    )
    return _agreed(graph, operator, layer)


def _reduce(graph: Graph, operator: Operator, name: str) -> Layers:
    """A global pool or a reduction: one op for each element that goes into a result."""
    results = _elements(graph, operator)
    taps = math.prod(_input(graph, operator, 0)) // results
    return (Pool2d(name, Tensor((results, 1, taps))),)


# Matrix products ----------------------------------------------------------------------------------


def _gemm(graph: Graph, operator: Operator, name: str) -> Layers:
    m, k = _input(graph, operator, 0, least=2, most=2)
    inner, n = _input(graph, operator, 1, least=2, most=2)
    if _integer(operator, "transA", 0):
        m, k = k, m
    if _integer(operator, "transB", 0):
        inner, n = n, inner
    if k != inner:
        raise ConfigError(f"a product of {m} × {k} and {inner} × {n} does not exist")
    if operator.inputs[1] not in graph.constants:
        return _agreed(graph, operator, Product(name, rows=m, depth=k, columns=n))
    layer = Linear(name, Tensor((m, k)), out_features=n, bias=operator.has_input(2))
    return _agreed(graph, operator, layer)


def _matmul(graph: Graph, operator: Operator, name: str) -> Layers:
    """NumPy's rules: a vector is a row or a column, leading axes are broadcast."""
    left, right = (_input(graph, operator, index, least=1) for index in (0, 1))
    *left_batch, m, k = left if len(left) > 1 else (1, *left)
    *right_batch, inner, n = right if len(right) > 1 else (*right, 1)
    if k != inner:
        raise ConfigError(f"a product of {left} and {right} does not exist")
    if right_batch:
        count = math.prod(_broadcast(left_batch, right_batch))
        return _agreed(graph, operator, Product(name, rows=m, depth=k, columns=n, count=count))
    rows = math.prod(left_batch) * m  # one right operand for all: they stream through together
    if operator.inputs[1] not in graph.constants:
        return _agreed(graph, operator, Product(name, rows=rows, depth=k, columns=n))
    bias = _follows(graph, operator, "Add")
    has_bias = bias is not None and graph.is_per_channel(bias)
    layer = Linear(name, Tensor((rows, k)), out_features=n, bias=has_bias)
    return _agreed(graph, operator, layer)


def _broadcast(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Leading axes of both operands, the shorter one filled up with ones in front."""
    length = max(len(left), len(right))
    left, right = ([1] * (length - len(axes)) + list(axes) for axes in (left, right))
    return [max(pair) for pair in zip(left, right, strict=True)]


# One step for each element ------------------------------------------------------------------------


def _elementwise(graph: Graph, operator: Operator, name: str) -> Layers:
    """Operands smaller than the result (broadcast ones, scales) are read along the way."""
    elements = _elements(graph, operator)
    tensor = Tensor((elements,))
    shapes = (graph.shapes.get(operand, ()) for operand in operator.inputs)
    full = sum(math.prod(shape) == elements for shape in shapes)
    return (Elementwise(name, (tensor,) * max(full, 1)),)


def _resize(graph: Graph, operator: Operator, name: str) -> Layers:
    """Nearest pixels are copied; interpolation has no layer of ours."""
    mode = operator.attributes.get("mode", "nearest")
    if mode != "nearest":
        raise UnsupportedError(f"{operator.kind} ({mode})")
    return (Elementwise(name, (Tensor((_elements(graph, operator),)),)),)


def _softmax(graph: Graph, operator: Operator, name: str) -> Layers:
    return (Softmax(name, Tensor((_elements(graph, operator),))),)


def _channel_norm(graph: Graph, operator: Operator, name: str) -> Layers:
    """Batch normalisation and local response: channels are axis 1."""
    batch, channels, *size = _input(graph, operator, 0, least=2)
    tensor = Tensor((channels, batch * math.prod(size)))
    if operator.kind == "LRN":
        window = _integer(operator, "size", 0)  # ours says what is allowed if it is missing
        return (Normalization(name, tensor, kind="lrn", window=window),)
    return (Normalization(name, tensor, kind="batch"),)


def _layer_norm(graph: Graph, operator: Operator, name: str) -> Layers:
    """Statistics of each item, then a scale and shift for each of its features."""
    elements = _elements(graph, operator)
    scales = math.prod(_input(graph, operator, 1))
    return (Normalization(name, Tensor((elements // scales, scales)), kind="layer"),)


# Tables and sequences -----------------------------------------------------------------------------


def _gather(graph: Graph, operator: Operator, name: str) -> Layers:
    """Rows of a stored table are an embedding; anything else is addressing."""
    if operator.inputs[0] not in graph.constants or _integer(operator, "axis", 0) != 0:
        return ()
    rows, *width = _input(graph, operator, 0, least=1)
    count = math.prod(_input(graph, operator, 1))
    return (Embedding(name, Tensor((count,)), vocabulary=rows, features=math.prod(width)),)


def _recurrent(graph: Graph, operator: Operator, name: str) -> Phase:
    """A cell for each direction, run once a time step."""
    length, batch, features = _input(graph, operator, 0, least=3, most=3)
    if _integer(operator, "layout", 0):
        length, batch = batch, length
    directions, _, hidden = _input(graph, operator, 2, least=3, most=3)
    cell = LSTMCell if operator.kind == "LSTM" else GRUCell
    names = (name, f"{name}/backward")[:directions]
    cells = (
        cell(each, Tensor((features,)), hidden=hidden, bias=operator.has_input(3)) for each in names
    )
    return Phase(tuple(_repeated(each, batch) for each in cells), length)


# The tables ---------------------------------------------------------------------------------------


def _kinds(names: str) -> frozenset[str]:
    """A set of operators, written as one reads it."""
    return frozenset(names.split())


MOVES = _kinds(
    "Cast CastLike Concat Constant ConstantOfShape DepthToSpace Dropout Expand Flatten Identity "
    "Pad Range Reshape Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose Unsqueeze"
)
"""Operators that only say where data lies, or that end before the network runs: no cost."""

PRODUCTS = _kinds("Conv ConvTranspose Gemm MatMul")
"""Operators whose results drain from an accumulator; without their sizes nothing is worth much."""

AFFINE = _kinds("Add Sub Mul Div BatchNormalization QuantizeLinear DequantizeLinear")
"""Scale and shift: with weights for other operands they are folded into a product."""

ACTIVATIONS = _kinds(
    "Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Relu Selu Sigmoid Softplus "
    "Softsign Swish Tanh ThresholdedRelu"
)
"""Applied while a result drains, or on their own one op an element."""

SUMS = _kinds("Add Sum")
"""Residual sums: the zoo's networks apply the activation behind one in the same pass."""

ELEMENTWISE = _kinds(
    "Abs Add And Ceil Cos DequantizeLinear Div DynamicQuantizeLinear Equal Erf Exp Floor Greater "
    "GreaterOrEqual Less LessOrEqual Log Max Mean Min Mod Mul Neg Not Or Pow QuantizeLinear "
    "Reciprocal Round Sign Sin Sqrt Sub Sum Where Xor"
)
_REDUCTIONS = _kinds(
    "ArgMax ArgMin GlobalAveragePool GlobalMaxPool ReduceL1 ReduceL2 ReduceMax ReduceMean "
    "ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)

COSTS: dict[str, Cost] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "AveragePool": _pool,
    "MaxPool": _pool,
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(ELEMENTWISE | ACTIVATIONS, _elementwise),
    "Resize": _resize,
    "Upsample": _resize,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "BatchNormalization": _channel_norm,
    "LRN": _channel_norm,
    "GroupNormalization": _layer_norm,
    "InstanceNormalization": _layer_norm,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _layer_norm,
    "Gather": _gather,
    "GRU": _recurrent,
    "LSTM": _recurrent,
}
"""What each operator costs that computes something."""
