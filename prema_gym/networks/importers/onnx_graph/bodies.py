"""How do operators of an inner graph come to stand in the outer one? Copied, under names of theirs.

What branches and loops (``control``) and loops written out (``unroll``) share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prema_gym.networks.importers.onnx_graph.protos import PRIVATE, subgraphs

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

# What hands a tensor on: into a loop's body (the number of the step, what is carried on and keeps
# its size or does not, a slice), and out of a branch or a loop.
COUNTER, STATE, GROWING, ELEMENT = "Counter", "State", "Growing", "Element"
CHOSEN, STACK = "Chosen", "Stack"

Entry = tuple[str, str]
"""How an input of a loop's body comes in, and from which tensor."""


def link(kind: str, inputs: Sequence[str], output: str) -> NodeProto:
    """An operator that hands a tensor on; what follows its kind are its settings."""
    from onnx import helper

    name, *settings = kind.split()
    own: dict[str, Any] = {"values": [int(value) for value in settings]} if settings else {}
    domain = "" if name == "Identity" else PRIVATE
    return helper.make_node(
        name, [one for one in inputs if one], [output], name=output, domain=domain, **own
    )


def copied(
    graph: GraphProto, inner: GraphProto, prefix: str, inside: Mapping[str, str]
) -> tuple[list[NodeProto], list[str]]:
    """The operators of an inner graph under names of their own, and what its results are called.

    What it stores is stored by the outer one afterwards.
    """
    stored = {weight.name for weight in graph.initializer}
    names = dict(inside)
    for weight in inner.initializer:
        names[weight.name] = prefix + weight.name
        if prefix + weight.name not in stored:
            graph.initializer.add().CopyFrom(weight)
            graph.initializer[-1].name = prefix + weight.name
    for sparse in inner.sparse_initializer:
        names[sparse.values.name] = prefix + sparse.values.name
        if all(one.values.name != prefix + sparse.values.name for one in graph.sparse_initializer):
            graph.sparse_initializer.add().CopyFrom(sparse)
            graph.sparse_initializer[-1].values.name = prefix + sparse.values.name
    nodes = _renamed(inner, prefix, names)
    known = [value for value in (*inner.value_info,) if value.name in names]
    held = {value.name for value in graph.value_info}
    for value in known:
        if names[value.name] not in held:
            graph.value_info.add().CopyFrom(value)
            graph.value_info[-1].name = names[value.name]
    return nodes, [names.get(value.name, value.name) for value in inner.output]


def _renamed(inner: GraphProto, prefix: str, names: dict[str, str]) -> list[NodeProto]:
    """Copies of operators; ``names`` says what tensors are called, and gets those they write."""
    from onnx import NodeProto

    copies = []
    for node in inner.node:
        copy = NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [names.get(name, name) for name in node.input]
        for name in filter(None, node.output):
            names[name] = prefix + name
        copy.output[:] = [names.get(name, name) for name in node.output]
        for deeper in subgraphs(copy):
            own = [*deeper.input, *deeper.initializer]
            shadowed = {value.name for value in own}
            reach = {old: new for old, new in names.items() if old not in shadowed}
            _rename_inside(deeper, reach)
        copies.append(copy)
    return copies


def _rename_inside(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Give the tensors that an inner graph reads from outside their new names, in place."""
    reach = dict(names)
    for node in graph.node:
        node.input[:] = [reach.get(name, name) for name in node.input]
        for deeper in subgraphs(node):
            own = {value.name for value in (*deeper.input, *deeper.initializer)}
            _rename_inside(deeper, {old: new for old, new in reach.items() if old not in own})
        for name in node.output:
            reach.pop(name, None)
    for value in graph.output:
        value.name = reach.get(value.name, value.name)
