from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.envs.datasets import record_minari
from prema_gym.errors import ConfigError, MissingExtraError

SMALL: dict[str, Any] = {"episodes": 3, "seed": 5, "slots": 4, "scenario": "light"}


@pytest.fixture
def minari(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    minari = pytest.importorskip("minari", reason="data sets need minari (extra clients)")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return minari


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")  # of Minari: who wrote it, what it scores
def test_a_data_set_plays_back(minari: Any) -> None:
    """Its own environment, seeds and actions give every table, mask and reward again."""
    policy = baselines.make("dynamic-prema")
    record_minari("prema/test-v0", policy, **SMALL)
    loaded = minari.load_dataset("prema/test-v0")
    assert loaded.total_episodes == 3
    env = loaded.recover_environment()
    assert env.unwrapped.settings.slots == 4
    for number, episode in enumerate(loaded.iterate_episodes()):
        observation, info = env.reset(seed=5 + number)
        assert len(episode.actions) == len(episode.observations) - 1
        for step, action in enumerate(episode.actions):
            np.testing.assert_array_equal(observation, episode.observations[step])
            mask = info["action_mask"]
            np.testing.assert_array_equal(mask, episode.infos["action_mask"][step])
            assert action == policy.predict(observation, action_masks=mask)[0]
            observation, reward, terminated, truncated, info = env.step(int(action))
            assert reward == pytest.approx(episode.rewards[step])
            assert terminated == episode.terminations[step]
            assert truncated == episode.truncations[step]
        np.testing.assert_array_equal(observation, episode.observations[-1])
        assert terminated or truncated


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_recorded_is_said(minari: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = baselines.make("np-fcfs")
    with pytest.raises(ConfigError, match="episodes must be a whole number of at least 1, got 0"):
        record_minari("prema/test-v0", policy, episodes=0)
    with pytest.raises(ConfigError, match="observation follows from the policy"):
        record_minari("prema/test-v0", policy, observation="features")
    record_minari("prema/test-v0", policy, **{**SMALL, "episodes": 1})
    with pytest.raises(ConfigError, match="there is a data set 'prema/test-v0' already"):
        record_minari("prema/test-v0", policy)
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'prema-gym\[clients\]'"):
        record_minari("prema/other-v0", policy)
