"""Which layers does a graph ask of the machine? A walk over its operators, in order.

What costs nothing, by the rules of :mod:`prema_gym.networks.layers`: operators that move data or
work on weights alone; a scale, a shift and one activation straight behind a product, if nothing
else reads the product; an activation straight behind a residual sum. An operator that is not known
is skipped and listed with its share of the operators, or refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from prema_gym.errors import ConfigError, located
from prema_gym.networks.importers.naming import UniqueNames
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, load
from prema_gym.networks.importers.onnx_graph.operands import OpenShapeError, UnsupportedError
from prema_gym.networks.importers.onnx_graph.operators import (
    ALL_RIDERS,
    NO_RIDERS,
    OPERATORS,
    Known,
    Rider,
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
        ModuleNotFoundError: The package ``onnx`` is not installed.
    """
    graph = load(path)
    walk = _Walk(graph)
    with located(path):
        for operator in graph.operators:
            walk.visit(operator)
        total, skipped = len(graph.operators), _skips(walk.skipped, len(graph.operators))
        if strict and skipped:
            raise ConfigError(f"{skipped[0]}, which strict refuses")
        phases = walk.phases()
        if not phases:
            why = f" ({skipped[0]})" if skipped else ""
            none = f"none of its {total} operators is a layer of ours" if total else "it is empty"
            raise ConfigError(f"{none}{why}")
    return phases, [*graph.notes, *skipped]


def _skips(skipped: Counter[str], total: int) -> list[str]:
    """A line such as ``3 of 150 operators skipped (2 %): 2 Foo, 1 Bar``, if any is."""
    if not skipped:
        return []
    number = skipped.total()
    kinds = ", ".join(f"{count} {kind}" for kind, count in skipped.items())
    return [f"{number} of {total} operators skipped ({100 * number / total:.3g} %): {kinds}"]


@dataclass
class _Walk:
    """What has been found so far.

    Attributes:
        graph: What is walked over.
        skipped: How many operators were skipped, by kind.
    """

    graph: Graph
    skipped: Counter[str] = field(default_factory=Counter)
    _done: list[Phase] = field(default_factory=list)
    _layers: list[Layer] = field(default_factory=list)
    _names: UniqueNames = field(default_factory=UniqueNames)
    # Results on their way out of a unit, and what may still ride along.
    _leaving: dict[str, frozenset[Rider]] = field(default_factory=dict)

    def visit(self, operator: Operator) -> None:
        """Take one operator."""
        if self.graph.constants.issuperset(operator.outputs):
            return
        known = OPERATORS.get(operator.kind)
        if known is None:
            self.skipped[operator.kind] += 1
        elif known.is_arithmetic and self.graph.is_single(operator.outputs[0]):
            return  # a scale, say
        elif known.cost is None:
            self._pass_on(operator, self._riders(operator))
        elif known.rides in self._riders(operator) and self.graph.is_per_channel(operator):
            last = known.rides is Rider.ACTIVATION
            self._pass_on(operator, NO_RIDERS if last else ALL_RIDERS)
        else:
            self._cost(operator, known)

    def phases(self) -> tuple[Phase, ...]:
        """All layers; what a recurrent operator repeats is a phase of its own."""
        self._close()
        return tuple(self._done)

    def _riders(self, operator: Operator) -> frozenset[Rider]:
        """What costs nothing on what this operator reads."""
        read = self.graph.activations(operator)
        return self._leaving.get(read[0], NO_RIDERS) if len(read) == 1 else NO_RIDERS

    def _pass_on(self, operator: Operator, riders: frozenset[Rider]) -> None:
        """Its result may be changed on its way, unless others need it unchanged."""
        result = operator.outputs[0]
        if riders and self.graph.is_read_once(result):
            self._leaving[result] = riders

    def _cost(self, operator: Operator, known: Known) -> None:
        """Append the layers that stand for it, or list it as skipped."""
        try:
            found = self._found(operator, known)
        except UnsupportedError as error:
            self.skipped[str(error)] += 1
            return
        if isinstance(found, Phase):
            self._close()
            self._done.append(found)
        else:
            self._layers += found
        self._pass_on(operator, known.carries)

    def _found(self, operator: Operator, known: Known) -> tuple[Layer, ...] | Phase:
        """The layers of one operator.

        Raises:
            UnsupportedError: There are none for it.
            ConfigError: Its sizes do not fit, or those of a product are open.
        """
        if known.cost is None:
            return ()
        with located(f"operator {operator.name!r} ({operator.kind})"):
            try:
                return known.cost(self.graph, operator, self._names.give(operator.name))
            except OpenShapeError as error:
                if not known.is_product:
                    raise
                unknown = ", ".join(self.skipped)
                cause = f", perhaps behind what is not known here: {unknown}" if unknown else ""
                raise ConfigError(
                    f"its sizes are known only when it runs, so its work is not{cause}; "
                    f"export the graph with fixed sizes ({error})"
                ) from error

    def _close(self) -> None:
        """End the phase that runs once."""
        if self._layers:
            self._done.append(Phase(tuple(self._layers)))
            self._layers = []
