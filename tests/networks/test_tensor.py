from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import Linear, Tensor, concat
from prema_gym.networks.tensor import Producer


@pytest.mark.small
def test_shapes_follow_through_the_free_operations() -> None:
    one = Linear("one", Tensor((4,)), out_features=2).output
    two = Linear("two", Tensor((4,)), out_features=3).output
    joined = concat(one, two, one)
    assert joined.shape == (7,)
    assert joined.producers == (Producer("one", (2,)), Producer("two", (3,)), Producer("one", (2,)))
    assert joined.over_time(5).shape == (5, 7)
    assert joined.over_time(5).flatten().shape == (35,)
    assert joined.over_time(5).flatten().producers == joined.producers


def test_concat_joins_channels_of_maps_of_one_size() -> None:
    assert concat(Tensor((3, 5, 7)), Tensor((2, 5, 7))).shape == (5, 5, 7)
    with pytest.raises(ConfigError, match=r"first axis, got \(3, 5, 7\), \(3, 5, 6\)"):
        concat(Tensor((3, 5, 7)), Tensor((3, 5, 6)))
    with pytest.raises(ConfigError, match="first axis"):
        concat(Tensor(()), Tensor(()))
    with pytest.raises(ConfigError, match="at least one tensor"):
        concat()


def test_elements_from_outside_have_no_producer() -> None:
    inside = Tensor.before("cell", (8,))
    assert concat(Tensor((3,)), inside).producers == (Producer("cell", (8,)),)


def test_a_token_is_one_element_without_features() -> None:
    assert Tensor(()).elements == 1
    with pytest.raises(ConfigError, match="embed it first"):
        _ = Tensor(()).features


def test_only_vectors_repeat_over_time() -> None:
    with pytest.raises(ConfigError, match=r"got shape \(2, 3\)"):
        Tensor((2, 3)).over_time(4)


@pytest.mark.parametrize("shape", [(0,), (3, -1), (2.0,), [3, 4], 5])
def test_bad_shapes_are_refused(shape: object) -> None:
    with pytest.raises(ConfigError, match=r"^tensor: "):
        Tensor(shape)  # type: ignore[arg-type]
