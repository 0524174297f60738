"""What do the transformers of the zoo have in common? Attention and what stands around it.

Each function adds layers in order of execution and returns their result. The activation of a hidden
layer drains with it, so none is seen here.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.networks.attention import GroupedAttention
from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList
from prema_gym.networks.pointwise import (
    Elementwise,
    Normalization,
    NormalizationKind,
    Rotary,
)
from prema_gym.networks.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Keys and values that attention keeps: places at its first step, and some of its own."""

    past: int = 0
    ahead: int = 0


@dataclass(frozen=True, kw_only=True)
class BlockShape:
    """The sizes of one kind of transformer block.

    Attributes:
        heads: Heads of the queries.
        key_heads: Heads of keys and values.
        hidden: Width of the feed-forward layer.
        width: Features of one head.
        norm: Which normalisation.
        bias: Whether products have biases.
        key_bias: Whether that of the keys does.
        is_gated: Whether the feed-forward layer is two, multiplied (SwiGLU).
        is_rotary: Whether queries and keys are turned by their places.
    """

    heads: int
    key_heads: int
    hidden: int
    width: int = 64
    norm: NormalizationKind = "layer"
    bias: bool = True
    key_bias: bool = True
    is_gated: bool = False
    is_rotary: bool = False


def norm(net: LayerList, x: Tensor, name: str, shape: BlockShape) -> Tensor:
    """The normalisation of such blocks."""
    return net.add(Normalization(name, x, kind=shape.norm))


def learned_positions(net: LayerList, x: Tensor, name: str, table: int) -> Tensor:
    """A learned vector for each place is added; ``table`` is how many there are."""
    length, features = x.shape
    places = net.add(Embedding(name, Tensor((length,)), vocabulary=table, features=features))
    return net.add(Elementwise(f"{name}/add", (x, places)))


def keys_and_values(
    net: LayerList, x: Tensor, name: str, shape: BlockShape
) -> tuple[Tensor, Tensor]:
    """Both, projected, the keys turned if they are."""
    features = shape.key_heads * shape.width
    keys = net.add(
        Linear(f"{name}/keys", x, out_features=features, bias=shape.bias and shape.key_bias)
    )
    if shape.is_rotary:
        keys = net.add(Rotary(f"{name}/keys-turned", keys))
    return keys, net.add(Linear(f"{name}/values", x, out_features=features, bias=shape.bias))


def attention(
    net: LayerList,
    x: Tensor,
    name: str,
    shape: BlockShape,
    *,
    over: tuple[Tensor, Tensor] | None = None,
    cache: Cache | None = None,
) -> Tensor:
    """Queries of ``x`` over its own keys and values, or over others'; then the output product."""
    query = net.add(
        Linear(f"{name}/queries", x, out_features=shape.heads * shape.width, bias=shape.bias)
    )
    if shape.is_rotary:
        query = net.add(Rotary(f"{name}/queries-turned", query))
    keys, values = keys_and_values(net, x, name, shape) if over is None else over
    y = net.add(
        GroupedAttention(
            name,
            query,
            keys,
            values,
            heads=shape.heads,
            key_heads=shape.key_heads,
            keeps=cache is not None,
            past=cache.past if cache else 0,
            ahead=cache.ahead if cache else 0,
        )
    )
    return net.add(Linear(f"{name}/output", y, out_features=x.features, bias=shape.bias))


def feed_forward(net: LayerList, x: Tensor, name: str, shape: BlockShape) -> Tensor:
    """Widen and narrow again."""
    y = net.add(Linear(f"{name}/up", x, out_features=shape.hidden, bias=shape.bias))
    if shape.is_gated:
        gate = net.add(Linear(f"{name}/gate", x, out_features=shape.hidden, bias=shape.bias))
        y = net.add(Elementwise(f"{name}/gated", (gate, y)))
    return net.add(Linear(f"{name}/down", y, out_features=x.features, bias=shape.bias))


def block(
    net: LayerList, x: Tensor, name: str, shape: BlockShape, *, cache: Cache | None = None
) -> Tensor:
    """Attention and feed-forward, each behind a normalisation and added to what it read."""
    y = norm(net, x, f"{name}/norm1", shape)
    y = attention(net, y, f"{name}/attention", shape, cache=cache)
    x = net.add(Elementwise(f"{name}/add1", (x, y)))
    y = norm(net, x, f"{name}/norm2", shape)
    y = feed_forward(net, y, f"{name}/mlp", shape)
    return net.add(Elementwise(f"{name}/add2", (x, y)))
