"""What others ask of a vector environment: options that hold, resets by mask, attributes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from prema_gym.envs import PremaNPUVectorEnv
from prema_gym.envs.wrappers import log_scale, with_mask
from prema_gym.errors import ConfigError
from prema_gym.workloads import TaskSpec
from tests.envs.helpers import SETTINGS, assert_same, random_legal, single, tasks, vector


def counts_of(envs: PremaNPUVectorEnv, steps: int) -> list[int]:
    """How many tasks each episode had that ended, in the order of their ends."""
    rng, found = np.random.default_rng(0), []
    for _ in range(steps):
        _, _, terminated, truncated, info = envs.step(random_legal(envs.action_masks(), rng))
        if (terminated | truncated).any():
            ended = info.get("final_info", info)["tasks"]["isolated_cycles"]
            found += (ended[terminated | truncated] > 0).sum(axis=1).tolist()
    return found


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_options_hold_until_the_next_reset(mode: AutoresetMode) -> None:
    envs = vector(3, autoreset_mode=mode)
    options = {"num_tasks": 3, "window_ms": 0.0}
    twin = SyncVectorEnv([single] * 3)
    assert_same(envs.reset(seed=0, options=options), twin.reset(seed=0, options=options))
    counts = counts_of(envs, 400)
    assert len(counts) > 6, "each has ended more than once"
    assert set(counts) == {3}
    clone = vector(3, autoreset_mode=mode)
    clone.set_state(envs.get_state())
    assert set(counts_of(clone, 300)) == {3}, "a state holds them too"
    assert set(counts_of(pickle.loads(pickle.dumps(envs)), 300)) == {3}
    envs.set_options({"num_tasks": 6})
    counts = counts_of(envs, 600)
    assert counts[-3:] == [6, 6, 6], "those that start later"
    assert envs.get_attr("options")[1] == {"num_tasks": 6}
    envs.set_options(None)
    counts = counts_of(envs, 600)
    assert counts[-3:] == [4, 4, 4]
    envs.reset(options=options)
    assert len(envs.reset()[0]) == 3
    assert set(counts_of(envs, 300)) == {4}, "an explicit reset starts from the settings"
    with pytest.raises(ConfigError, match="num_tasks"):
        envs.set_options({"num_tasks": 0})


def test_nobody_is_reset_where_that_is_disabled() -> None:
    envs = vector(4, autoreset_mode="Disabled", max_decisions=5)
    assert envs.autoreset_mode is AutoresetMode.DISABLED is envs.metadata["autoreset_mode"]
    twin = SyncVectorEnv(
        [lambda: single(max_decisions=5)] * 4, autoreset_mode=AutoresetMode.DISABLED
    )
    assert_same(envs.reset(seed=0), twin.reset(seed=0))
    rng = np.random.default_rng(0)
    for _ in range(5):
        actions = random_legal(envs.action_masks(), rng)
        assert_same(envs.step(actions)[:4], twin.step(actions)[:4])
    last, reward, terminated, truncated, info = envs.step(np.zeros(4, np.int64))
    assert (terminated | truncated).all()
    assert not reward.any(), "a step after the end changes nothing"
    assert "episode_metrics" not in info
    mask = np.array([True, False, True, False])
    options = {"reset_mask": mask}
    observations, info = envs.reset(seed=[7, 8, 9, 10], options=options)
    assert options == {"reset_mask": mask}, "left as it was given"
    expected, _ = twin.reset(seed=[7, 8, 9, 10], options={"reset_mask": mask.copy()})
    assert_same(observations, expected)
    np.testing.assert_array_equal(observations[~mask], last[~mask])
    assert envs.np_random_seed == (7, 1, 9, 3)
    _, _, terminated, truncated, _ = envs.step(info["action_mask"].argmax(axis=1))
    assert (terminated | truncated).tolist() == [False, True, False, True]
    np.testing.assert_array_equal(observations, expected, "what was handed out stays")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([True, False], "reset_mask must be a bool array of shape \\(2,\\), got"),
        (np.ones(3, bool), "reset_mask must be a bool array of shape \\(2,\\), got"),
        (np.ones(2), "reset_mask must be a bool array of shape \\(2,\\), got"),
        (np.zeros(2, bool), "reset_mask must be true somewhere"),
    ],
)
def test_a_mask_that_says_nothing(mask: Any, message: str) -> None:
    envs = vector(2)
    with pytest.raises(ConfigError, match="the first reset is of every sub-environment"):
        envs.reset(options={"reset_mask": np.ones(2, bool)})
    envs.reset(seed=0)
    with pytest.raises(ConfigError, match=message):
        envs.reset(options={"reset_mask": mask})


def test_episode_steps_may_be_limited_as_by_make() -> None:
    envs = gymnasium.make_vec("PremaNPU-v0", num_envs=2, max_episode_steps=3, **SETTINGS)
    spec = replace(gymnasium.spec("PremaNPU-v0"), max_episode_steps=3)
    same = gymnasium.make_vec(spec, num_envs=2, **SETTINGS)
    twin = SyncVectorEnv(
        [lambda: gymnasium.make("PremaNPU-v0", max_episode_steps=3, **SETTINGS)] * 2
    )
    for one in (envs, same, twin):
        one.reset(seed=0)
    for _ in range(8):
        steps = [one.step(np.zeros(2, np.int64))[:4] for one in (envs, same, twin)]
        assert_same(steps[0], steps[1])
        assert_same(steps[0], steps[2])
    with pytest.raises(ConfigError, match="max_episode_steps must be a whole number"):
        vector(2, max_episode_steps=2.5)
    assert vector(2, max_episode_steps=9, max_decisions=4).settings.max_decisions == 4
    assert vector(2, max_episode_steps=9, max_decisions=None).settings.max_decisions == 9


def test_sub_environments_are_called_or_say_why_not() -> None:
    envs = vector(3, record_timeline=True)
    envs.reset(seed=0)
    np.testing.assert_array_equal(envs.call("action_masks"), envs.action_masks())
    assert_same(envs.call("timeline")[1], envs.timeline(1))
    assert envs.get_attr("render_mode") == (None, None, None)
    with pytest.raises(AttributeError, match=r"has no 'fly', only action_masks, .*timeline"):
        envs.call("fly")
    with pytest.raises(AttributeError, match=r"give it when .* or .* set_options\(\)"):
        envs.set_attr("slots", 4)


def test_an_info_is_rebuilt_as_gymnasiums_converters_do() -> None:
    envs = vector(3, max_decisions=1)
    envs.reset(seed=0)
    *_, info = envs.step(np.zeros(3, np.int64))
    read = info["episode_metrics"]
    again = type(read)(**{key: value.tolist() for key, value in read.items()})
    assert set(again) == set(read)
    assert again["unfinished"] == read["unfinished"].tolist()


def test_a_flat_info_has_the_same_keys_in_every_step() -> None:
    envs, one = vector(3, info="mask"), single(info="mask")
    keys = {"action_mask", "now_ms", "illegal_actions"}
    rng = np.random.default_rng(0)
    _, info = envs.reset(seed=0)
    _, own = one.reset(seed=0)
    for _ in range(200):
        assert set(own) == keys
        assert set(info) == {*keys, *(f"_{key}" for key in keys)}
        _, _, terminated, truncated, own = one.step(int(random_legal(own["action_mask"], rng)))
        if terminated or truncated:
            _, own = one.reset()
        *_, info = envs.step(random_legal(info["action_mask"], rng))
    same = vector(3, info="mask", autoreset_mode="SameStep", max_decisions=1)
    same.reset(seed=0)
    assert keys <= set(same.step(np.zeros(3, np.int64))[4]["final_info"])


def test_episodes_of_different_lengths_may_end_in_one_step() -> None:
    few, many = (tasks(*[TaskSpec(network="alexnet")] * count) for count in (2, 5))
    makers = [lambda w=w: single(workload=w, max_decisions=1, slots=8) for w in (few, many)]
    for envs in (SyncVectorEnv(makers), AsyncVectorEnv(makers)):
        envs.reset(seed=0)
        *_, info = envs.step(np.zeros(2, np.int64))
        found = info["tasks"]["isolated_cycles"]
        assert found.shape == (2, 8)
        assert (found > 0).sum(axis=1).tolist() == [2, 5]
        envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_wrappers_say_when_who_ended_starts_anew(mode: AutoresetMode) -> None:
    """TorchRL asks the environment that it is given, wrapped or not."""
    envs = vector(2, autoreset_mode=mode)
    assert with_mask(envs).autoreset_mode is mode  # type: ignore[union-attr]
    assert log_scale(envs).autoreset_mode is mode  # type: ignore[union-attr]
