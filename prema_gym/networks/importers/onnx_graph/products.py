"""What do matrix products cost: with weights, and of two activations?

Source: the operators' definitions, ONNX operator sets 1 to 23.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.layers import Product
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    UnsupportedError,
    agreed,
    broadcast,
    follower,
    input_shape,
    integer,
)
from prema_gym.networks.layers import Linear
from prema_gym.networks.tensor import Tensor


def gemm(graph: Graph, operator: Operator, name: str) -> Layers:
    """Two matrices, each perhaps transposed, and a bias."""
    m, k = input_shape(graph, operator, 0, least=2, most=2)
    inner, n = input_shape(graph, operator, 1, least=2, most=2)
    if integer(operator, "transA", 0):
        m, k = k, m
    if integer(operator, "transB", 0):
        inner, n = n, inner
    if k != inner:
        raise ConfigError(f"a product of {m} × {k} and {inner} × {n} does not exist")
    if k == 0:
        return ()
    if operator.inputs[1] not in graph.constants:
        return agreed(graph, operator, _product(graph, operator, name, m, k, n))
    layer = Linear(name, Tensor((m, k)), out_features=n, bias=operator.has_input(2))
    return agreed(graph, operator, layer)


def matmul(graph: Graph, operator: Operator, name: str) -> Layers:
    """NumPy's rules: a vector is a row or a column, leading axes are broadcast."""
    left, right = _matrices(graph, operator)
    *left_batch, m, k = left if len(left) > 1 else (1, *left)
    *right_batch, inner, n = right if len(right) > 1 else (*right, 1)
    if k != inner:
        raise ConfigError(f"a product of {left} and {right} does not exist")
    if k == 0:
        return ()
    if right_batch:
        count = math.prod(broadcast(left_batch, right_batch))
        return agreed(graph, operator, _product(graph, operator, name, m, k, n, count))
    rows = math.prod(left_batch) * m  # one right operand for all: they stream through together
    if operator.inputs[1] not in graph.constants:
        return agreed(graph, operator, _product(graph, operator, name, rows, k, n))
    bias = follower(graph, operator, "Add")
    has_bias = bias is not None and graph.is_per_channel(bias)
    layer = Linear(name, Tensor((rows, k)), out_features=n, bias=has_bias)
    return agreed(graph, operator, layer)


def _product(
    graph: Graph, operator: Operator, name: str, rows: int, depth: int, columns: int, count: int = 1
) -> Product:
    """A product whose right operand is not one matrix of weights for all rows."""
    stored = sum(
        math.prod(input_shape(graph, operator, index))
        for index in (0, 1)
        if operator.inputs[index] in graph.constants
    )
    return Product(name, rows=rows, depth=depth, columns=columns, count=count, stored=stored)


def product_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """The result of a matrix product whose operands may be transposed."""
    left, right = _matrices(graph, operator)
    if len(left) < 2 or len(right) < 2:
        raise UnsupportedError(f"{operator.kind} (of vectors)")
    return ((*broadcast(left[:-2], right[:-2]), left[-2], right[-1]),)


def _matrices(graph: Graph, operator: Operator) -> list[Shape]:
    """Sizes of both operands as they are multiplied, each perhaps transposed before."""
    found = []
    for index, side in enumerate("AB"):
        shape = input_shape(graph, operator, index, least=1)
        if integer(operator, f"transBatch{side}", 0) and len(shape) > 2:
            shape = (*shape[1:-1], shape[0], shape[-1])  # rows are the first axis
        if integer(operator, f"trans{side}", 0) and len(shape) > 1:
            shape = (*shape[:-2], shape[-1], shape[-2])
        found.append(shape)
    return found
