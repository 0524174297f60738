from __future__ import annotations

import pickle
from typing import Any

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import (
    Conv2d,
    Elementwise,
    LayerList,
    Linear,
    LSTMCell,
    Network,
    Phase,
    Tensor,
    check_wiring,
)


def chain() -> list[Linear]:
    first = Linear("first", Tensor((4,)), out_features=3)
    return [first, Linear("second", first.output, out_features=2)]


def decoder_build(input_length: int) -> tuple[Phase, ...]:
    first, second = chain()
    return (Phase((first,), repeat=input_length), Phase((second,), repeat="output"))


def translator(**fields: Any) -> Network:
    given: dict[str, Any] = {
        "name": "tiny",
        "title": "Tiny",
        "source": "a test",
        "domain": "translation",
        "build": decoder_build,
        "input_lengths": (1, 9),
    }
    return Network(**(given | fields))


@pytest.mark.small
def test_macs_count_each_phase_as_often_as_it_runs() -> None:
    network = translator()
    assert network.macs(input_length=5, output_length=7) == 5 * 12 + 7 * 6
    assert network.weights == 15 + 8  # running again adds no parameters
    assert network.is_recurrent
    assert network.has_output_steps


@pytest.mark.small
def test_steps_of_a_phase() -> None:
    fixed, per_output = decoder_build(4)
    assert [fixed.steps(9), per_output.steps(9)] == [4, 9]


@pytest.mark.small
def test_from_layers_runs_them_once_whatever_the_lengths() -> None:
    network = Network.from_layers("mine", chain(), source="a test")
    assert network.macs(input_length=5, output_length=7) == 12 + 6
    assert network.phases(3) == (Phase(tuple(chain())),)
    assert not network.is_recurrent
    assert not network.has_output_steps
    assert (network.title, network.domain) == ("mine", "custom")


def test_networks_survive_pickling_and_hash_alike() -> None:
    for network in (translator(), Network.from_layers("mine", chain(), source="a test")):
        copy = pickle.loads(pickle.dumps(network))
        assert copy == network
        assert hash(copy) == hash(network)
        assert copy.phases(4) == network.phases(4)


def test_layer_list_keeps_the_order() -> None:
    layers = LayerList()
    x = layers.add(Linear("a", Tensor((4,)), out_features=3))
    x = layers.add(Linear("b", x, out_features=2))
    assert x.shape == (2,)
    assert [layer.name for layer in layers.phase(6).layers] == ["a", "b"]
    assert layers.phase(6).repeat == 6


def test_an_empty_network_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^phase: layers must be at least one, got none"):
        Network.from_layers("empty", [], source="a test")


@pytest.mark.parametrize("repeat", [0, -1, 2.0, "input"])
def test_a_bad_repeat_is_refused(repeat: Any) -> None:
    with pytest.raises(ConfigError, match=r"^phase: repeat"):
        Phase(tuple(chain()), repeat=repeat)


@pytest.mark.parametrize("length", [0, -3, 2.5, True])
def test_bad_lengths_are_refused(length: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"^network 'tiny': input_length must be a whole number of at least 1"
    ):
        translator().phases(length)
    with pytest.raises(
        ConfigError, match=r"^network 'tiny': output_length must be a whole number of at least 1"
    ):
        translator().macs(output_length=length)


def test_bad_fields_are_named() -> None:
    with pytest.raises(ConfigError, match=r"^network 'tiny': source must be a non-empty text"):
        translator(source="")
    with pytest.raises(
        ConfigError,
        match=r"^network 'tiny': input_lengths must be \(shortest, longest\), .*got \(5, 4\)",
    ):
        translator(input_lengths=(5, 4))


def test_wiring_refuses_two_layers_of_one_name() -> None:
    first, _ = chain()
    with pytest.raises(ConfigError, match="two layers are named 'first'"):
        Network.from_layers("twice", [first, first], source="a test")


def test_wiring_refuses_a_missing_layer() -> None:
    _, second = chain()
    with pytest.raises(ConfigError, match=r"^Linear 'second': reads 'first', which is no layer"):
        Network.from_layers("half", [second], source="a test")


def test_wiring_refuses_a_layer_replaced_by_one_of_another_shape() -> None:
    _, second = chain()
    other = Linear("first", Tensor((4,)), out_features=5)
    with pytest.raises(ConfigError, match=r"expects \(3,\) from 'first', which gives \(5,\)"):
        Network.from_layers("swapped", [other, second], source="a test")


def test_wiring_accepts_recurrence_and_refuses_a_broken_promise() -> None:
    def loop(width: int) -> Phase:
        cell = LSTMCell("cell", Tensor.before("out", (3,)), hidden=4)
        return Phase((cell, Linear("out", cell.output, out_features=width)), repeat="output")

    check_wiring([loop(3)])
    with pytest.raises(ConfigError, match=r"expects \(3,\) from 'out', which gives \(2,\)"):
        check_wiring([loop(2)])


def test_tables_of_sizes_need_not_fit_together() -> None:
    """Layer tables list padded sizes and no pooling: bare tensors are taken as they are."""
    layers = [
        Conv2d("conv1", Tensor((3, 227, 227)), out_channels=96, kernel=11, stride=4),
        Conv2d("conv2", Tensor((96, 31, 31)), out_channels=256, kernel=5),
    ]
    network = Network.from_layers("table", layers, source="a test")
    assert network.macs() == 55 * 55 * 96 * 363 + 27 * 27 * 256 * 2400


def test_a_residual_block_is_wired() -> None:
    image = Tensor((8, 4, 4))
    one = Conv2d("one", image, out_channels=8, kernel=3, padding=1)
    two = Conv2d("two", one.output, out_channels=8, kernel=3, padding=1)
    add = Elementwise("add", (two.output, one.output))
    check_wiring([Phase((one, two, add))])
    with pytest.raises(ConfigError, match="reads 'two', which is no layer"):
        check_wiring([Phase((one, add))])
