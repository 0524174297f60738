"""How large are a graph's inputs? Sizes bound by the reader; an open first axis is a batch of 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from prema_gym.checks import check_keys
from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.protos import (
    known_shape,
    names_read,
    stored_sizes,
    subgraphs,
)

if TYPE_CHECKING:
    from onnx import GraphProto, TensorShapeProto, TypeProto, ValueInfoProto


def settle_inputs(graph: GraphProto, dims: Mapping[str, int]) -> list[str]:
    """Give every input that is read fixed sizes in place.

    Args:
        graph: The graph.
        dims: Sizes of open axes, by their symbol; one without is called ``INPUT[AXIS]``.

    Returns:
        A note for each open first axis taken as 1, and for each first axis of more than 1.

    Raises:
        ConfigError: An input has another open size, or is a tensor of no shape at all.
        UnknownNameError: No open axis is called as one of ``dims``.
    """
    stored = stored_sizes(graph)
    given = [value for value in graph.input if value.name not in stored]
    read = names_read(graph)
    inputs = [value for value in given if value.name in read]
    for value in inputs:
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape"):
            raise ConfigError(f"input {value.name!r} has no shape; export it with one")
    names = {name for value in given for name in _open_axes(value).values()}
    check_keys(dims, sorted(names), "its inputs", kind="open axis")
    _bind(graph, inputs, dims)
    notes, assumed = [], {}
    for value in inputs:
        open_first = _open_axes(value).get(0)
        first = next((dim.dim_value for dim in _dims(value.type)), 1)
        if open_first is not None:
            assumed[open_first] = 1
            called = "" if open_first.endswith("[0]") else f" ({open_first!r})"
            notes.append(f"input {value.name!r}: open axis 0{called} taken as a batch of 1")
        elif first > 1:
            notes.append(
                f"input {value.name!r}: axis 0 has size {first}, all of it the work "
                "of one task at batch 1"
            )
    _bind(graph, inputs, assumed)
    for value in inputs:
        for axis, name in _open_axes(value).items():
            raise ConfigError(
                f"input {value.name!r}: axis {axis} ({name}) is open, only axis 0 may be (a batch "
                f"of 1); give its size (--dim {name}=SIZE) or export it with a fixed one"
            )
    return notes


def empty_inputs(graph: GraphProto) -> list[str]:
    """A line for each input that holds nothing, for the reader of an error."""
    return [
        f"input {value.name!r} is empty: {list(shape)}"
        for value in graph.input
        if (shape := known_shape(value.type)) is not None and 0 in shape
    ]


def _dims(kind: TypeProto) -> Sequence[TensorShapeProto.Dimension]:
    """The axes of a tensor, of one that is optional, or of each in a sequence; else none."""
    for inner in ("optional_type", "sequence_type"):
        if kind.HasField(inner):
            return _dims(getattr(kind, inner).elem_type)
    dims: Sequence[TensorShapeProto.Dimension] = kind.tensor_type.shape.dim
    return dims


def _open_axes(value: ValueInfoProto) -> dict[int, str]:
    """What the open axes of an input are called, by axis; a negative size is an open one."""
    return {
        axis: dim.dim_param or f"{value.name}[{axis}]"
        for axis, dim in enumerate(_dims(value.type))
        if not dim.HasField("dim_value") or dim.dim_value < 0
    }


def _bind(graph: GraphProto, inputs: list[ValueInfoProto], sizes: Mapping[str, int]) -> None:
    """Put a size wherever its name stands: in what the file says of inner tensors too."""
    for value in inputs:
        for axis, name in _open_axes(value).items():
            if name in sizes:
                _dims(value.type)[axis].dim_value = sizes[name]
    for value in (*graph.input, *graph.value_info, *graph.output):
        for dim in _dims(value.type):
            if dim.dim_param and dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
    for node in graph.node:
        for inner in subgraphs(node):
            _bind(inner, [], sizes)
