from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import Embedding, Gemm, Linear, Tensor, VectorWork


@pytest.mark.small
def test_linear_on_a_vector_and_along_a_sequence() -> None:
    vector = Linear("fc", Tensor((6,)), out_features=4)
    assert vector.work(3) == (Gemm("fc", 3, 6, 4),)
    assert (vector.output_shape, vector.macs, vector.weights) == ((4,), 24, 28)
    sequence = Linear("fc", Tensor((5, 6)), out_features=4, bias=False)
    assert sequence.work(3) == (Gemm("fc", 15, 6, 4),)
    assert (sequence.output_shape, sequence.macs, sequence.weights) == ((5, 4), 120, 24)


@pytest.mark.small
def test_embedding_copies_only_the_rows_it_needs() -> None:
    token = Embedding("words", Tensor(()), vocabulary=1000, features=8)
    assert token.work(4) == (VectorWork("words", 32, 1, 32),)
    assert (token.output_shape, token.macs, token.weights) == ((8,), 0, 8000)
    tokens = Embedding("words", Tensor((3,)), vocabulary=1000, features=8)
    assert tokens.work(4) == (VectorWork("words", 96, 1, 96),)
    assert tokens.output_shape == (3, 8)


def test_linear_refuses_a_map() -> None:
    with pytest.raises(ConfigError, match=r"^Linear 'fc': .*\(3, 4, 4\); flatten a map first$"):
        Linear("fc", Tensor((3, 4, 4)), out_features=2)


def test_embedding_refuses_features() -> None:
    with pytest.raises(ConfigError, match="one token"):
        Embedding("words", Tensor((3, 4)), vocabulary=10, features=2)


def test_an_input_must_be_a_tensor() -> None:
    with pytest.raises(
        ConfigError, match=r"an input must be a Tensor \(wrap a shape .*\), got \(6,\)"
    ):
        Linear("fc", (6,), out_features=4)  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [0, -1, 1.5])
def test_batch_must_be_a_positive_integer(batch: object) -> None:
    with pytest.raises(
        ConfigError, match=r"^Linear 'fc': batch must be a whole number of at least 1"
    ):
        Linear("fc", Tensor((6,)), out_features=4).work(batch)  # type: ignore[arg-type]


def test_bad_sizes_name_layer_and_field() -> None:
    with pytest.raises(
        ConfigError, match=r"^Linear 'fc': out_features must be a whole number of at least 1"
    ):
        Linear("fc", Tensor((6,)), out_features=0)
    with pytest.raises(
        ConfigError, match=r"^Embedding 'e': vocabulary must be a whole number of at least 1"
    ):
        Embedding("e", Tensor(()), vocabulary=0, features=2)
    with pytest.raises(
        ConfigError, match=r"^Embedding 'e': features must be a whole number of at least 1"
    ):
        Embedding("e", Tensor(()), vocabulary=2, features=0)
    with pytest.raises(ConfigError, match=r"^Linear '': name must be a non-empty text"):
        Linear("", Tensor((6,)), out_features=4)
