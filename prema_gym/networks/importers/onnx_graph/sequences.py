"""What do look-ups in tables and recurrent layers cost?

Source: the operators' definitions, ONNX operator sets 1 to 23.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    OpenShapeError,
    for_items,
    input_shape,
    integer,
)
from prema_gym.networks.layers import Embedding
from prema_gym.networks.network import Phase
from prema_gym.networks.recurrent import GRUCell, LSTMCell, RNNCell
from prema_gym.networks.tensor import Tensor

_CELLS: dict[str, type[GRUCell | LSTMCell | RNNCell]] = {
    "GRU": GRUCell,
    "LSTM": LSTMCell,
    "RNN": RNNCell,
}


def gather(graph: Graph, operator: Operator, name: str) -> Layers:
    """Rows of a stored table are an embedding; anything else is addressing."""
    if operator.inputs[0] not in graph.constants or integer(operator, "axis", 0) != 0:
        return ()
    rows, *width = input_shape(graph, operator, 0, least=1)
    count = math.prod(input_shape(graph, operator, 1))
    return (Embedding(name, Tensor((count,)), vocabulary=rows, features=math.prod(width)),)


def recurrent(graph: Graph, operator: Operator, name: str) -> Phase:
    """A cell for each direction, run once a time step."""
    length, batch, features = input_shape(graph, operator, 0, least=3, most=3)
    if integer(operator, "layout", 0):
        length, batch = batch, length
    directions, _, hidden = input_shape(graph, operator, 2, least=3, most=3)
    hidden = integer(operator, "hidden_size", hidden)  # quantised weights are transposed
    cell = _CELLS[operator.kind]
    names = (name, f"{name}/backward")[:directions]
    cells = (
        cell(each, Tensor((features,)), hidden=hidden, bias=operator.has_input(3)) for each in names
    )
    return Phase(tuple(for_items(each, batch) for each in cells), length)


def element_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """One slice of a tensor along an axis, as each step of a loop reads it."""
    shape, axis = list(input_shape(graph, operator, 0)), _setting(operator, 0)
    if not -len(shape) <= axis < len(shape):
        raise ConfigError(f"{shape} has no axis {axis}")
    del shape[axis]
    return (tuple(shape),)


def stack_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """One slice from each step of a loop."""
    shape, steps = list(input_shape(graph, operator, 0)), _setting(operator, 1)
    axis = _setting(operator, 0)
    if steps < 0:
        raise OpenShapeError(f"{operator.kind} (open number of steps)")
    shape.insert(axis + len(shape) + 1 if axis < 0 else axis, steps)
    return (tuple(shape),)


def channel_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """As many channels as a setting says, if it does."""
    batch, channels, *size = input_shape(graph, operator, 0, least=2)
    return ((batch, _setting(operator, 0) or channels, *size),)


def counter_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """One number."""
    return ((),)


def _setting(operator: Operator, index: int) -> int:
    return int(operator.attributes["values"][index])
