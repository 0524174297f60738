"""What of a gradient run's state can be gone on with, and what is said where it cannot."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

from prema_gym.agents.training.gradient.state import unpack
from prema_gym.errors import ConfigError


def test_a_state_of_an_older_version_is_not_called_damaged_alone() -> None:
    old = pickle.dumps({"episodes": {"copies": None}})
    with pytest.raises(ConfigError, match=r"of another version of prema-gym .* start anew"):
        unpack(old, Path("last.state"))


def test_bytes_that_mean_nothing_are_damaged() -> None:
    with pytest.raises(ConfigError, match=r"last\.state is damaged \(KeyError"):
        unpack(pickle.dumps({"episodes": {}}), Path("last.state"))
