"""Which layers does a graph ask of the machine? A walk over its operators, in order.

What costs nothing, by the rules of :mod:`prema_gym.networks.layers`: operators that move data or
work on weights alone; a scale, a shift and one activation straight behind a product, if nothing
else reads the product; an activation straight behind a residual sum; another number format of what
is written or read anyway. An operator that is not known is skipped and listed; if work is lost with
it, the file is refused unless the reader is lenient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from prema_gym.errors import ConfigError, located
from prema_gym.networks.importers.naming import UniqueNames
from prema_gym.networks.importers.onnx_graph.layers import Sharing
from prema_gym.networks.importers.onnx_graph.load import explained, load
from prema_gym.networks.importers.onnx_graph.lost import Losses
from prema_gym.networks.importers.onnx_graph.model import MOVERS, Graph, Operator
from prema_gym.networks.importers.onnx_graph.operands import OpenShapeError, UnsupportedError
from prema_gym.networks.importers.onnx_graph.operators import (
    NO_RIDERS,
    OPERATORS,
    WIDTH_ONLY,
    Known,
    Rider,
)
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Phase


def read(
    path: str, *, lenient: bool = False, dims: Mapping[str, int] | None = None
) -> tuple[tuple[Phase, ...], list[str]]:
    """The layers of a graph as phases, and notes on what was assumed or skipped.

    Args:
        path: The file.
        lenient: Read a file of whose work a part is lost; the notes say how much.
        dims: Sizes of open axes of inputs.

    Raises:
        ConfigError: The file cannot be read, the sizes of an input are open, no layer is found, an
            operator's sizes do not fit, or work is lost and the reader is not ``lenient``.
        UnknownNameError: No open axis is called as one of ``dims``.
        ModuleNotFoundError: The package ``onnx`` is not installed.
    """
    graph = load(path, dims or {}, _macs)
    with located(path), explained(graph.hints):
        return phases_of(graph, lenient=lenient, remedy=f"--lenient, or {path}?lenient,")


def phases_of(graph: Graph, *, lenient: bool, remedy: str) -> tuple[tuple[Phase, ...], list[str]]:
    """The layers of a graph of plain data as phases, and notes: what :func:`read` ends with.

    Args:
        graph: From a file, or from another program's graph in the words of this one.
        lenient: Read it although a part of its work is lost.
        remedy: What makes a reader lenient, for the message.

    Raises:
        ConfigError: No layer is found, or work is lost and the reader is not ``lenient``.
    """
    walk = _Walk(graph, lenient)
    for operator in graph.operators:
        walk.visit(operator)
    phases = walk.phases()
    total = len(graph.operators)
    lost = walk.losses.describe(total, _macs_of(phases))
    if walk.losses.lost and not lenient:
        raise ConfigError(f"{lost}; {remedy} reads it all the same")
    if not phases:
        none = f"none of its {total} operators is a layer of ours" if total else "it is empty"
        raise ConfigError(f"{none} ({lost})" if lost else none)
    return phases, [*graph.notes, *walk.notes, *filter(None, [lost])]


def _macs(graph: Graph) -> int:
    """What a part of a graph costs, lost work included as far as it can be guessed."""
    walk = _Walk(graph, lenient=True)
    for operator in graph.operators:
        walk.visit(operator)
    return _macs_of(walk.phases()) + walk.losses.macs


def _macs_of(phases: tuple[Phase, ...]) -> int:
    return sum(phase.steps(1) * layer.macs for phase in phases for layer in phase.layers)


@dataclass
class _Walk:
    """What has been found so far.

    Attributes:
        graph: What is walked over.
        lenient: Whether a product of open size is listed, not refused.
        losses: What was skipped.
        notes: What was assumed of operators, each once.
    """

    graph: Graph
    lenient: bool
    losses: Losses = field(default_factory=Losses)
    _done: list[Phase] = field(default_factory=list)
    _layers: list[Layer] = field(default_factory=list)
    _steps: int = 1
    _names: UniqueNames = field(default_factory=UniqueNames)
    # Results on their way out of a unit, and what may still ride along.
    _leaving: dict[str, frozenset[Rider]] = field(default_factory=dict)
    _weights: set[str] = field(default_factory=set)  # stored tensors that a layer has counted
    notes: dict[str, None] = field(default_factory=dict)  # a set that keeps its order

    def visit(self, operator: Operator) -> None:
        """Take one operator."""
        if self.graph.constants.issuperset(operator.outputs):
            return
        known = OPERATORS.get(operator.kind)
        if known is None:
            self.losses.add(self.graph, operator, operator.kind, is_product=False)
        elif known.is_arithmetic and self.graph.is_single(operator.outputs[0]):
            return  # a scale, say
        elif known.cost is None:
            self._check_moved(operator)
            self._pass_on(operator, self._riders(operator))
        elif known.rides is Rider.WIDTH and self._is_width(operator):
            self._pass_on(operator, self._riders(operator) | WIDTH_ONLY)
        elif known.rides in self._riders(operator) and self.graph.is_per_channel(operator):
            last = known.rides is Rider.ACTIVATION
            self._pass_on(operator, WIDTH_ONLY if last else self._riders(operator))
        elif not self._is_empty(operator):
            self._cost(operator, known)

    def _check_moved(self, operator: Operator) -> None:
        """Refuse a result that has more or fewer elements than what it is made of."""
        if operator.kind not in MOVERS or not operator.has_input(0):
            return
        before = self.graph.shapes.get(operator.inputs[0])
        after = self.graph.shapes.get(operator.outputs[0])
        if before is None or after is None or math.prod(before) == math.prod(after):
            return
        raise ConfigError(
            f"operator {operator.name!r} ({operator.kind}): {before} cannot become {after}"
        )

    def _is_empty(self, operator: Operator) -> bool:
        """Whether there is nothing to compute, since an operand holds nothing."""
        read = any(map(self.graph.is_empty, operator.inputs))
        return read and self.graph.is_empty(operator.outputs[0])

    def phases(self) -> tuple[Phase, ...]:
        """All layers; what is repeated is a phase of its own."""
        self._close()
        return tuple(self._done)

    def _riders(self, operator: Operator) -> frozenset[Rider]:
        """What costs nothing on what this operator reads."""
        read = [self._leaving.get(name, NO_RIDERS) for name in self.graph.activations(operator)]
        if len(read) == 1:
            return read[0]
        return WIDTH_ONLY if read and all(Rider.WIDTH in each for each in read) else NO_RIDERS

    def _is_width(self, operator: Operator) -> bool:
        """Whether a known scale changes what is on its way into or out of a unit."""
        if not self.graph.constants.issuperset(operator.inputs[1:]):
            return False
        if operator.kind == "QuantizeLinear":
            return Rider.WIDTH in self._riders(operator)
        return operator.outputs[0] not in self.graph.results or bool(self._riders(operator))

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
            self.losses.add(self.graph, operator, str(error), is_product=known.is_product)
            return
        if known.note is not None and (note := known.note(self.graph, operator)):
            self.notes[note] = None
        phase = found if isinstance(found, Phase) else Phase(found) if found else None
        if phase is not None:
            phase = Phase(self._sharing(operator, phase.layers), phase.repeat)
            if operator.doubt and any(layer.macs for layer in phase.layers):
                self.losses.lose(f"{operator.doubt} (open number of steps)", None)
            self._append(phase, operator.steps, is_alone=isinstance(found, Phase))
            self._pass_on(operator, known.carries | WIDTH_ONLY)
        else:
            self._pass_on(operator, self._riders(operator) & WIDTH_ONLY)

    def _append(self, phase: Phase, steps: int, *, is_alone: bool) -> None:
        """Layers that run as often as those before join them in one phase."""
        repeat = phase.steps(1) * steps
        if is_alone or repeat != self._steps:
            self._close()
        self._steps = repeat
        self._layers += phase.layers
        if is_alone:
            self._close()

    def _sharing(self, operator: Operator, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
        """The layers, less the weights that layers before them have counted."""
        if not any(layer.weights for layer in layers):
            return layers
        places = OPERATORS[operator.kind].weights or range(len(operator.inputs))
        names = {operator.inputs[at] for at in places if operator.has_input(at)}
        stored = {self.graph.origins[name] for name in names & self.graph.constants}
        again = sum(math.prod(self.graph.shapes.get(one, (0,))) for one in stored & self._weights)
        self._weights |= stored
        found = []
        for layer in layers:
            shared = min(again, layer.weights)
            found.append(Sharing(layer.name, layer, shared) if shared else layer)
            again -= shared
        return tuple(found)

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
                if not known.is_product or self.lenient:
                    raise
                unknown = ", ".join(self.losses.skipped)
                cause = f", perhaps behind what is not known here: {unknown}" if unknown else ""
                raise ConfigError(
                    f"its sizes are known only when it runs, so its work is not{cause}; "
                    f"export the graph with fixed sizes ({error})"
                ) from error

    def _close(self) -> None:
        """End the phase that runs as often as it does."""
        if self._layers:
            self._done.append(Phase(tuple(self._layers), self._steps))
            self._layers = []
        self._steps = 1
