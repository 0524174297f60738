"""What do the operators cost that slide a window over a map: convolutions, pools, reductions?

Source: the operators' definitions, ONNX operator sets 1 to 23.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from prema_gym.checks import one_of
from prema_gym.errors import ConfigError
from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.importers.onnx_graph.layers import Lowered, Pass
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    agreed,
    follower,
    for_items,
    input_shape,
    integer,
    integers,
    output_elements,
)
from prema_gym.networks.layers import Layer, Linear
from prema_gym.networks.pointwise import Elementwise
from prema_gym.networks.tensor import Tensor

_AUTO_PAD = one_of("auto_pad", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"))


@dataclass(frozen=True)
class _Window:
    """A window over a map, in the words of our layers; one axis is a map of height 1."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int, int, int]


def _pair(values: Sequence[int], missing: int) -> tuple[int, int]:
    """Sizes of one or two axes as (height, width)."""
    height, width = (missing, *values)[-2:]
    return height, width


def _window(operator: Operator, size: Sequence[int], kernel: Sequence[int]) -> _Window:
    """Where a convolution's or pool's window goes."""
    axes = len(size)
    stride = integers(operator, "strides", axes, 1)
    dilation = integers(operator, "dilations", axes, 1)
    mode = _AUTO_PAD.check("auto_pad", operator.attributes.get("auto_pad", "NOTSET"))
    if mode == "NOTSET":
        pads = integers(operator, "pads", 2 * axes, 0)
    else:
        spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        pads = _automatic_pads(mode, size, spans, stride)
    before, after = _pair(pads[:axes], 0), _pair(pads[axes:], 0)
    return _Window(
        size=_pair(size, 1),
        kernel=_pair(kernel, 1),
        stride=_pair(stride, 1),
        dilation=_pair(dilation, 1),
        padding=(*before, *after),
    )


def _automatic_pads(
    mode: str, size: Sequence[int], spans: Sequence[int], stride: Sequence[int]
) -> list[int]:
    """Padding before, then after each axis: none, or as much as gives ⌈size/stride⌉ positions."""
    if mode == "VALID":
        return [0] * (2 * len(size))
    total = [
        max((-(-pixels // step) - 1) * step + span - pixels, 0)
        for pixels, span, step in zip(size, spans, stride, strict=True)
    ]
    small = [pad // 2 for pad in total]
    large = [pad - half for pad, half in zip(total, small, strict=True)]
    return [*small, *large] if mode == "SAME_UPPER" else [*large, *small]


def conv(graph: Graph, operator: Operator, name: str) -> Layers:
    """A window over one or two axes, in groups or not."""
    batch, channels, *size = x = input_shape(graph, operator, 0, least=3)
    filters, per_group, *kernel = input_shape(graph, operator, 1, least=len(x), most=len(x))
    groups = integer(operator, "group", 1)
    if per_group * groups != channels:
        raise ConfigError(
            f"filters of {per_group} channels in {groups} groups do not fit {channels} channels"
        )
    if len(size) > 2:
        return (_lowered(graph, operator, name),)
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
        batch_norm=follower(graph, operator, "BatchNormalization") is not None,
    )
    return agreed(graph, operator, for_items(layer, batch))


def _lowered(graph: Graph, operator: Operator, name: str) -> Lowered:
    """A convolution over any number of axes, its places those of the result."""
    x = input_shape(graph, operator, 0, least=3)
    filters, per_group, *kernel = input_shape(graph, operator, 1, least=len(x), most=len(x))
    groups = integer(operator, "group", 1)
    if groups < 1 or per_group * groups != x[1] or filters % groups:
        raise ConfigError(
            f"{filters} filters of {per_group} channels in {groups} groups do not fit {x[1]} "
            "channels"
        )
    places = output_elements(graph, operator)
    if places % filters:
        raise ConfigError(f"{filters} filters cannot give {places} elements")
    has_bias = operator.has_input(3 if operator.kind == "DeformConv" else 2)
    return Lowered(
        name,
        Tensor((math.prod(x),)),
        rows=places // filters,
        depth=math.prod(kernel) * per_group,
        columns=filters // groups,
        groups=groups,
        channels=per_group,
        bias=filters * has_bias,
    )


def deform_conv(graph: Graph, operator: Operator, name: str) -> Layers:
    """Taps are read between four pixels each, then convolved."""
    layer = _lowered(graph, operator, name)
    taps = layer.rows * layer.depth * layer.groups
    read = Pass(f"{name}/taps", Tensor((4 * taps,)), results=taps, steps=4)
    return read, layer


def conv_transpose(graph: Graph, operator: Operator, name: str) -> Layers:
    """Each pixel times all taps, then the taps that overlap are added up."""
    batch, channels, *size = x = input_shape(graph, operator, 0, least=3)
    _, filters, *kernel = input_shape(graph, operator, 1, least=len(x), most=len(x))
    groups = integer(operator, "group", 1)
    if groups < 1 or channels % groups:
        raise ConfigError(f"group must divide the {channels} channels, got {groups}")
    pixels, width = batch * math.prod(size), filters * math.prod(kernel)
    layer: Layer = Linear(name, Tensor((pixels, channels)), out_features=width, bias=False)
    if groups > 1:
        layer = Lowered(
            name,
            Tensor((pixels * channels,)),
            rows=pixels,
            depth=channels // groups,
            columns=width,
            groups=groups,
            channels=channels // groups,
        )
    stride = integers(operator, "strides", len(size), 1)
    if all(step >= taps_along for step, taps_along in zip(stride, kernel, strict=True)):
        return (layer,)
    return layer, Elementwise(f"{name}/sum", (Tensor((pixels * width * groups,)),))


def pool(graph: Graph, operator: Operator, name: str) -> Layers:
    """A window for each channel."""
    batch, channels, *size = x = input_shape(graph, operator, 0, least=3)
    kernel = integers(operator, "kernel_shape", len(size))
    dilation = integers(operator, "dilations", len(size), 1)
    if len(size) > 2 or any(step != 1 for step in dilation):
        results = output_elements(graph, operator)
        return (Pass(name, Tensor((math.prod(x),)), results=results, steps=math.prod(kernel)),)
    window = _window(operator, size, kernel)
    layer = Pool2d(
        name,
        Tensor((batch * channels, *window.size)),
        kernel=window.kernel,
        stride=window.stride,
        padding=window.padding,
        ceil_mode=bool(integer(operator, "ceil_mode", 0)),
    )
    return agreed(graph, operator, layer)


def reduce(graph: Graph, operator: Operator, name: str) -> Layers:
    """A global pool or a reduction: one op for each element that goes into a result."""
    results = output_elements(graph, operator)
    taps = math.prod(input_shape(graph, operator, 0)) // max(results, 1)
    if taps == 0:  # a sum of nothing
        return ()
    return (Pool2d(name, Tensor((results, 1, taps))),)
