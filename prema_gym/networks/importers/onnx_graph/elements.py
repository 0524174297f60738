"""What do the operators cost that take a few steps for each element?

Source: the operators' definitions, ONNX operator sets 1 to 23.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    UnsupportedError,
    broadcast,
    input_shape,
    integer,
    integers,
    output_elements,
)
from prema_gym.networks.pointwise import Elementwise, Normalization, Softmax
from prema_gym.networks.tensor import Tensor


def elementwise(graph: Graph, operator: Operator, name: str) -> Layers:
    """Operands smaller than the result (broadcast ones, scales) are read along the way."""
    elements = output_elements(graph, operator)
    tensor = Tensor((elements,))
    shapes = (graph.shapes.get(operand, ()) for operand in operator.inputs)
    full = sum(math.prod(shape) == elements for shape in shapes)
    return (Elementwise(name, (tensor,) * max(full, 1)),)


def spread(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """The result of combining all operands, element by element."""
    given = (index for index, name in enumerate(operator.inputs) if name)
    return (broadcast(*(input_shape(graph, operator, index) for index in given)),)


def resize(graph: Graph, operator: Operator, name: str) -> Layers:
    """Nearest pixels are copied; interpolation has no layer of ours."""
    mode = operator.attributes.get("mode", "nearest")
    if mode != "nearest":
        raise UnsupportedError(f"{operator.kind} ({mode})")
    return (Elementwise(name, (Tensor((output_elements(graph, operator),)),)),)


def scaled(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """The result of a resizing whose scales are a setting."""
    shape = input_shape(graph, operator, 0)
    return (tuple(map(mul, shape, integers(operator, "scales", len(shape)))),)


def softmax(graph: Graph, operator: Operator, name: str) -> Layers:
    """Over whichever axis."""
    return (Softmax(name, Tensor((output_elements(graph, operator),))),)


def channel_norm(graph: Graph, operator: Operator, name: str) -> Layers:
    """Batch normalisation and local response: channels are axis 1."""
    batch, channels, *size = input_shape(graph, operator, 0, least=2)
    tensor = Tensor((channels, batch * math.prod(size)))
    if operator.kind == "LRN":
        window = integer(operator, "size", 0)  # ours says what is allowed if it is missing
        return (Normalization(name, tensor, kind="lrn", window=window),)
    return (Normalization(name, tensor, kind="batch"),)


def layer_norm(graph: Graph, operator: Operator, name: str) -> Layers:
    """Statistics of each item, then a scale and shift for each of its features."""
    elements = output_elements(graph, operator)
    scales = math.prod(input_shape(graph, operator, 1))
    return (Normalization(name, Tensor((elements // scales, scales)), kind="layer"),)
