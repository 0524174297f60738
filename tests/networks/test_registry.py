"""A network of one's own gets a name, once."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from prema_gym.errors import ConfigError, MissingExtraError, PremaError, UnknownNameError
from prema_gym.networks import (
    Conv2d,
    Linear,
    LSTMCell,
    Network,
    Phase,
    Tensor,
    get,
    names,
    register,
)

pytestmark = pytest.mark.usefixtures("own_networks")


def tiny(name: str = "tiny", features: int = 10) -> Network:
    conv = Conv2d("conv", Tensor((3, 8, 8)), out_channels=4, kernel=3)
    layers = [conv, Linear("fc", conv.output.flatten(), out_features=features)]
    return Network.from_layers(name, layers, source="a test")


def build_captioner(input_length: int) -> tuple[Phase, ...]:
    image = Linear("image", Tensor((64,)), out_features=32)
    return Phase((image,)), Phase((LSTMCell("word", image.output, hidden=32),), "output")


CAPTIONER = Network(
    name="captioner", title="captioner", source="a test", domain="custom", build=build_captioner
)


@pytest.mark.small
def test_a_registered_network_is_found_and_comes_last() -> None:
    zoo = names()
    register(tiny())
    assert names() == (*zoo, "tiny")
    assert get("tiny") == tiny()
    with pytest.raises(UnknownNameError, match="did you mean 'tiny'"):
        get("tinny")


@pytest.mark.small
def test_a_name_means_one_network() -> None:
    first = tiny()
    register(first)
    register(first)
    register(tiny())  # equal: as when a notebook's cell runs again
    assert get("tiny") is first
    with pytest.raises(ConfigError, match="network 'tiny': the name is taken"):
        register(tiny(features=11))
    with pytest.raises(ConfigError, match="network 'alexnet': the name is taken"):
        register(tiny("alexnet"))
    assert get("tiny") is first
    register(get("alexnet"))


@pytest.mark.parametrize("name", ["a b", "a,b", "-a", "netz/1", "größe", "a\n", " "])
def test_names_that_no_command_line_could_hold_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a registered name is letters, digits") as caught:
        register(tiny(name))
    assert "\n" not in str(caught.value)
    assert name not in names()


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ConfigError, match="register takes a Network, got 'alexnet'"):
        register("alexnet")  # type: ignore[arg-type]


def test_layers_that_do_not_follow_are_refused() -> None:
    layers = (Linear("fc", Tensor.before("absent", (4,)), out_features=2),)
    broken = replace(CAPTIONER, name="broken", build=lambda input_length: (Phase(layers),))
    with pytest.raises(ConfigError, match=r"network 'broken': .*reads 'absent', which is no layer"):
        register(broken)
    assert "broken" not in names()


def test_output_steps_need_input_lengths() -> None:
    with pytest.raises(ConfigError, match=r"'captioner': has output steps.*\(1, 1\)"):
        register(CAPTIONER)
    register(replace(CAPTIONER, input_lengths=(1, 1)))
    assert get("captioner").has_output_steps


def test_an_unknown_network_is_told_how_to_be_known() -> None:
    with pytest.raises(UnknownNameError, match=r"networks\.register.*in every process$") as caught:
        get("mine")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        UnknownNameError("network", "mine", ("a", "b"), "a file", note="register it"),
        MissingExtraError("training", "torch", "train"),
        ConfigError("no"),
    ],
)
def test_errors_cross_to_another_process(error: PremaError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
