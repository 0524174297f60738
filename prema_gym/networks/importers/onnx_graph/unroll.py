"""What does a loop do whose steps differ? Its body is written out, once for each step.

Steps differ if what is carried from one to the next grows, or if a branch or a loop in the body is
decided by the number of the step, or by other short lists that are known before it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prema_gym.networks.importers.onnx_graph.bodies import (
    COUNTER,
    STACK,
    STATE,
    Entry,
    copied,
    link,
)
from prema_gym.networks.importers.onnx_graph.model import SHORT_RESULTS
from prema_gym.networks.importers.onnx_graph.protos import (
    MOST_ELEMENTS,
    kind_of,
)

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, OperatorSetIdProto

_MOST_TRIED = 1_000  # steps of a loop that only its condition ends

# What of each kind decides its work: a branch's condition, a loop's number of steps and condition.
_DECIDES = {"If": 1, "Loop": 2}


@dataclass(frozen=True)
class Unrolled:
    """A loop written out.

    Attributes:
        nodes: The operators of all steps.
        carried: What the last step carries on.
        collected: What every step gives, for each collected result.
    """

    nodes: Sequence[NodeProto]
    carried: Sequence[str]
    collected: Sequence[Sequence[str]]

    def leave(self, outputs: Sequence[str], out_axes: Sequence[int]) -> list[NodeProto]:
        """The operators, and those that give the loop's results."""
        states = len(self.carried)
        nodes = list(self.nodes)
        for name, result in zip(outputs, self.carried, strict=False):
            nodes += [link("Identity", [result], name)] if name else []
        stacks = zip(outputs[states:], self.collected, out_axes, strict=False)
        for name, results, axis in stacks:
            nodes += [link(f"{STACK} {axis} {len(results)}", results, name)] if name else []
        return nodes


def unrolled(
    graph: GraphProto,
    body: GraphProto,
    entries: Sequence[Entry],
    first: int,
    steps: int,
    prefix: str,
) -> Unrolled:
    """Write a loop out.

    Args:
        graph: The graph that holds it; gets what the body stores, once.
        body: Its body.
        entries: How each of the body's inputs comes in.
        first: Results of the body before those that are carried on.
        steps: How often it runs, >= 1.
        prefix: In front of every name.
    """
    nodes, rest, shared = _shared(graph, body, prefix)
    carried = [source for kind, source in entries if kind == STATE]
    last = first + len(carried)
    collected: list[list[str]] = [[] for _ in body.output[last:]]
    for step in range(steps):
        names, states = dict(shared), iter(carried)
        for at, (value, (kind, source)) in enumerate(zip(body.input, entries, strict=False)):
            names[value.name] = f"{prefix}{step}/{value.name}"
            if kind == STATE:
                names[value.name] = next(states)
            elif kind == COUNTER:
                nodes.append(_constant(names[value.name], step if at == 0 else None))
            else:
                nodes.append(link(kind, [source], names[value.name]))
        copies, results = copied(graph, rest, f"{prefix}{step}/", names)
        nodes += copies
        carried = results[first:last]
        for found, result in zip(collected, results[last:], strict=True):
            found.append(result)
    return Unrolled(nodes, carried, collected)


def _shared(
    graph: GraphProto, body: GraphProto, prefix: str
) -> tuple[list[NodeProto], GraphProto, dict[str, str]]:
    """What all steps share: constants, the body without them, and what they are called."""
    from onnx import GraphProto

    constants, rest = GraphProto(), GraphProto()
    rest.CopyFrom(body)
    for field in ("node", "initializer", "sparse_initializer", "value_info"):
        rest.ClearField(field)
    constants.initializer.extend(body.initializer)
    constants.sparse_initializer.extend(body.sparse_initializer)
    for node in body.node:
        (constants if node.op_type == "Constant" else rest).node.append(node)
    names = [one.name for one in (*body.initializer,)]
    names += [one.values.name for one in body.sparse_initializer]
    names += [name for node in constants.node for name in node.output]
    for name in names:
        constants.output.add(name=name)
    nodes, called = copied(graph, constants, prefix, {})
    return nodes, rest, dict(zip(names, called, strict=True))


def _constant(name: str, step: int | None) -> NodeProto:
    """The number of a step, or that the loop goes on."""
    from onnx import TensorProto, helper

    kind = TensorProto.BOOL if step is None else TensorProto.INT64
    value = helper.make_tensor(name, kind, [], [True if step is None else step])
    return helper.make_node("Constant", [], [name], name=name, value=value)


def is_decided_each_step(
    body: GraphProto, entries: Sequence[Entry], first: int, known: Collection[str]
) -> bool:
    """Whether a branch or loop in a body depends on what is known, but differs from step to step.

    Args:
        body: The body.
        entries: How each of its inputs comes in.
        first: Results of the body before those that are carried on.
        known: Tensors outside it whose values are known.
    """
    wanted = {
        name
        for node in body.node
        for name in node.input[: _DECIDES.get(node.op_type, 0)]
        if name and name not in known
    }
    if not wanted:
        return False
    return bool(wanted & _told_each_step(body, entries, first, known)[0])


def steps_told(
    body: GraphProto,
    entries: Sequence[Entry],
    known: Mapping[str, np.ndarray],
    opsets: Sequence[OperatorSetIdProto],
) -> int | None:
    """How often a loop's body runs that only its own condition ends; None if that is not known.

    Args:
        body: The body.
        entries: How each of its inputs comes in.
        known: Values of tensors outside it.
        opsets: Operator sets of the file.
    """
    from onnx import ValueInfoProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    told, states = _told_each_step(body, entries, 1, known)
    going = body.output[0].name
    if going not in told:
        return None
    kept = [node for node in body.node if told.issuperset(node.output)]
    read = {name for node in kept for name in node.input} | {going}
    stored = [numpy_helper.from_array(known[name], name) for name in read & known.keys()]
    sources = {value.name: entry[1] for value, entry in zip(body.input, entries, strict=False)}
    counter, condition = (value.name for value in body.input[:2])
    inputs, outputs = [counter, condition, *states], [going, *states.values()]
    graph = helper.make_graph(
        kept,
        "what is told of a step",
        [ValueInfoProto(name=name) for name in inputs],
        [ValueInfoProto(name=name) for name in outputs],
        initializer=[*body.initializer, *stored],
    )
    carried = [known[sources[name]] for name in states]
    try:
        step = ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))
        for number in range(_MOST_TRIED):
            feeds = [np.int64(number), np.bool_(True), *carried]
            results: Any = step.run(None, dict(zip(inputs, feeds, strict=True)))
            if not np.all(results[0]):
                return number + 1
            carried = list(results[1:])
            if any(np.size(value) > MOST_ELEMENTS for value in carried):
                return None
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None  # a malformed operator
    return None


def _told_each_step(
    body: GraphProto, entries: Sequence[Entry], first: int, known: Collection[str]
) -> tuple[set[str], dict[str, str]]:
    """Tensors of a body that are known in each step, and states among them: before → after."""
    given = zip(body.input, entries, strict=False)
    counters = {value.name for value, (kind, _) in given if kind == COUNTER}
    places = [at for at, (kind, _) in enumerate(entries) if kind == STATE]
    states = {
        body.input[at].name: body.output[first + number].name
        for number, at in enumerate(places)
        if entries[at][1] in known and first + number < len(body.output)
    }
    while True:
        told = _told(body, {*counters, *states}, known)
        left = {name: after for name, after in states.items() if after in told}
        if left == states:
            return told, states
        states = left


def _told(body: GraphProto, given: Collection[str], known: Collection[str]) -> set[str]:
    """Tensors of a body that follow from what is known."""
    told = {*given, *(weight.name for weight in body.initializer)}
    for node in body.node:
        plain = kind_of(node) in SHORT_RESULTS
        if plain and all(not name or name in told or name in known for name in node.input):
            told.update(node.output)
    return told
