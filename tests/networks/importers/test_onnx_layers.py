"""Products of activations, and layers for a fixed batch."""

from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import Conv2d, Gemm, Tensor
from prema_gym.networks.importers.naming import UniqueNames
from prema_gym.networks.importers.onnx_graph.layers import Product, Repeated


def test_a_product_has_its_own_operands_for_each_item() -> None:
    product = Product("scores", rows=5, depth=6, columns=7, count=4)
    assert product.work(3) == (Gemm("scores", 5, 6, 7, 12),)
    assert (product.macs, product.weights) == (4 * 5 * 6 * 7, 0)
    assert product.output_shape == (4, 5, 7)
    assert [tensor.shape for tensor in product.inputs] == [(4, 5, 6), (4, 6, 7)]


def test_a_repeated_layer_is_the_layer_at_a_larger_batch() -> None:
    conv = Conv2d("conv", Tensor((4, 8, 8)), out_channels=4, kernel=3, groups=4)
    four = Repeated("conv", conv, 4)
    assert four.work(2) == conv.work(8)
    assert (four.macs, four.weights) == (4 * conv.macs, conv.weights)
    assert four.output_shape == (4, *conv.output_shape)
    assert four.inputs == conv.inputs


def test_sizes_must_be_positive() -> None:
    with pytest.raises(
        ConfigError, match="Product 'p': depth must be a whole number of at least 1, got 0"
    ):
        Product("p", rows=1, depth=0, columns=1)
    with pytest.raises(
        ConfigError, match="Repeated 'p': items must be a whole number of at least 1, got 0"
    ):
        Repeated("p", Product("p", rows=1, depth=1, columns=1), 0)
    with pytest.raises(ConfigError, match="batch must be a whole number of at least 1, got 0"):
        Product("p", rows=1, depth=1, columns=1).work(0)


def test_names_are_given_once() -> None:
    names = UniqueNames()
    given = [names.give(name) for name in ("a", "a", "b", "a#2", "a")]
    assert given == ["a", "a#2", "b", "a#2#2", "a#3"]
