"""Episodes cut from streams: the same in every form, truncated where the stream goes on."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from prema_gym import baselines
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.simulator import PRESENT
from prema_gym.workloads import compile_scenario, sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.streams import Stream

STREAMS = Scenario(
    name="two",
    networks=("alexnet", "mobilenet-v1"),
    batch_sizes=(1, 4),
    num_tasks=12,
    load=1.1,
    streams=(
        Stream(name="a", arrival="bursty", burst_ms=20.0, share=2.0),
        Stream(name="b", networks=("alexnet",), arrival="periodic", share=1.0),
    ),
)
POLICY = baselines.make("dynamic-prema")


def _env(**fields: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("prema_gym:PremaNPU-v0", **{"scenario": STREAMS} | fields)


def _played(env: gymnasium.Env[Any, Any], seed: int | None, **reset: Any) -> dict[str, Any]:
    observation, info = env.reset(seed=seed, **reset)
    rewards, over = [], False
    terminated = False
    while not over:
        action, _ = POLICY.predict(observation, action_masks=info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    return info | {"observation": observation, "rewards": rewards, "terminated": terminated}


def test_an_episode_is_the_workload_of_its_seed_up_to_the_last_arrival() -> None:
    catalog = compile_scenario(STREAMS)
    batch = sample_batch(catalog, range(6))
    env = _env(mechanisms=POLICY.mechanisms)
    left = []
    for seed in range(6):
        info = _played(env, seed)
        assert not info["terminated"]
        last = batch.arrival_cycles[seed, -1] * 1e3 / catalog.hardware.clock_hz
        assert info["episode_metrics"]["makespan_ms"] >= last
        unfinished = int(info["episode_metrics"]["unfinished"])
        # What is bootstrapped from is the table as it stands, with those who are there.
        assert (info["observation"][:, PRESENT] > 0).sum() == min(unfinished, 16)
        left.append(unfinished)
        assert info["episode_metrics"]["makespan_ms"] < last + 300.0 or unfinished == 0
    assert max(left) > 1


def test_the_vector_plays_the_same_episodes_one_after_another() -> None:
    single = [_env(mechanisms=POLICY.mechanisms) for _ in range(3)]
    expected: list[list[float]] = []
    for i, env in enumerate(single):
        mine = _played(env, 5 + i)["rewards"]
        expected.append(mine + _played(env, None)["rewards"])
    vector = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=3, scenario=STREAMS, mechanisms=POLICY.mechanisms
    )
    observation, info = vector.reset(seed=5)
    found: list[list[float]] = [[], [], []]
    begun = np.zeros(3, dtype=bool)
    while any(len(mine) < len(its) for mine, its in zip(found, expected, strict=True)):
        action, _ = POLICY.predict(observation, action_masks=info["action_mask"])
        observation, reward, terminated, truncated, info = vector.step(action)
        assert not terminated.any()
        for i in np.flatnonzero(~begun).tolist():
            found[i].append(float(reward[i]))
        begun = truncated.copy()  # the next step starts anew in place of a decision
    for mine, its in zip(found, expected, strict=True):
        assert mine[: len(its)] == its
    vector.close()


def test_gymnasiums_checker_has_nothing_to_say() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box observation space.*infinity.*")
        check_env(_env().unwrapped, skip_render_check=True)


def test_reset_changes_what_streams_heed_and_refuses_the_rest() -> None:
    env = _env(mechanisms=POLICY.mechanisms)
    calm = _played(env, 1, options={"load": 0.1, "num_tasks": 5})
    assert calm["episode_metrics"]["unfinished"] <= 5
    with pytest.raises(UnknownNameError, match="window_ms"):
        env.reset(options={"window_ms": 5.0})


def test_a_closed_loop_is_refused_in_one_line() -> None:
    loop = Stream(name="users", arrival="closed", clients=2, think_ms=5.0)
    with pytest.raises(ConfigError, match=r"stream 'users' is a closed loop"):
        _env(scenario=Scenario(streams=(loop,)))
