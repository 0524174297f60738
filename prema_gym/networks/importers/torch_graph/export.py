"""How does a PyTorch module become a network? `from_torch` has it traced, then reads the trace.

`torch.export` follows the module with tensors that have a size and no contents: nothing is
computed, and a module made under ``torch.device("meta")`` needs no memory for its weights.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prema_gym.errors import ConfigError, MissingExtraError, located
from prema_gym.networks.importers import Imported
from prema_gym.networks.importers.onnx_graph.model import Graph
from prema_gym.networks.importers.onnx_graph.walk import phases_of
from prema_gym.networks.importers.torch_graph.operators import Call, Found, Tensor, write
from prema_gym.networks.network import FixedPhases, Network

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram
    from torch.fx import Node


def from_torch(
    module: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    *,
    name: str = "",
    lenient: bool = False,
    kwargs: Mapping[str, Any] | None = None,
) -> Imported:
    """The network that a PyTorch module is, for inputs of the sizes of the examples.

    Sizes are those of one task: give a batch of 1. What the rules cannot tell is in the notes, as
    for a file; MACs and weights are those that its ONNX file would have.

    Args:
        module: Any module that `torch.export` can follow, on any device, ``meta`` too.
        example_inputs: Its positional arguments; of tensors only sizes and types matter.
        name: What the network is called; the class's name in lower case if empty.
        lenient: Read a module of whose work a part is lost; the notes say what.
        kwargs: Further arguments by name.

    Raises:
        ConfigError: `torch.export` cannot follow it, no layer is found, an operator's sizes do not
            fit, or work is lost and the reader is not ``lenient``.
        MissingExtraError: PyTorch is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("from_torch", str(error.name), "train") from None
    if not isinstance(module, torch.nn.Module) or not isinstance(example_inputs, tuple):
        raise ConfigError(
            "from_torch takes a module and a tuple of its arguments, got "
            f"{type(module).__name__} and {type(example_inputs).__name__}"
        )
    title = type(module).__name__
    called = name or title.lower()
    with located(f"module {title!r}"):
        program = _traced(module, example_inputs, dict(kwargs or {}))
        phases, notes = phases_of(_graph(program), lenient=lenient, remedy="lenient=True")
    network = Network(
        name=called,
        title=title,
        source=f"PyTorch module {title}",
        domain="custom",
        build=FixedPhases(phases),
    )
    return Imported(network, tuple(f"{called}: {note}" for note in notes))


def _traced(
    module: torch.nn.Module, example_inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> ExportedProgram:
    """The module's operators, as it runs when it is not trained."""
    import torch

    device = next((one.device for one in (*module.parameters(), *module.buffers())), None)

    def moved(value: Any) -> Any:  # noqa: ANN401 - whatever the module takes
        is_moved = isinstance(value, torch.Tensor) and device is not None
        return value.to(device) if is_moved else value

    with _not_training(module), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how PyTorch's own recurrent layers are made
        try:
            return torch.export.export(
                module,
                tuple(map(moved, example_inputs)),
                {key: moved(value) for key, value in kwargs.items()},
            )
        except Exception as error:  # whatever stops it: the module's own errors, too
            line = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ConfigError(f"torch.export cannot follow it: {line}") from error


@contextmanager
def _not_training(module: torch.nn.Module) -> Iterator[None]:
    """Within it no part of the module is in training; afterwards all are as before."""
    before = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, training in before.items():
            part.training = training


def _graph(program: ExportedProgram) -> Graph:
    """A traced module in the words of ONNX."""
    import torch

    found = Found()
    signature = program.graph_signature
    stored = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    for node in program.graph.nodes:
        value = node.meta.get("val")
        first = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(first, torch.Tensor):
            found.shapes[node.name] = tuple(int(size) for size in first.shape)
        if node.op == "placeholder" and node.name in stored:
            found.weights.add(node.name)
        elif node.op == "call_function":
            write(found, _call(node))
    results = (one for one in signature.user_outputs if isinstance(one, str))
    return Graph(
        operators=tuple(found.operators),
        shapes=found.shapes,
        weights=frozenset(found.weights),
        results=tuple(results),
    )


def _call(node: Node) -> Call:
    """A node as a call: the operator's name and its arguments by theirs."""
    import torch

    if node.target is operator.getitem:
        return Call("getitem", node.name, node.name, {"self": _plain(node.args[0])})
    target: Any = node.target
    schema = target._schema
    names = [argument.name for argument in schema.arguments]
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return Call(
        kind=schema.name.partition("::")[2].rstrip("_"),
        name=_layer_name(node),
        output=node.name,
        given={key: _plain(value) for key, value in given.items()},
        is_pointwise=torch.Tag.pointwise in target.tags,
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - an argument
    """An argument, with tensors as their names."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return Tensor(value.name) if hasattr(value, "meta") and hasattr(value, "name") else value


def _layer_name(node: Node) -> str:
    """Where in the module it is called, if that is a part with a name; else the node's own."""
    stack = list(node.meta.get("nn_module_stack", {}).values())
    path = stack[-1][0] if stack else ""
    return path.removeprefix("L['self'].").replace("L['self']", "") or node.name
