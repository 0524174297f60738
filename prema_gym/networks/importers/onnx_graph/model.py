"""Which operators does an ONNX file hold, and what do they read?

With :mod:`~prema_gym.networks.importers.onnx_graph.sizes` the only module that touches the package
``onnx``, which is loaded when a file is read. Weights are never looked at, so a graph whose
external weights are missing reads as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from prema_gym.errors import ConfigError, located
from prema_gym.networks.importers.onnx_graph.sizes import (
    SHAPE_READERS,
    Shape,
    infer,
    known_sizes,
)

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

# Products of quantised numbers: the plain one that does the same work, and which inputs it has of
# theirs; the others are scales and zero points, applied while results drain.
_QUANTISED = {
    "QLinearConv": ("Conv", (0, 3, 8)),
    "QLinearMatMul": ("MatMul", (0, 3)),
    "ConvInteger": ("Conv", (0, 1)),
    "MatMulInteger": ("MatMul", (0, 1)),
}


@dataclass(frozen=True)
class Operator:
    """One operator of a graph.

    Attributes:
        kind: Its type; ``domain::Type`` if it is not one of ONNX's own. A quantised product's is
            that of the plain one.
        name: The name in the file, or its first result's.
        inputs: Names of the tensors it reads; an optional one left out is ``""``.
        outputs: Names of its results.
        attributes: Its settings, as plain values.
    """

    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def has_input(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and self.inputs[index] != ""


@dataclass(frozen=True)
class Graph:
    """A file's operators in order of execution, with what is known before they run.

    Attributes:
        operators: All of them.
        shapes: Sizes of every tensor whose sizes are all known.
        weights: Names of the stored tensors.
        results: Names of the graph's results.
        notes: What was assumed about its inputs.
    """

    operators: tuple[Operator, ...]
    shapes: Mapping[str, Shape]
    weights: frozenset[str]
    results: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def constants(self) -> frozenset[str]:
        """Tensors that do not depend on the inputs' values: weights, and what is made of them."""
        found = {"", *self.weights}
        for operator in self.operators:
            if operator.kind in SHAPE_READERS or found.issuperset(operator.inputs):
                found.update(operator.outputs)
        return frozenset(found)

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


def load(path: str) -> Graph:
    """Read a file.

    Raises:
        ModuleNotFoundError: The package ``onnx`` is not installed.
        ConfigError: The file cannot be read or is not ONNX, or an input's size is open.
    """
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import shape_inference

    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ConfigError(f"cannot read {path!r}: {error.strerror}") from error
    except DecodeError as error:
        raise ConfigError(f"{path!r} is not an ONNX file") from error
    with located(path):
        notes = _settle_inputs(model.graph)
        try:
            model = infer(model)
        except (shape_inference.InferenceError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())
            raise ConfigError(f"ONNX cannot infer its shapes: {reason}") from error
    return _graph(model, notes)


def _graph(model: ModelProto, notes: Iterable[str]) -> Graph:
    """A model as plain data."""
    graph = model.graph
    stored = {weight.name for weight in graph.initializer}
    quantised = sum(_is_own(node) and node.op_type in _QUANTISED for node in graph.node)
    if quantised:
        products = "1 quantised product" if quantised == 1 else f"{quantised} quantised products"
        notes = [*notes, f"{products} taken at the machine's own width (element_bytes)"]
    return Graph(
        operators=tuple(_operator(node, number) for number, node in enumerate(graph.node)),
        shapes=known_sizes(graph),
        weights=frozenset(stored),
        results=tuple(value.name for value in graph.output),
        notes=tuple(notes),
    )


def _is_own(node: NodeProto) -> bool:
    return node.domain in ("", "ai.onnx")


def _operator(node: NodeProto, number: int) -> Operator:
    from onnx.helper import get_attribute_value

    def plain(value: object) -> object:
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    kind = node.op_type if _is_own(node) else f"{node.domain}::{node.op_type}"
    inputs = tuple(node.input)
    if kind in _QUANTISED:
        kind, places = _QUANTISED[kind]
        inputs = tuple(inputs[place] for place in places if place < len(inputs))
    return Operator(
        kind=kind,
        name=node.name or next(filter(None, node.output), f"operator {number}"),
        inputs=inputs,
        outputs=tuple(node.output),
        attributes={
            a.name: plain(value)
            for a in node.attribute
            if (value := get_attribute_value(a)) is not None
        },
    )


def _settle_inputs(graph: GraphProto) -> list[str]:
    """Give every input fixed sizes in place: an open first axis is a batch of 1.

    Returns:
        A note for each such axis, and for a first axis of more than 1.

    Raises:
        ConfigError: An input has another open size, or no shape at all.
    """
    stored = {weight.name for weight in graph.initializer}
    inputs = [value for value in graph.input if value.name not in stored]
    notes, batch_symbols = [], set()
    for value in inputs:
        if not value.type.tensor_type.HasField("shape"):
            raise ConfigError(f"input {value.name!r} has no shape; export it with one")
        for dim in value.type.tensor_type.shape.dim[:1]:
            if dim.dim_value < 1:
                symbol = dim.dim_param
                batch_symbols.add(symbol)
                called = f" ({symbol!r})" if symbol else ""
                notes.append(f"input {value.name!r}: open axis 0{called} taken as a batch of 1")
            elif dim.dim_value > 1:
                notes.append(
                    f"input {value.name!r}: axis 0 has size {dim.dim_value}, all of it the work "
                    "of one task at batch 1"
                )
    # The same symbol elsewhere is the same size, in what the file says of inner tensors too.
    for value in (*graph.input, *graph.value_info, *graph.output):
        _settle(value, batch_symbols)
    for value in inputs:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if axis == 0 and dim.dim_value < 1:
                dim.dim_value = 1
            if dim.dim_value < 1:
                raise ConfigError(
                    f"input {value.name!r}: axis {axis} ({dim.dim_param or 'unnamed'}) "
                    "is open, only axis 0 may be (a batch of 1); export it with a fixed size"
                )
    return notes


def _settle(value: ValueInfoProto, symbols: set[str]) -> None:
    """Put 1 where a size is one of ``symbols``."""
    for dim in value.type.tensor_type.shape.dim:
        if dim.dim_param and dim.dim_param in symbols:
            dim.dim_value = 1
