"""What do look-ups in tables and recurrent layers cost?

Source: the operators' definitions, ONNX operator sets 1 to 22.
"""

from __future__ import annotations

import math

from prema_gym.networks.importers.onnx_graph.model import Graph, Operator
from prema_gym.networks.importers.onnx_graph.operands import Layers, for_items, input_shape, integer
from prema_gym.networks.layers import Embedding
from prema_gym.networks.network import Phase
from prema_gym.networks.recurrent import GRUCell, LSTMCell
from prema_gym.networks.tensor import Tensor


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
    cell = LSTMCell if operator.kind == "LSTM" else GRUCell
    names = (name, f"{name}/backward")[:directions]
    cells = (
        cell(each, Tensor((features,)), hidden=hidden, bias=operator.has_input(3)) for each in names
    )
    return Phase(tuple(for_items(each, batch) for each in cells), length)
