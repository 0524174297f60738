"""What lies behind an `If`, a `Loop`, a `Scan`? Their operators, put where they run.

A branch whose condition is known is followed. Of one that only the network's run decides, the
dearer branch is taken, and that is said. The body of a loop stands in the graph once, its operators
marked with the number of steps; or once for each step, if its tensors grow or a branch in it asks
which step it is. What enters or leaves is an operator of our own that costs nothing and is no
constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prema_gym.networks.importers.onnx_graph.bodies import (
    CHOSEN,
    COUNTER,
    ELEMENT,
    GROWING,
    STACK,
    STATE,
    Entry,
    copied,
    link,
)
from prema_gym.networks.importers.onnx_graph.model import Shape
from prema_gym.networks.importers.onnx_graph.protos import (
    attribute_int,
    attribute_ints,
    forget,
    known_sizes,
    mark,
    name_of,
    subgraph,
    subgraphs,
)
from prema_gym.networks.importers.onnx_graph.unroll import (
    is_decided_each_step,
    steps_told,
    unrolled,
)

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_KINDS = ("If", "Loop", "Scan")
_MOST_UNROLLED = 4_000  # operators of a graph in which loops are written out
_MOST_STEPS = 10**6  # an exporter's word for a loop that only its condition ends is 2⁶³ − 1

Values = Mapping[str, "np.ndarray"]
Weigh = Callable[
    ["GraphProto", Sequence["NodeProto"], Sequence[str]], tuple[int, tuple["Shape | None", ...]]
]
"""(graph, operators, results) → their multiply-accumulates in it, and the sizes of the results."""


def has_control(graph: GraphProto) -> bool:
    """Whether a branch or a loop is left."""
    return any(_is_control(node) for node in graph.node)


def enter(model: ModelProto, values: Values, weigh: Weigh, *, force: bool) -> list[str] | None:
    """Put the operators of branches and loops into the graph that holds them, in place.

    Args:
        model: The model of the graph.
        values: What is known of its short tensors.
        weigh: What operators cost.
        force: Enter the first one of which not enough is known, too.

    Returns:
        Notes; None if there was nothing to enter.
    """
    graph = model.graph
    notes: list[str] = []
    nodes: list[NodeProto] = []
    entered = False
    room = _MOST_UNROLLED - len(graph.node)
    for node in graph.node:
        found = None
        if _is_control(node):
            found = _Entry(model, node, values, weigh, force and not entered, room).open(notes)
        nodes += [node] if found is None else found
        if found is not None:
            entered = True
            room -= len(found)
            forget(graph, node.output)
    if not entered:
        return None
    kept = [*nodes]
    del graph.node[:]
    graph.node.extend(kept)
    return notes


def _is_control(node: NodeProto) -> bool:
    return node.domain in ("", "ai.onnx") and node.op_type in _KINDS and any(subgraphs(node))


class _Entry:
    """One branch or loop on its way into the graph that holds it."""

    def __init__(
        self,
        model: ModelProto,
        node: NodeProto,
        values: Values,
        weigh: Weigh,
        force: bool,
        room: int,
    ) -> None:
        self.graph, self.node, self.values = model.graph, node, values
        self.opsets = model.opset_import
        self.weigh, self.force, self.room = weigh, force, room
        self.where = f"{node.op_type} {name_of(node)!r}"

    def open(self, notes: list[str]) -> list[NodeProto] | None:
        """Its operators; None if it has to wait until more is known."""
        ways = {"If": self._branch, "Loop": self._loop, "Scan": self._scan}
        return ways[self.node.op_type](notes)

    def _branch(self, notes: list[str]) -> list[NodeProto] | None:
        then, other = subgraph(self.node, "then_branch"), subgraph(self.node, "else_branch")
        if then is None or other is None or not self.node.input:
            return None
        condition = _single(self.values.get(self.node.input[0]))
        if condition is not None:
            return self._inside(then if condition else other, "Identity")
        if not self.force:
            return None
        weights = [self._weight(branch) for branch in (then, other)]
        number = int(weights[1] > weights[0])
        notes.append(
            f"{self.where}: its condition is known only when it runs; taken as "
            f"{('true', 'false')[number]}, the dearer branch ({weights[number]} MACs)"
        )
        return self._inside((then, other)[number], CHOSEN)

    def _weight(self, branch: GraphProto) -> int:
        nodes, results = copied(self.graph, branch, self._prefix, {})
        return self.weigh(self.graph, nodes, results)[0]

    def _inside(self, branch: GraphProto, leave: str) -> list[NodeProto]:
        nodes, results = copied(self.graph, branch, self._prefix, {})
        for result, name in zip(results, self.node.output, strict=False):
            nodes.append(link(leave, [result], name))
        return self._marked(nodes, 1, "")

    @property
    def _prefix(self) -> str:
        return f"{next(filter(None, self.node.output), self.where)}/"

    def _loop(self, notes: list[str]) -> list[NodeProto] | None:
        body = subgraph(self.node, "body")
        if body is None or len(body.input) < 2 or not body.output:
            return None
        limit, condition, *carried = [*self.node.input, "", ""][: max(len(self.node.input), 2)]
        most = _single(self.values.get(limit)) if limit else None
        goes_on = _goes_on(body, self.values)
        starts = _single(self.values.get(condition)) if condition else True
        if starts is not True:
            most, goes_on = (0, True) if starts is False else (most, False)
        if most is not None and most > _MOST_STEPS:
            most = None
        entries = [(COUNTER, limit), (COUNTER, condition), *((STATE, name) for name in carried)]
        if starts is True and not goes_on and (most is None or most > 0):
            told = steps_told(body, entries, self.values, self.opsets)
            if told is not None:
                most, goes_on = min(told, told if most is None else most), True
        if (most is None or not goes_on) and not self.force:
            return None
        if most is not None and most <= 0:
            return [link("Identity", [a], b) for a, b in zip(carried, self.node.output)]  # noqa: B905 - scanned results hold nothing
        doubt = self.where if most is None else ""
        if most is not None and not goes_on:
            notes.append(f"{self.where}: {most} steps counted, it may end before")
        states = len(carried)
        return self._body(body, entries, 1, states, [0] * len(body.output), most, doubt)

    def _scan(self, notes: list[str]) -> list[NodeProto] | None:
        body, scanned = subgraph(self.node, "body"), attribute_int(self.node, "num_scan_inputs", 0)
        given = list(self.node.input)
        if body is None or not 0 < scanned <= len(given) or len(given) != len(body.input):
            return None  # operator set 8, or no scan at all
        states = len(given) - scanned
        axes = attribute_ints(self.node, "scan_input_axes") or [0] * scanned
        shapes = known_sizes(self.graph)
        lengths = [
            shapes[name][axis]
            for name, axis in zip(given[states:], axes, strict=False)
            if name in shapes and -len(shapes[name]) <= axis < len(shapes[name])
        ]
        if not lengths and not self.force:
            return None
        steps = lengths[0] if lengths else None
        entries = [(STATE, name) for name in given[:states]]
        entries += [(f"{ELEMENT} {axis}", name) for name, axis in zip(given[states:], axes)]  # noqa: B905 - a list that is too short leaves inputs open
        out_axes = attribute_ints(self.node, "scan_output_axes") or [0] * len(body.output)
        return self._body(body, entries, 0, states, out_axes, steps, "" if steps else self.where)

    def _body(
        self,
        body: GraphProto,
        entries: Sequence[Entry],
        first: int,
        states: int,
        out_axes: Sequence[int],
        steps: int | None,
        doubt: str,
    ) -> list[NodeProto]:
        """The operators of a loop's body, between what enters and what leaves it.

        Args:
            body: The body.
            entries: How each of its inputs comes in, and from which tensor.
            first: Results of the body before those that are carried on.
            states: How many are carried on.
            out_axes: Where each collected result is stacked.
            steps: How often it runs, None if that is not known.
            doubt: What to call it then.
        """
        inside = {value.name: self._prefix + value.name for value in body.input}
        opening = []
        for value, (kind, source) in zip(body.input, entries, strict=False):
            opening.append(link(kind, [source], inside[value.name]))
        nodes, results = copied(self.graph, body, self._prefix, inside)
        grown = self._grown(nodes, opening, results[first : first + states], states)
        is_short = steps is not None and 0 < steps * len(nodes) <= self.room
        if is_short and (grown or is_decided_each_step(body, entries, first, self.values)):
            every = unrolled(self.graph, body, entries, first, steps or 0, self._prefix)
            return self._marked(every.leave(self.node.output, out_axes), 1, "")
        for at in grown:
            opening[at] = link(GROWING, [], opening[at].output[0])
        nodes = self._marked([*opening, *nodes], max(steps or 1, 1), doubt)
        outputs = list(self.node.output)
        leaving = [
            link(CHOSEN, [result], name)
            for result, name in zip(results[first : first + states], outputs)  # noqa: B905 - results may be left out
        ]
        collected = zip(results[first + states :], outputs[states:], out_axes, strict=False)
        for result, name, axis in collected:
            leaving.append(link(f"{STACK} {axis} {-1 if steps is None else steps}", [result], name))
        return nodes + self._marked(leaving, 1, "")

    def _grown(
        self,
        nodes: Sequence[NodeProto],
        opening: Sequence[NodeProto],
        results: Sequence[str],
        states: int,
    ) -> set[int]:
        """Which entries change their size from step to step: it is then not known."""
        first = len([node for node in opening if node.op_type == COUNTER])
        wanted = [*(node.input[0] for node in opening[first : first + states] if node.input)]
        if len(wanted) != len(results):
            return set()
        _, after = self.weigh(self.graph, [*opening, *nodes], results)
        before = known_sizes(self.graph)
        return {
            first + i
            for i, (name, shape) in enumerate(zip(wanted, after, strict=True))
            if name in before and shape != before[name]
        }

    def _marked(self, nodes: Sequence[NodeProto], steps: int, doubt: str) -> list[NodeProto]:
        """What the loops around this one say holds for its operators as well."""
        for node in nodes:
            mark(node, steps=steps, doubt=doubt)
            around = {one.key: one.value for one in self.node.metadata_props}
            if around:
                mark(
                    node,
                    steps=int(around.get("prema_gym.steps", 1)),
                    doubt=around.get("prema_gym.doubt", ""),
                )
        return list(nodes)


def _single(value: np.ndarray | None) -> int | bool | None:
    """The one number that a tensor is known to hold."""
    if value is None or value.size != 1 or value.dtype.kind not in "biu":
        return None
    found: int | bool = value.reshape(()).item()
    return found


def _goes_on(body: GraphProto, values: Values) -> bool:
    """Whether a loop's body never ends it: its condition is handed on, or is true."""
    wanted = body.output[0].name
    made = {name: node for node in body.node for name in node.output}
    for _ in body.node:  # no longer than it takes if it is no circle
        if wanted in made and made[wanted].op_type in ("Identity", "Cast"):
            wanted = next(iter(made[wanted].input), "")
    if wanted == body.input[1].name:
        return True
    if wanted not in made and wanted in values:  # the graph around it has it
        return _single(values[wanted]) is True
    stored = [weight for weight in body.initializer if weight.name == wanted]
    if wanted in made and made[wanted].op_type == "Constant":
        stored = [a.t for a in made[wanted].attribute if a.name == "value"]
    return len(stored) == 1 and _is_true(stored[0])


def _is_true(tensor: object) -> bool:
    from onnx import numpy_helper

    try:
        value = numpy_helper.to_array(tensor)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return bool(value.size == 1 and value.reshape(()).item())
