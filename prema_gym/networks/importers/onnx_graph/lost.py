"""What is lost with an operator that is not known? Whether it multiplies, and about how much.

An operator loses work if it reads weights together with something computed, or two computed
tensors, each of at least two axes (weights may be packed into one, longer than what they meet); or
if other operators, long lists of numbers, tensors or a whole network's code lie in it. How much is
a guess from the sizes: the elements of both operands, over the axis that they would be summed along
and the leading axes that they share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operators import HIDDEN_PRODUCTS, NO_PRODUCTS

_MOST_SETTINGS = 64
_MOST_LETTERS = 1024


@dataclass
class Losses:
    """What was not counted.

    Attributes:
        skipped: Operators, by kind.
        lost: Those of them that lose work, by kind.
        macs: About how many multiply-accumulates they stand for, as far as can be guessed.
        unknown: Those of which nothing can be guessed, by kind.
    """

    skipped: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    macs: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, graph: Graph, operator: Operator, label: str, *, is_product: bool) -> None:
        """Count an operator that no layer stands for.

        Args:
            graph: Its graph.
            operator: What is skipped.
            label: What to call it.
            is_product: Whether it is known to be one.
        """
        self.skipped[label] += 1
        if not is_product and not _multiplies(graph, operator):
            return
        guess = _guess(graph, operator)
        self.lose(label, None if guess is None else guess * operator.steps)

    def lose(self, label: str, macs: int | None) -> None:
        """Count work that is lost, about so much or nobody knows how much."""
        self.lost[label] += 1
        if macs is None:
            self.unknown[label] += 1
        else:
            self.macs += macs

    def describe(self, operators: int, macs: int) -> str:
        """One line: how many of all operators, which, and their share of the work; may be empty.

        Args:
            operators: All of the file's.
            macs: Those that were counted.
        """
        parts = []
        if number := self.skipped.total():
            share = 100 * number / max(operators, 1)
            parts.append(
                f"{number} of {operators} operators skipped ({share:.3g} %): {_list(self.skipped)}"
            )
        if self.lost:
            sizes = []
            if self.macs:
                sizes.append(f"about {100 * self.macs / (self.macs + macs):.3g} % of all MACs")
            if self.unknown:
                sizes.append(f"an unknown number of MACs in {_list(self.unknown)}")
            parts.append(f"work lost: {' and '.join(sizes)}" if sizes else "work lost: no MACs")
        return "; ".join(parts)


def _list(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _multiplies(graph: Graph, operator: Operator) -> bool:
    """Whether it may be a product for all that is known."""
    if operator.has_graph or operator.kind in HIDDEN_PRODUCTS:
        return True
    if any(map(_is_long, operator.attributes.values())):
        return True
    if operator.kind in NO_PRODUCTS:
        return False
    stored, computed = _operands(graph, operator)
    return len(computed) > 1 or bool(stored and computed)


def _is_long(setting: object) -> bool:
    """Whether a setting holds weights: a regression's coefficients, a tensor, an engine's code."""
    if isinstance(setting, str):
        return len(setting) > _MOST_LETTERS
    if isinstance(setting, list):
        return len(setting) > _MOST_SETTINGS or any(map(_is_long, setting))
    return hasattr(setting, "dims") and math.prod(setting.dims) > _MOST_SETTINGS


def _operands(graph: Graph, operator: Operator) -> tuple[list[str], list[str]]:
    """What it reads of at least two axes, or of unknown sizes: weights, and what is computed."""
    read = [name for name in operator.inputs if name]
    computed = [name for name in read if name not in graph.constants]
    axes = {size for name in computed for size in graph.shapes.get(name, ())}
    stored = [
        name
        for name in read
        if name in graph.constants
        and (_is_wide(graph.shapes.get(name)) or _is_packed(graph.shapes[name], axes))
    ]
    return stored, [name for name in computed if _is_wide(graph.shapes.get(name))]


def _is_packed(shape: Shape, axes: set[int]) -> bool:
    """Whether one axis holds more than a value for each place along an axis that it meets."""
    return math.prod(shape) > max(_MOST_SETTINGS, *axes, 0)


def _is_wide(shape: Shape | None) -> bool:
    return shape is None or sum(size > 1 for size in shape) > 1


def _guess(graph: Graph, operator: Operator) -> int | None:
    """Multiply-accumulates, None if a size is not known."""
    stored, computed = _operands(graph, operator)
    read = [graph.shapes.get(name) for name in (*computed[:1], *stored, *computed[1:])]
    if len(read) < 2 or operator.has_graph:
        return None
    left, *others = read
    if left is None or any(other is None for other in others):
        return None
    largest: Sequence[int] = max((one for one in others if one is not None), key=math.prod)
    return _product(left, largest)


def _product(left: Sequence[int], right: Sequence[int]) -> int:
    """As if both were multiplied along the longest axis that they share, for each leading one."""
    if len(right) == 1 and right[0] > max(left, default=0):  # packed: whole rows meet it
        return math.prod(left) // max(left[-1], 1) * right[0]
    batch = 1
    while min(len(left), len(right)) > 2 and left[0] == right[0]:
        batch, left, right = batch * left[0], left[1:], right[1:]
    depth = max((size for size in left if size in right), default=1)
    return batch * math.prod(left) * math.prod(right) // max(depth, 1)
