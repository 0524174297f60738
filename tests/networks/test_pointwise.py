from __future__ import annotations

from typing import Any

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.networks import Elementwise, Maxout, Normalization, Softmax, Tensor, VectorWork

MAP = Tensor((8, 3, 5))  # 120 elements


@pytest.mark.small
def test_a_residual_sum_reads_both_operands() -> None:
    layer = Elementwise("add", (MAP, MAP))
    assert layer.work(2) == (VectorWork("add", 240, 1, 480),)
    assert (layer.output_shape, layer.macs, layer.weights) == ((8, 3, 5), 0, 0)
    assert Elementwise("add", (MAP, MAP, MAP)).work(1) == (VectorWork("add", 120, 2, 360),)


def test_a_lone_activation_is_one_op() -> None:
    assert Elementwise("tanh", (MAP,)).work(1) == (VectorWork("tanh", 120, 1, 120),)


@pytest.mark.parametrize("operands", [(), MAP, (MAP, (8, 3, 5))])
def test_elementwise_needs_operands(operands: Any) -> None:
    with pytest.raises(ConfigError, match=r"^Elementwise 'add': operands must be a non-empty list"):
        Elementwise("add", operands)


def test_operands_may_be_a_list() -> None:
    assert Elementwise("add", [MAP, MAP]) == Elementwise("add", (MAP, MAP))  # type: ignore[arg-type]


def test_elementwise_refuses_different_shapes() -> None:
    with pytest.raises(ConfigError, match=r"one shape, got \(8, 3, 5\), \(8, 5, 3\)"):
        Elementwise("add", (MAP, Tensor((8, 5, 3))))


@pytest.mark.small
@pytest.mark.parametrize(
    ("kind", "ops", "weights"), [("lrn", 8, 0), ("batch", 1, 16), ("layer", 4, 10)]
)
def test_normalisations_by_hand(kind: Any, ops: int, weights: int) -> None:
    layer = Normalization("norm", MAP, kind=kind)
    assert layer.weights == weights
    assert layer.output_shape == MAP.shape
    assert layer.work(2) == (VectorWork("norm", 240, ops, 240 + weights),)


def test_the_window_of_local_response_costs_an_op_per_channel() -> None:
    work = Normalization("norm", MAP, kind="lrn", window=3).work(1)
    assert work == (VectorWork("norm", 120, 6, 120),)


def test_an_unknown_normalisation_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'layer'"):
        Normalization("norm", MAP, kind="layr")  # type: ignore[arg-type]


@pytest.mark.small
def test_softmax_and_maxout_by_hand() -> None:
    assert Softmax("prob", Tensor((10,))).work(3) == (VectorWork("prob", 30, 5, 30),)
    maxout = Maxout("max", Tensor((12,)), pieces=3)
    assert maxout.output_shape == (4,)
    assert maxout.work(2) == (VectorWork("max", 8, 2, 24),)


def test_bad_inputs_are_refused() -> None:
    with pytest.raises(ConfigError, match="has no softmax"):
        Softmax("prob", Tensor(()))
    with pytest.raises(ConfigError, match="cannot be normalised"):
        Normalization("norm", Tensor(()), kind="batch")
    with pytest.raises(ConfigError, match="window must be a whole number of at least 1"):
        Normalization("norm", MAP, kind="lrn", window=0)
    with pytest.raises(ConfigError, match=r"a vector that 2 pieces divide, got \(5,\)"):
        Maxout("max", Tensor((5,)))
    with pytest.raises(ConfigError, match="pieces must be a whole number of at least 2"):
        Maxout("max", Tensor((5,)), pieces=1)
