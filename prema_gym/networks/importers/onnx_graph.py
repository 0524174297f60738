"""Which layers does an ONNX graph ask of the machine? A walk over its operators, in order.

What costs nothing, by the rules of :mod:`prema_gym.networks.layers`: operators that move data or
work on weights alone; a scale, a shift and one activation straight behind a product, if nothing
else reads the product; an activation straight behind a residual sum. An operator that is not known
is skipped and listed with its share of the operators, or refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.naming import UniqueNames
from prema_gym.networks.importers.onnx_model import Graph, Operator, load
from prema_gym.networks.importers.onnx_operators import (
    ACTIVATIONS,
    AFFINE,
    COSTS,
    ELEMENTWISE,
    MOVES,
    PRODUCTS,
    SUMS,
    OpenShapeError,
    UnsupportedError,
)
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Phase


def read(path: str, *, strict: bool) -> tuple[tuple[Phase, ...], list[str]]:
    """The layers of a graph as phases, and notes on what was assumed or skipped.

    Args:
        path: The file.
        strict: Refuse operators that are not known.

    Raises:
        ConfigError: The file cannot be read, the sizes of an input or a product are open, no layer
            is found, an operator's sizes do not fit, or ``strict`` and an operator is not known.
        MissingExtraError: The package ``onnx`` is not installed.
    """
    graph = load(path)
    walk = _Walk(graph, path)
    for operator in graph.operators:
        walk.visit(operator)
    total, skipped = len(graph.operators), _skips(walk.skipped, len(graph.operators))
    if strict and skipped:
        raise ConfigError(f"{path}: {skipped[0]}, which strict refuses")
    phases = walk.phases()
    if not phases:
        why = f" ({skipped[0]})" if skipped else ""
        none = f"none of its {total} operators is a layer of ours" if total else "it is empty"
        raise ConfigError(f"{path}: {none}{why}")
    return phases, [*graph.notes, *skipped]


def _skips(skipped: Counter[str], total: int) -> list[str]:
    """A line such as ``3 of 150 operators skipped (2 %): 2 Foo, 1 Bar``, if any is."""
    if not skipped:
        return []
    number = skipped.total()
    kinds = ", ".join(f"{count} {kind}" for kind, count in skipped.items())
    return [f"{number} of {total} operators skipped ({100 * number / total:.3g} %): {kinds}"]


_NONE: frozenset[str] = frozenset()


@dataclass
class _Walk:
    """What has been found so far.

    Attributes:
        graph: What is walked over.
        path: The file, for messages.
        skipped: How many operators were skipped, by kind.
    """

    graph: Graph
    path: str
    skipped: Counter[str] = field(default_factory=Counter)
    _done: list[Phase] = field(default_factory=list)
    _layers: list[Layer] = field(default_factory=list)
    _names: UniqueNames = field(default_factory=UniqueNames)
    # Results on their way out of a unit, and the operators that may still ride along.
    _leaving: dict[str, frozenset[str]] = field(default_factory=dict)

    def visit(self, operator: Operator) -> None:
        """Take one operator."""
        if self.graph.constants.issuperset(operator.outputs):
            return
        if operator.kind in ELEMENTWISE and self.graph.is_single(operator.outputs[0]):
            return  # arithmetic on one number, a scale say
        if operator.kind in MOVES:
            self._pass_on(operator, self._riders(operator))
        elif operator.kind in self._riders(operator) and self.graph.is_per_channel(operator):
            self._pass_on(operator, _NONE if operator.kind in ACTIVATIONS else AFFINE | ACTIVATIONS)
        else:
            self._cost(operator)

    def phases(self) -> tuple[Phase, ...]:
        """All layers; what a recurrent operator repeats is a phase of its own."""
        self._close()
        return tuple(self._done)

    def _riders(self, operator: Operator) -> frozenset[str]:
        """Kinds of operators that cost nothing on what this one reads."""
        read = self.graph.activations(operator)
        return self._leaving.get(read[0], _NONE) if len(read) == 1 else _NONE

    def _pass_on(self, operator: Operator, riders: frozenset[str]) -> None:
        """Its result may be changed on its way, unless others need it unchanged."""
        result = operator.outputs[0]
        if riders and self.graph.is_read_once(result):
            self._leaving[result] = riders

    def _cost(self, operator: Operator) -> None:
        """Append the layers that stand for it, or list it as skipped."""
        try:
            found = self._found(operator)
        except UnsupportedError as error:
            self.skipped[str(error)] += 1
            return
        if isinstance(found, Phase):
            self._close()
            self._done.append(found)
        else:
            self._layers += found
        if operator.kind in PRODUCTS:
            self._pass_on(operator, AFFINE | ACTIVATIONS)
        elif operator.kind in SUMS:
            self._pass_on(operator, ACTIVATIONS)

    def _found(self, operator: Operator) -> tuple[Layer, ...] | Phase:
        """The layers of one operator.

        Raises:
            UnsupportedError: There are none for it.
            ConfigError: Its sizes do not fit, or those of a product are open.
        """
        cost = COSTS.get(operator.kind)
        if cost is None:
            raise UnsupportedError(operator.kind)
        where = f"{self.path}, operator {operator.name!r}"
        try:
            return cost(self.graph, operator, self._names.give(operator.name))
        except OpenShapeError as error:
            if operator.kind not in PRODUCTS:
                raise
            unknown = ", ".join(self.skipped)
            cause = f", perhaps behind what is not known here: {unknown}" if unknown else ""
            raise ConfigError(
                f"{where}: its sizes are known only when it runs, so its work is not{cause}; "
                f"export the graph with fixed sizes ({error})"
            ) from error
        except ConfigError as error:
            error.args = (f"{where}: {error}",)  # the same error, with where it comes from
            raise

    def _close(self) -> None:
        """End the phase that runs once."""
        if self._layers:
            self._done.append(Phase(tuple(self._layers)))
            self._layers = []
