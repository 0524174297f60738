"""How are the messages of an ONNX file read and changed? What several steps of reading share.

Nothing else of this package but the steps themselves (``external``, ``inputs``, ``spelling``,
``control``, ``sizes``, ``load``) touches the package ``onnx``, which is loaded when a file is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.model import Operator, Shape

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

PRIVATE = "prema_gym"
"""Domain of the operators that stand where a loop or branch was entered or left."""

MICROSOFT = "com.microsoft"
"""Domain of the operators that ONNX Runtime writes."""

# What a node's notes of ours are called.
_STEPS, _DOUBT = "prema_gym.steps", "prema_gym.doubt"

MOST_ELEMENTS = 64
"""Longest tensor whose values are looked at: a list of sizes has as many as a tensor has axes."""


_LONGEST_VECTOR = 10**7
"""ONNX's inference writes a vector out, element by element: 0.8 s and 0.7 GB for so many."""


@contextmanager
def understood() -> Iterator[None]:
    """Within it, what the package ``onnx`` finds wrong with a file is an error of ours."""
    from google.protobuf.message import DecodeError, EncodeError
    from onnx import checker, shape_inference

    theirs = (
        shape_inference.InferenceError,
        checker.ValidationError,
        DecodeError,
        EncodeError,
        RuntimeError,
        ValueError,  # UnicodeError among them
    )
    try:
        yield
    except theirs as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(f"ONNX cannot infer its shapes: {reason}") from error


def kind_of(node: NodeProto) -> str:
    """Its type; ``domain::Type`` if it is not one of ONNX's own."""
    own = node.domain in ("", "ai.onnx")
    return str(node.op_type if own else f"{node.domain}::{node.op_type}")


def name_of(node: NodeProto) -> str:
    """Its name, or its first result's."""
    return str(node.name or next(filter(None, node.output), node.op_type))


def operator_of(node: NodeProto) -> Operator:
    """A node as plain data."""
    from onnx.helper import get_attribute_value

    def plain(value: object) -> object:
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    marks = {mark.key: mark.value for mark in node.metadata_props}
    values = {a.name: get_attribute_value(a) for a in node.attribute if not has_graph(a)}
    return Operator(
        kind=kind_of(node),
        name=name_of(node),
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes={name: plain(value) for name, value in values.items() if value is not None},
        has_graph=any(map(has_graph, node.attribute)),
        steps=int(marks.get(_STEPS, 1)),
        doubt=marks.get(_DOUBT, ""),
    )


def has_graph(attribute: Any) -> bool:  # noqa: ANN401 - an AttributeProto
    """Whether an attribute holds operators."""
    return attribute.HasField("g") or bool(attribute.graphs)


def subgraph(node: NodeProto, name: str) -> GraphProto | None:
    """The operators in a node under a name; None if there are none."""
    found = (a.g for a in node.attribute if a.name == name and a.HasField("g"))
    return next(found, None)


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """All operators in a node, by attribute."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def names_read(graph: GraphProto) -> set[str]:
    """Tensors that an operator reads, at any depth, or that are results."""
    found = {value.name for value in graph.output}
    for node in graph.node:
        found.update(node.input)
        for inner in subgraphs(node):
            found |= names_read(inner)
    return found


def mark(node: NodeProto, *, steps: int, doubt: str) -> None:
    """Write down that a node runs ``steps`` times as often as it does so far."""
    found = operator_of(node)
    del node.metadata_props[:]
    for key, value in ((_STEPS, str(found.steps * steps)), (_DOUBT, found.doubt or doubt)):
        if value:
            node.metadata_props.add(key=key, value=value)


def attribute_ints(node: NodeProto, name: str) -> list[int]:
    """A setting that is a list of whole numbers; empty if it is not given."""
    return next((list(a.ints) for a in node.attribute if a.name == name), [])


def attribute_int(node: NodeProto, name: str, default: int) -> int:
    """A setting that is one whole number."""
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def stored_sizes(graph: GraphProto) -> dict[str, Shape]:
    """Sizes of the stored tensors, sparse ones included.

    Raises:
        ConfigError: One is negative.
    """
    found = {weight.name: tuple(weight.dims) for weight in graph.initializer}
    found |= {one.values.name: tuple(one.dims) for one in graph.sparse_initializer}
    for name, shape in found.items():
        if any(size < 0 for size in shape):
            raise ConfigError(f"stored tensor {name!r} has sizes {list(shape)}")
    return found


def known_sizes(graph: GraphProto) -> dict[str, Shape]:
    """Sizes of every tensor whose sizes are all known, stored ones included."""
    found = {
        value.name: shape
        for value in (*graph.input, *graph.value_info, *graph.output)
        if (shape := known_shape(value.type)) is not None
    }
    return found | stored_sizes(graph)


def known_shape(kind: TypeProto) -> Shape | None:
    """The sizes of a tensor type, None if one of them is open; 0 is a size like others."""
    if not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    if any(not dim.HasField("dim_value") or dim.dim_value < 0 for dim in dims):
        return None
    return tuple(dim.dim_value for dim in dims)


def declare(graph: GraphProto, shapes: Mapping[str, Shape]) -> None:
    """Write down sizes of tensors, in place of what was known of them."""
    from onnx import TensorProto

    entries: dict[str, ValueInfoProto] = {
        value.name: value for value in (*graph.value_info, *graph.output)
    }
    for name, shape in shapes.items():
        value = entries.get(name)
        if value is None:
            value = graph.value_info.add(name=name)
        tensor = value.type.tensor_type
        tensor.elem_type = tensor.elem_type or TensorProto.FLOAT
        tensor.shape.ClearField("dim")
        for size in shape:
            tensor.shape.dim.add(dim_value=size)
        tensor.shape.SetInParent()  # a single number has a shape, too: of no axes


def forget(graph: GraphProto, names: Sequence[str]) -> None:
    """Drop what is known of the sizes of tensors."""
    wanted = set(names)
    kept = [value for value in graph.value_info if value.name not in wanted]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    for value in graph.output:
        if value.name in wanted:
            value.type.tensor_type.ClearField("shape")


def replace_nodes(graph: GraphProto, nodes: Sequence[NodeProto]) -> None:
    """Give a graph other operators."""
    kept = [*nodes]
    del graph.node[:]
    graph.node.extend(kept)


def is_short(tensor: TensorProto) -> bool:
    """Whether a stored tensor may be a list of sizes."""
    return bool(0 <= math.prod(tensor.dims) <= MOST_ELEMENTS)


def value_of(tensor: TensorProto) -> np.ndarray | None:
    """A short stored tensor; None for another, or one whose data are not in the file."""
    from onnx import TensorProto, numpy_helper

    if not is_short(tensor) or tensor.data_location == TensorProto.EXTERNAL:
        return None
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (LookupError, TypeError, ValueError):
        return None  # fewer data than its sizes say, or of a type that nobody knows


def known_values(graph: GraphProto) -> dict[str, np.ndarray]:
    """What short tensors hold that are stored, or have become constants."""
    tensors = [(weight.name, weight) for weight in graph.initializer]
    tensors += [
        (node.output[0], a.t)
        for node in graph.node
        if kind_of(node) == "Constant" and node.output
        for a in node.attribute
        if a.name == "value"
    ]
    found = {name: value_of(tensor) for name, tensor in tensors}
    return {name: value for name, value in found.items() if value is not None}


def drop_weights(graph: GraphProto) -> None:
    """Long tensors keep their sizes only, so that large files are not copied again and again.

    Raises:
        ConfigError: One is a vector that is too long.
    """
    constants = (a.t for node in graph.node for a in node.attribute if a.HasField("t"))
    for weight in (*graph.initializer, *constants):
        if len(weight.dims) == 1 and weight.dims[0] > _LONGEST_VECTOR:
            raise ConfigError(
                f"{weight.name!r} is a vector of {weight.dims[0]} numbers, at most "
                f"{_LONGEST_VECTOR} can be read"
            )
        if not is_short(weight):
            for data in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
                weight.ClearField(data)
    for node in graph.node:
        for inner in subgraphs(node):
            drop_weights(inner)
