"""The environment with a vector of rewards: sums, spaces, its vector form, the front."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

from prema_gym.envs import PremaNPUMOEnv, PremaNPUMOVectorEnv
from prema_gym.errors import ConfigError, UnknownNameError

FIVE = ("antt", "stp", "fairness", "sla_curve", "tail")
NAMES = ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high")
SIGNS = (-1, 1, 1, -1, -1)


def episode(env: Any, seed: int) -> tuple[list[np.ndarray], dict[str, Any]]:
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    rewards = []
    over = False
    while not over:
        action = int(rng.choice(np.flatnonzero(env.unwrapped.action_masks())))
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        assert env.unwrapped.reward_space.contains(reward)
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info


def test_rewards_add_up_to_the_metrics() -> None:
    env = gymnasium.make("PremaNPU-MO-v0", objectives=FIVE, disable_env_checker=True)
    assert env.unwrapped.reward_dim == 5  # type: ignore[attr-defined]
    for seed in range(3):
        rewards, info = episode(env, seed)
        total = np.array(rewards, np.float64).sum(axis=0)
        metrics = info["episode_metrics"]
        for k, (name, sign) in enumerate(zip(NAMES, SIGNS, strict=True)):
            expected = np.nan_to_num(metrics[name])  # no task of the highest priority: tail is 0
            assert total[k] == pytest.approx(sign * expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_vector_form_pays_the_same(mode: str) -> None:
    vector = PremaNPUMOVectorEnv(3, objectives=FIVE, autoreset_mode=mode)
    singles = [PremaNPUMOEnv(objectives=FIVE) for _ in range(3)]
    shown, _ = vector.reset(seed=5)
    for i, env in enumerate(singles):
        assert np.array_equal(env.reset(seed=5 + i)[0], shown[i])
    going = np.ones(3, bool)
    while going.any():
        actions = [int(np.flatnonzero(mask)[-1]) for mask in vector.action_masks()]
        _, rewards, terminated, truncated, _ = vector.step(actions)
        assert rewards.shape == (3, 5)
        for i in np.flatnonzero(going).tolist():
            _, reward, ended, cut, _ = singles[i].step(actions[i])
            assert rewards[i] == pytest.approx(reward, rel=1e-5, abs=1e-6)
            assert (ended, cut) == (terminated[i], truncated[i])
        going &= ~(terminated | truncated)


def test_the_exact_front() -> None:
    env = PremaNPUMOEnv(scenario={"networks": ["alexnet", "googlenet"], "num_tasks": 4})
    front = np.array(env.pareto_front())
    assert front.shape[1] == 2
    assert (np.diff(front[:, 0]) <= 0).all()
    assert (np.diff(front[:, 1]) >= 0).all()
    with pytest.raises(ConfigError, match="the front is known for antt and fairness"):
        PremaNPUMOEnv(objectives=FIVE).pareto_front()


def test_pickled_it_goes_on_alike() -> None:
    env = PremaNPUMOEnv()
    env.reset(seed=0)
    other = pickle.loads(pickle.dumps(env))
    for _ in range(5):
        here, there = env.step(0), other.step(0)
        assert np.array_equal(here[0], there[0])
        assert np.array_equal(here[1], there[1])


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match="objectives=… in place of reward"):
        PremaNPUMOEnv(reward="antt")
    with pytest.raises(UnknownNameError, match="unknown reward term 'speed'"):
        PremaNPUMOEnv(objectives=("speed",))
