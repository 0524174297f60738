"""Which operators does an ONNX file hold, what do they read, and what is known before they run?

Plain data: what :mod:`~prema_gym.networks.importers.onnx_graph.load` makes of a file, and all that
the functions which price operators get to see.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]
"""Sizes of a tensor as the file has them, batch axis included; 0 where it holds nothing."""

SHAPE_READERS = frozenset({"Shape", "Size"})
"""Operators whose results depend on shapes alone."""


def words(text: str) -> frozenset[str]:
    """Kinds of operators, written as one reads them."""
    return frozenset(text.split())


MOVERS = words(
    "Cast CastLike DequantizeLinear Flatten Identity QuantizeLinear Reshape Squeeze Transpose "
    "Unsqueeze"
)
"""Operators whose result is their first input in another place or form."""

SHORT_RESULTS = SHAPE_READERS | words(
    "Abs Add And Cast Ceil Concat Constant Div Equal Floor Gather Greater GreaterOrEqual Identity "
    "Less LessOrEqual Max Min Mod Mul Neg Not Or ReduceMax ReduceMin ReduceProd ReduceSum Reshape "
    "Slice Split Sqrt Squeeze Sub Transpose Unsqueeze Where Xor"
)
"""Operators whose results are no longer than all operands together."""

# They give something else each time, whatever they read.
_DRAWN = words(
    "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"
)


@dataclass(frozen=True)
class Operator:
    """One operator of a graph.

    Attributes:
        kind: Its type; ``domain::Type`` if it is not one of ONNX's own.
        name: The name in the file, or its first result's.
        inputs: Names of the tensors it reads; an optional one left out is ``""``.
        outputs: Names of its results.
        attributes: Its settings, as plain values.
        has_graph: Whether other operators lie in it.
        steps: How often it runs: that of the loops around it, >= 1.
        doubt: The loop around it whose number of steps is not known, if there is one.
    """

    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    has_graph: bool = False
    steps: int = 1
    doubt: str = ""

    def has_input(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and self.inputs[index] != ""

    @property
    def is_repeatable(self) -> bool:
        """Whether equal inputs surely give equal results: ONNX's own, no draw, nothing inside."""
        own = "::" not in self.kind and self.kind not in _DRAWN and not self.has_graph
        return own and (bool(self.inputs) or self.kind == "Constant")


@dataclass(frozen=True)
class Graph:
    """A file's operators in order of execution, with what is known before they run.

    Attributes:
        operators: All of them.
        shapes: Sizes of every tensor whose sizes are all known.
        weights: Names of the stored tensors.
        results: Names of the graph's results.
        values: What short stored tensors hold, where that is known.
        notes: What was assumed about its inputs and branches.
        hints: What of that may be why it cannot be read.
    """

    operators: tuple[Operator, ...]
    shapes: Mapping[str, Shape]
    weights: frozenset[str]
    results: tuple[str, ...] = ()
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @cached_property
    def constants(self) -> frozenset[str]:
        """Tensors that do not depend on the inputs' values: weights, and what is made of them."""
        found = {"", *self.weights}
        for operator in self.operators:
            reads_sizes = operator.kind in SHAPE_READERS and self.shapes.keys() >= {
                *operator.inputs
            }
            if reads_sizes or (operator.is_repeatable and found.issuperset(operator.inputs)):
                found.update(operator.outputs)
        return frozenset(found)

    @cached_property
    def origins(self) -> Mapping[str, str]:
        """Which stored tensor each constant one is, where it was only moved or put differently."""
        found = {name: name for name in self.constants}
        for operator in self.operators:
            if operator.kind in MOVERS and operator.has_input(0) and operator.outputs:
                source = found.get(operator.inputs[0])
                if source is not None and operator.outputs[0] in found:
                    found[operator.outputs[0]] = source
        return found

    @cached_property
    def _reads(self) -> Counter[str]:
        """How often each tensor is read, a result of the graph once more."""
        read = (name for operator in self.operators for name in operator.inputs)
        return Counter([*read, *self.results])

    @cached_property
    def _readers(self) -> dict[str, Operator]:
        return {name: operator for operator in self.operators for name in operator.inputs}

    def is_read_once(self, tensor: str) -> bool:
        """Whether just one operator reads it, and it is no result of the graph."""
        return self._reads[tensor] == 1 and tensor in self._readers

    def only_reader(self, tensor: str) -> Operator | None:
        """The operator that alone reads a tensor, if there is just one."""
        return self._readers[tensor] if self.is_read_once(tensor) else None

    def is_per_channel(self, operator: Operator) -> bool:
        """Whether one operand is computed, and the constant ones hold a value a channel at most."""
        constant = [name for name in operator.inputs if name in self.constants and name]
        vectors = (sum(size > 1 for size in self.shapes.get(name, (2, 2))) < 2 for name in constant)
        return len(self.activations(operator)) == 1 and all(vectors)

    def activations(self, operator: Operator) -> list[str]:
        """The inputs of an operator that are computed for each task.

        Single numbers, a scale that quantisation computes say, count only where there is no other.
        """
        computed = [name for name in operator.inputs if name not in self.constants]
        return [name for name in computed if not self.is_single(name)] or computed

    def is_single(self, tensor: str) -> bool:
        """Whether a tensor is known to hold one number."""
        return tensor in self.shapes and math.prod(self.shapes[tensor]) == 1

    def is_empty(self, tensor: str) -> bool:
        """Whether a tensor is known to hold nothing."""
        return 0 in self.shapes.get(tensor, ())
