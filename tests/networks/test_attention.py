from __future__ import annotations

from typing import Any

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.networks import Attention, Gemm, SelfAttention, Tensor, VectorWork


def attention(kind: Any = "dot", length: int = 7) -> Attention:
    """Width 4, values of 6 features."""
    return Attention("a", Tensor((4,)), Tensor((length, 4)), Tensor((length, 6)), kind=kind)


@pytest.mark.small
def test_dot_attention_by_hand() -> None:
    layer = attention("dot")
    assert layer.work(3) == (
        Gemm("a/scores", 1, 4, 7, count=3),
        VectorWork("a/softmax", 21, 5, 21),
        Gemm("a/context", 1, 7, 6, count=3),
    )
    assert (layer.output_shape, layer.macs, layer.weights) == ((6,), 7 * 4 + 7 * 6, 0)


@pytest.mark.small
def test_additive_attention_by_hand() -> None:
    layer = attention("additive")
    assert layer.work(3) == (
        VectorWork("a/energies", 84, 2, 84 + 12),
        Gemm("a/scores", 21, 4, 1),
        VectorWork("a/softmax", 21, 5, 21),
        Gemm("a/context", 1, 7, 6, count=3),
    )
    assert (layer.output_shape, layer.macs, layer.weights) == ((6,), 7 * 4 + 7 * 6, 4)


@pytest.mark.small
def test_self_attention_by_hand() -> None:
    layer = SelfAttention("s", Tensor((5, 8)), heads=2)
    assert layer.work(3) == (
        Gemm("s/qkv", 15, 8, 24),
        Gemm("s/scores", 5, 4, 5, count=6),
        VectorWork("s/softmax", 150, 5, 150),
        Gemm("s/context", 5, 5, 4, count=6),
        Gemm("s/output", 15, 8, 8),
    )
    # 4 · length · width² for the projections, 2 · length² · width for scores and context
    assert layer.macs == 4 * 5 * 64 + 2 * 25 * 8
    assert layer.weights == 4 * (64 + 8)
    assert layer.output_shape == (5, 8)


def test_heads_share_the_work_and_add_none() -> None:
    macs = {SelfAttention("s", Tensor((5, 8)), heads=heads).macs for heads in (1, 2, 4, 8)}
    assert len(macs) == 1


@pytest.mark.parametrize("kind", ["dot", "additive"])
def test_attention_grows_linearly_with_the_sequence(kind: str) -> None:
    one = attention(kind, 1).macs
    assert [attention(kind, length).macs for length in (2, 10)] == [2 * one, 10 * one]


@pytest.mark.parametrize(
    ("query", "keys", "values"),
    [
        ((5,), (7, 4), (7, 6)),  # widths differ
        ((4,), (7, 4), (8, 6)),  # lengths differ
        ((7, 4), (7, 4), (7, 6)),  # a whole sequence of queries
        ((4,), (4,), (7, 6)),  # no sequence of keys
    ],
)
def test_shapes_that_do_not_fit_are_named(query: Any, keys: Any, values: Any) -> None:
    with pytest.raises(ConfigError, match=r"^Attention 'a': inputs must be query \(width,\)"):
        Attention("a", Tensor(query), Tensor(keys), Tensor(values), kind="dot")


def test_bad_options_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'additive'"):
        attention("aditive")
    with pytest.raises(ConfigError, match="heads must divide the 8 features, got 3"):
        SelfAttention("s", Tensor((5, 8)), heads=3)
    with pytest.raises(ConfigError, match=r"input must be \(length, features\)"):
        SelfAttention("s", Tensor((8,)), heads=2)
