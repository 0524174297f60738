"""What does an `Einsum` cost? Its operands are contracted in pairs, each a matrix product.

Source: the operator's definition, ONNX operator set 12.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.layers import Pass, Product
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    UnsupportedError,
    input_shape,
)
from prema_gym.networks.layers import Layer, Linear
from prema_gym.networks.tensor import Tensor

Axes = tuple[str, ...]


@dataclass(frozen=True)
class _Equation:
    """What is summed: the axes of each operand and of the result, and their sizes."""

    operands: tuple[Axes, ...]
    result: Axes
    sizes: Mapping[str, int]

    def elements(self, axes: Collection[str]) -> int:
        return math.prod(self.sizes[axis] for axis in axes)


def einsum_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """Of the result."""
    equation = _equation(graph, operator)
    return (tuple(equation.sizes[axis] for axis in equation.result),)


def einsum(graph: Graph, operator: Operator, name: str) -> Layers:
    """A product for each pair of operands, from the left; of one operand, a sum if it shrinks."""
    equation = _equation(graph, operator)
    if 0 in equation.sizes.values():
        return ()
    first, *others = equation.operands
    if not others:
        return _sum(name, equation.elements(set(first)), equation.elements(equation.result))
    layers: list[Layer] = []
    for number, other in enumerate(others, start=1):
        needed = {axis for axes in (*others[number:], equation.result) for axis in axes}
        label = name if len(others) == 1 else f"{name}/{number}"
        is_last = number == len(others)
        stored = [operator.inputs[at] in graph.constants for at in (number - 1, number)]
        stored[0] &= number == 1
        layers += _pair(equation, label, first, other, needed, stored)
        kept = dict.fromkeys(axis for axis in (*first, *other) if axis in needed)
        first = equation.result if is_last else tuple(kept)
    return tuple(layers)


def _sum(name: str, elements: int, results: int) -> Layers:
    """What is only moved costs nothing."""
    if elements == results:
        return ()
    return (Pass(name, Tensor((elements,)), results=results, steps=-(-elements // results)),)


def _pair(
    equation: _Equation,
    name: str,
    left: Axes,
    right: Axes,
    needed: set[str],
    stored: Sequence[bool],
) -> Layers:
    """Two operands: axes of both that stay are a batch, those that go are summed over."""
    both = set(left) & set(right)
    batch, depth = both & needed, both - needed
    rows = [axis for axis in dict.fromkeys(left) if axis not in both and axis in needed]
    columns = [axis for axis in dict.fromkeys(right) if axis not in both and axis in needed]
    m, n, k, count = map(equation.elements, (rows, columns, sorted(depth), sorted(batch)))
    if not depth:
        read = equation.elements(set(left)) + equation.elements(set(right))
        return (Pass(name, Tensor((read,)), results=m * n * count),)
    if not batch and any(stored):
        m, n = (m, n) if stored[1] else (n, m)
        return (Linear(name, Tensor((m, k)), out_features=n, bias=False),)
    sides = zip((left, right), stored, strict=True)
    weights = sum(equation.elements(set(axes)) for axes, is_stored in sides if is_stored)
    return (Product(name, rows=m, depth=k, columns=n, count=count, stored=weights),)


def _equation(graph: Graph, operator: Operator) -> _Equation:
    """The setting ``equation``, its dots written out as axes."""
    text = str(operator.attributes.get("equation", "")).replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not left or len(terms) != len(operator.inputs):
        raise ConfigError(f"equation {text!r} does not fit {len(operator.inputs)} inputs")
    shapes = [input_shape(graph, operator, index) for index in range(len(terms))]
    ranks = [
        len(shape) - len(term.replace("...", "")) if "..." in term else 0
        for term, shape in zip(terms, shapes, strict=True)
    ]
    most = max(ranks)
    if min(ranks) < 0:
        raise ConfigError(f"equation {text!r} does not fit inputs of {shapes}")
    dots = tuple(f"axis {number}" for number in range(most))
    operands = [_axes(term, dots[most - r :]) for term, r in zip(terms, ranks, strict=True)]
    letters = [axis for axes in operands for axis in axes]
    if not arrow:  # what stands once, in the order of the alphabet
        once = sorted(axis for axis in set(letters) if letters.count(axis) == 1)
        right = ("..." if dots else "") + "".join(axis for axis in once if len(axis) == 1)
    sizes: dict[str, int] = {}
    for axes, shape in zip(operands, shapes, strict=True):
        if len(axes) != len(shape):
            raise ConfigError(f"equation {text!r} does not fit inputs of {shapes}")
        for axis, size in zip(axes, shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                if 1 not in (size, sizes[axis]):
                    raise ConfigError(f"axis {axis!r} has sizes {sizes[axis]} and {size}")
                sizes[axis] = max(size, sizes[axis])
    result = _axes(right, dots)
    if not set(result) <= sizes.keys():
        raise UnsupportedError(f"Einsum ({text})")
    return _Equation(tuple(operands), result, sizes)


def _axes(term: str, dots: Axes) -> Axes:
    """The axes of a term; three dots stand for as many as are left."""
    before, found, after = term.partition("...")
    return (*before, *(dots if found else ()), *after)
