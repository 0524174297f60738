"""What does an operator say of itself? Sizes of its tensors and its settings, each checked.

Every function that prices operators reads them through here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from prema_gym.checks import Constraint, whole
from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.layers import Repeated
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Phase

Layers = tuple[Layer, ...]
Cost = Callable[[Graph, Operator, str], "Layers | Phase"]
"""(graph, operator, layer name) → layers run once, or a phase run several times."""

Gives = Callable[[Graph, Operator], "Sequence[Shape]"]
"""(graph, operator) → sizes of its results, where ONNX does not know them."""

_INTEGER = whole(None)


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


def input_shape(
    graph: Graph, operator: Operator, index: int, *, least: int = 0, most: int | None = None
) -> Shape:
    """Sizes of an input, which must be there and have as many axes as its operator works on.

    Args:
        graph: The graph.
        operator: One of its operators.
        index: Which of its inputs.
        least: Axes it must have at least.
        most: Axes it may have at most; None: any number.

    Raises:
        ConfigError: There is no such input, or it has another number of axes.
        OpenShapeError: Its sizes are not known.
    """
    if not operator.has_input(index):
        raise ConfigError(f"input {index} must be given, got {list(operator.inputs)}")
    shape = shape_of(graph, operator, operator.inputs[index])
    if len(shape) < least or (most is not None and len(shape) > most):
        axes = f"{least}" if least == most else f"at least {least}"
        raise ConfigError(f"input {index} must have {axes} axes, got {shape}")
    return shape


def output_elements(graph: Graph, operator: Operator) -> int:
    """Elements of the first result."""
    return math.prod(shape_of(graph, operator, operator.outputs[0]))


def integer(operator: Operator, name: str, default: int) -> int:
    """A setting that is one number; yes and no are 1 and 0."""
    return int(_INTEGER.check(name, operator.attributes.get(name, default)))


def integers(operator: Operator, name: str, length: int, default: int | None = None) -> list[int]:
    """A setting with a number for each of ``length`` axes."""

    def accept(value: object) -> list[int]:
        if not isinstance(value, list) or len(value) != length:
            raise ValueError
        return [_INTEGER.accept(one) for one in value]

    missing = None if default is None else [default] * length
    allowed = Constraint(f"{length} whole numbers", accept)
    found: list[int] = allowed.check(name, operator.attributes.get(name, missing))
    return found


def for_items(layer: Layer, items: int) -> Layer:
    """A layer for the items of a fixed batch."""
    return layer if items == 1 else Repeated(layer.name, layer, items)


def agreed(graph: Graph, operator: Operator, layer: Layer) -> Layers:
    """A layer alone, if it gives as many elements as ONNX's own inference says."""
    given = graph.shapes.get(operator.outputs[0])
    if given is not None and math.prod(given) != layer.output.elements:
        raise ConfigError(f"our result is {layer.output_shape}, the file's {given}")
    return (layer,)


def same(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """A result as large as the first input."""
    return (input_shape(graph, operator, 0),)


def broadcast(*shapes: Sequence[int]) -> Shape:
    """NumPy's rule: shorter ones are filled up with ones in front, an axis of 1 is repeated.

    Raises:
        ConfigError: They do not fit.
    """
    try:
        return np.broadcast_shapes(*(tuple(shape) for shape in shapes))
    except ValueError:
        listed = " and ".join(str(tuple(shape)) for shape in shapes)
        raise ConfigError(f"sizes {listed} do not fit") from None


def follower(graph: Graph, operator: Operator, kind: str) -> Operator | None:
    """The operator of a kind that alone reads the result, if it is so."""
    reader = graph.only_reader(operator.outputs[0])
    return reader if reader is not None and reader.kind == kind else None
