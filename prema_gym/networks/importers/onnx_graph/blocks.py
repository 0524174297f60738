"""What do blocks of large language models cost that ONNX Runtime has as one operator?

Mixtures of experts, attention that is linear in the length, convolutions that look back. Source:
their definitions in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from prema_gym.checks import one_of
from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.layers import Experts, Lowered, Pass, Product
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    for_items,
    input_shape,
    integer,
)
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor

_RULE = one_of("update_rule", ("linear", "gated", "delta", "gated_delta"))
_FUSION = 2  # gate and value of a gated activation, side by side in the first matrix


def experts(graph: Graph, operator: Operator, name: str) -> Layers:
    """Two matrices an expert, or three: its first product may be gated by another."""
    *places, features = input_shape(graph, operator, 0, least=2, most=3)
    tokens, chosen = math.prod(places), integer(operator, "k", 1)
    number = input_shape(graph, operator, 2, least=3, most=3)[0]

    def product(step: str, index: int, depth: int, width: int = 0) -> Experts:
        """By the matrices of all experts, stored either way round."""
        of_all = math.prod(input_shape(graph, operator, index, least=3, most=3))
        columns = width or of_all // (number * depth)
        if number * depth * columns != of_all:
            raise ConfigError(f"input {index} holds no {depth} × {columns} for {number} experts")
        bias = number * columns if operator.has_input(index + 1) else 0
        return Experts(
            f"{name}/{step}",
            tokens=tokens,
            chosen=chosen,
            experts=number,
            depth=depth,
            columns=columns,
            bias=bias,
        )

    first = product("up", 2, features)
    hidden = math.prod(input_shape(graph, operator, 4, least=3, most=3)) // (number * features)
    if first.columns not in (hidden, _FUSION * hidden):
        raise ConfigError(f"{first.columns} columns do not fit the {hidden} rows behind them")
    steps: list[Layer] = [Softmax(f"{name}/router", Tensor((tokens, number))), first]
    if operator.has_input(6):
        steps.append(product("gate", 6, features, hidden))
    if operator.has_input(6) or first.columns != hidden:
        gated = tokens * chosen * hidden
        steps.append(Pass(f"{name}/gated", Tensor((_FUSION * gated,)), results=gated))
    steps.append(product("down", 4, hidden, features))
    results = tokens * features
    mixed = Pass(f"{name}/mix", Tensor((chosen * results,)), results=results, steps=chosen)
    return (*steps, mixed)


def linear_attention(graph: Graph, operator: Operator, name: str) -> Phase:
    """A matrix of state for each head of keys, changed and then asked at every token.

    Products of one token: what the state holds for its key (the delta rules), key times value, and
    the state asked by every query that shares it.
    """
    batch, heads, asked, length, width, value_width = _linear_sizes(graph, operator)
    rule = _RULE.check("update_rule", operator.attributes.get("update_rule", "gated_delta"))
    count, state = batch * heads, batch * heads * width * value_width
    layers: list[Layer] = []
    if rule in ("delta", "gated_delta"):
        layers += [
            Product(f"{name}/recall", rows=1, depth=width, columns=value_width, count=count),
            Pass(
                f"{name}/error",
                Tensor((2 * count * value_width,)),
                results=count * value_width,
            ),
        ]
    layers += [
        Product(f"{name}/write", rows=width, depth=1, columns=value_width, count=count),
        Pass(
            f"{name}/state",
            Tensor((2 * state,)),
            results=state,
            steps=2 if rule in ("gated", "gated_delta") else 1,
        ),
        Product(f"{name}/read", rows=asked // heads, depth=width, columns=value_width, count=count),
    ]
    return Phase(tuple(layers), length)


def linear_attention_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """Of the result, and of the state that is handed on."""
    batch, heads, asked, length, width, value_width = _linear_sizes(graph, operator)
    window = integer(operator, "state_window", 0)
    state = (batch, heads, width, value_width)
    return (batch, length, asked * value_width), (window, *state) if window else state


def _linear_sizes(graph: Graph, operator: Operator) -> tuple[int, int, int, int, int, int]:
    """Items, states, heads that ask, tokens, and the widths of a key and of a value."""
    queries, heads = integer(operator, "q_num_heads", 0), integer(operator, "kv_num_heads", 0)
    batch, length, features = input_shape(graph, operator, 1, least=3, most=3)
    value_features = input_shape(graph, operator, 2, least=3, most=3)[2]
    asked = max(queries, heads)
    fits = min(queries, heads) > 0 and asked % min(queries, heads) == 0
    if not fits or features % heads or value_features % heads:
        raise ConfigError(
            f"{queries} heads of queries and {heads} of keys do not fit {features} features of "
            f"keys and {value_features} of values"
        )
    return batch, heads, asked, length, features // heads, value_features // heads


def causal_conv(graph: Graph, operator: Operator, name: str) -> Layers:
    """Each channel with a filter of its own, over places up to its own; an activation rides."""
    batch, *_ = shape = input_shape(graph, operator, 0, least=3)
    channels, *kernel = input_shape(graph, operator, 1, least=3)
    elements = math.prod(shape[1:])
    if elements % channels:
        raise ConfigError(f"a map of {shape} does not have {channels} channels")
    layer = Lowered(
        name,
        Tensor((elements,)),
        rows=elements // channels,
        depth=math.prod(kernel),
        columns=1,
        groups=channels,
        bias=channels if operator.has_input(2) else 0,
    )
    return (for_items(layer, batch),)


def causal_conv_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """Of the result; and of the places that the next step looks back to, if there is one axis."""
    shape = input_shape(graph, operator, 0, least=3)
    if integer(operator, "ndim", 1) != 1:
        return (shape,)
    taps = input_shape(graph, operator, 1, least=3)[-1]
    length = (taps - 1) * integer(operator, "dilation", 1)
    window = integer(operator, "state_window", 0)
    last = integer(operator, "channels_last", 0)
    state = (shape[0], length, *shape[2:]) if last else (*shape[:2], length)
    return shape, (window, *state) if window else state
