"""Published switch latencies by name."""

from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.hardware import NPUConfig
from prema_gym.hardware.switching import SWITCH_LATENCIES


@pytest.mark.small
@pytest.mark.parametrize("name", SWITCH_LATENCIES)
def test_a_name_stands_for_its_number(name: str) -> None:
    config = NPUConfig(switch_latency_us=name)  # type: ignore[arg-type]
    assert config.switch_latency_us == SWITCH_LATENCIES[name].latency_us
    assert NPUConfig.from_dict(config.to_dict()) == config


@pytest.mark.small
def test_cycles_of_a_latency() -> None:
    assert NPUConfig().switch_cycles == 0
    assert NPUConfig(switch_latency_us=32).switch_cycles == 32 * 700


@pytest.mark.small
def test_what_is_no_latency() -> None:
    with pytest.raises(UnknownNameError, match="unknown switch latency 'xdna'"):
        NPUConfig(switch_latency_us="xdna")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="switch_latency_us must be a number of µs"):
        NPUConfig(switch_latency_us=-1)
