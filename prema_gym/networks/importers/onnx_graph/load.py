"""How does a file become a graph of plain data? The steps, in order.

Operators that the file defines are written out, inputs get fixed sizes, sizes are followed through
the graph. Weights are never looked at, so a graph whose external weights are missing reads as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prema_gym.errors import ConfigError, located
from prema_gym.networks.importers.onnx_graph.external import fetch_short
from prema_gym.networks.importers.onnx_graph.inputs import empty_inputs, settle_inputs
from prema_gym.networks.importers.onnx_graph.model import Graph, Shape
from prema_gym.networks.importers.onnx_graph.protos import (
    MICROSOFT,
    PRIVATE,
    drop_weights,
    known_sizes,
    known_values,
    operator_of,
    stored_sizes,
    subgraphs,
    understood,
)
from prema_gym.networks.importers.onnx_graph.sizes import settle_sizes

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_NOT_TEXT = "ONNX files hold names in UTF-8; one of these is not"
_LEAST_IR = 4  # from here on what is stored need not be among the inputs

Price = Callable[[Graph], int]
"""Multiply-accumulates of a graph."""


def load(path: str, dims: Mapping[str, int], price: Price) -> Graph:
    """Read a file.

    Args:
        path: The file.
        dims: Sizes of open axes of inputs.
        price: What a graph costs, to compare branches.

    Raises:
        ModuleNotFoundError: The package ``onnx`` is not installed.
        ConfigError: The file cannot be read or is not ONNX, or an input's size is open.
        UnknownNameError: No open axis is called as one of ``dims``.
    """
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ConfigError(f"cannot read {path!r}: {error.strerror}") from error
    except DecodeError as error:
        raise ConfigError(f"{path!r} is not an ONNX file") from error
    with located(path):
        try:
            _check_names(model.graph)
            missing = fetch_short(model.graph, Path(path).parent)
            notes = settle_inputs(model.graph, dims)
            hints = (*missing, *_hints(notes, model.graph))
            with explained(hints):
                return replace(_settled(model, notes, price), hints=hints)
        except UnicodeDecodeError as error:  # wherever a name is first looked at
            raise ConfigError(_NOT_TEXT) from error


def _check_names(graph: GraphProto) -> None:
    """Refuse tensors whose names are no text: in some places ONNX hands them out as bytes.

    Raises:
        ConfigError: There is one.
    """
    for node in graph.node:
        if any(isinstance(name, bytes) for name in (*node.input, *node.output)):
            raise ConfigError(_NOT_TEXT)
        for inner in subgraphs(node):
            _check_names(inner)


def _hints(notes: Sequence[str], graph: GraphProto) -> tuple[str, ...]:
    """What was assumed of the inputs that may be why a graph cannot be read."""
    assumed = [line for line in notes if "taken as a batch" in line]
    advice = ["give its size as --dim NAME=SIZE"] if assumed else []
    return (*assumed, *advice, *empty_inputs(graph))


@contextmanager
def explained(hints: Sequence[str]) -> Iterator[None]:
    """Within it, an error's message ends with what was assumed of the inputs: it may be why."""
    try:
        yield
    except ConfigError as error:
        if not hints:
            raise
        raise ConfigError(f"{error} ({'; '.join(hints)})") from error


def _settled(model: ModelProto, notes: Sequence[str], price: Price) -> Graph:
    """A model as plain data, all that is known of its sizes worked out."""
    from onnx import inliner

    model.ir_version = max(model.ir_version, _LEAST_IR)
    imported = {one.domain for one in model.opset_import}
    for domain in {PRIVATE, MICROSOFT} - imported:
        model.opset_import.add(domain=domain, version=1)
    drop_weights(model.graph)
    if model.functions:  # operators that the file itself defines
        _check_functions(model)
        with understood():
            model = inliner.inline_local_functions(model)

    weighed: dict[bytes, tuple[int, tuple[Shape | None, ...]]] = {}

    def weigh(
        graph: GraphProto, nodes: Sequence[NodeProto], results: Sequence[str]
    ) -> tuple[int, tuple[Shape | None, ...]]:
        key = b"".join(node.SerializeToString(deterministic=True) for node in nodes)
        if key not in weighed:  # a branch in a branch would be weighed again and again
            part = _part(model, graph, nodes, results)
            weighed[key] = 0, (None,) * len(results)
            with suppress(ConfigError):
                found = _plain(*settle_sizes(part, weigh)[:2])
                sizes = tuple(found.shapes.get(name) for name in results)
                weighed[key] = price(found), sizes
        return weighed[key]

    settled, found, quantised = settle_sizes(model, weigh)
    if quantised:
        products = "1 quantised product" if quantised == 1 else f"{quantised} quantised products"
        found = [*found, f"{products} taken at the machine's own width (element_bytes)"]
    return _plain(settled, [*notes, *found])


def _check_functions(model: ModelProto) -> None:
    """Refuse functions that call themselves, which ONNX would follow without end."""
    calls = {
        (one.domain, one.name): {(node.domain, node.op_type) for node in one.node}
        for one in model.functions
    }
    while calls:
        leaves = [one for one, called in calls.items() if not called & calls.keys()]
        if not leaves:
            raise ConfigError(f"function {min(calls)[1]!r} calls itself")
        for one in leaves:
            del calls[one]


def _part(
    model: ModelProto, graph: GraphProto, nodes: Sequence[NodeProto], results: Sequence[str]
) -> ModelProto:
    """Some operators as a model of their own, with what their graph knows of what they read."""
    from onnx import ModelProto

    part = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    written = {name for node in nodes for name in node.output}
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(graph.initializer)
    part.graph.sparse_initializer.extend(graph.sparse_initializer)
    stored = stored_sizes(graph)
    for value in (*graph.input, *graph.value_info):
        if value.name not in stored:
            (part.graph.value_info if value.name in written else part.graph.input).append(value)
    for name in results:
        part.graph.output.add(name=name)
    return part


def _plain(model: ModelProto, notes: Sequence[str]) -> Graph:
    """A model as plain data."""
    graph = model.graph
    return Graph(
        operators=tuple(operator_of(node) for node in graph.node),
        shapes=known_sizes(graph),
        weights=frozenset(stored_sizes(graph)),
        results=tuple(value.name for value in graph.output),
        values=known_values(graph),
        notes=tuple(notes),
    )
