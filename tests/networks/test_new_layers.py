"""Layers of recommenders, mobile networks and decoders, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import (
    ChannelScale,
    Gemm,
    GroupedAttention,
    Linear,
    Normalization,
    PairwiseDot,
    Rotary,
    Tensor,
    UpConv2d,
    VectorWork,
)


def grouped(**changes: Any) -> GroupedAttention:
    given: dict[str, Any] = {"heads": 4, "key_heads": 2, "keeps": True, "past": 10, "ahead": 3}
    query, keys = Tensor((2, 32)), Tensor((2, 16))
    return GroupedAttention("a", query, keys, keys, **{**given, **changes})


def test_grouped_attention_by_hand() -> None:
    """Two heads share keys: their rows stream through together; 10 + 3 + 2 places are read."""
    assert grouped().work(3) == (
        Gemm("a/scores", 4, 8, 15, count=6),
        VectorWork("a/softmax", 3 * 4 * 2 * 15, 5, 3 * 4 * 2 * 15),
        Gemm("a/context", 4, 15, 8, count=6),
    )
    assert grouped().output_shape == (2, 32)
    assert grouped().cache_elements(5) == (10 + 5 * 2) * (16 + 16)
    assert grouped(keeps=False, past=0, ahead=0).cache_elements(5) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keeps": False}, "past and ahead need keeps=True"),
        ({"key_heads": 3}, "key_heads must divide heads"),
        ({"heads": 5, "key_heads": 1}, "heads the 32 features"),
        ({"key_heads": 4}, "keys must have 32 features, 8 for each of 4 heads, got 16"),
    ],
)
def test_grouped_attention_refuses_what_does_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        grouped(**changes)


def test_other_layers_by_hand() -> None:
    image = Tensor((8, 4, 6))
    assert ChannelScale("s", image, Tensor((8, 1, 1))).work(2) == (
        VectorWork("s", 2 * 192, 1, 2 * 192 + 2 * 8),
    )
    assert Rotary("r", Tensor((5, 8))).work(2) == (VectorWork("r", 80, 2, 80),)
    up = UpConv2d("u", image, out_channels=3, scale=2)
    assert up.work(2) == (Gemm("u", 48, 8, 12),)
    assert (up.output_shape, up.weights) == ((3, 8, 12), 8 * 12 + 3)
    pairs = PairwiseDot("p", (Tensor((16,)),) * 5)
    assert pairs.work(2) == (Gemm("p", 5, 16, 5, count=2),)
    assert pairs.output_shape == (10,)
    norm = Normalization("n", Tensor((5, 8)), kind="rms")
    assert (norm.weights, norm.work(1)) == (8, (VectorWork("n", 40, 3, 48),))
    assert Linear("l", Tensor((8,)), out_features=4, bias=False, tied=True).weights == 0


def test_free_operations_on_tensors() -> None:
    image = Linear("one", Tensor((4,)), out_features=2).output
    assert Tensor((8, 4, 6), image.producers).sequence() == Tensor((24, 8), image.producers)
    assert Tensor((8, 4, 6), image.producers).crop(2, 3) == Tensor((8, 2, 3), image.producers)
    assert Tensor((5, 8), image.producers).place() == Tensor((1, 8), image.producers)
    with pytest.raises(ConfigError, match="only a map is a sequence"):
        image.sequence()
    with pytest.raises(ConfigError, match="only a sequence has places"):
        image.place()
    with pytest.raises(ConfigError, match="5 × 3 pixels"):
        Tensor((8, 4, 6)).crop(5, 3)


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least two of one length"):
        PairwiseDot("p", (Tensor((3,)), Tensor((4,))))
    with pytest.raises(ConfigError, match=r"\(channels, 1, 1\)"):
        ChannelScale("s", Tensor((8, 4, 6)), Tensor((7, 1, 1)))
    with pytest.raises(ConfigError, match=r"\(length, features\)"):
        Rotary("r", Tensor((8,)))
