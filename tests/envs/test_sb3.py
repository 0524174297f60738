from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from prema_gym import baselines
from prema_gym.envs.sb3 import METRIC_NAMES, PremaNPUVecEnv, make_sb3_env
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.simulator import MECHANISMS
from prema_gym.workloads import TaskSpec
from tests.envs.helpers import (
    SETTINGS,
    SMALL,
    chooser,
    play,
    random_legal,
    single,
    tasks,
)

SMALL_NET: dict[str, Any] = {"policy_kwargs": {"net_arch": [8]}, "seed": 0, "device": "cpu"}


def make(num_envs: int, **arguments: Any) -> Any:
    """An environment; VecEnv's own types allow dicts for observations, which these are not."""
    return make_sb3_env(num_envs, **{**SETTINGS, **arguments})


def masks(env: Any) -> np.ndarray:
    return np.stack(env.env_method("action_masks"))


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_sub_environments_are_the_single_environment() -> None:
    env = make(3, seed=5, reward="balanced", mechanisms=MECHANISMS)
    singles = [single(reward="balanced", mechanisms=MECHANISMS) for _ in range(3)]
    rng = np.random.default_rng(0)
    observations = env.reset()
    own = [e.reset(seed=5 + i) for i, e in enumerate(singles)]
    np.testing.assert_array_equal(observations, [o for o, _ in own])
    returns, lengths = np.zeros(3), np.zeros(3, int)
    finished = 0
    for _ in range(500):
        np.testing.assert_array_equal(masks(env), [e.action_masks() for e in singles])
        actions = random_legal(masks(env), rng)
        observations, rewards, dones, infos = env.step(actions)
        for i, e in enumerate(singles):
            last, reward, terminated, truncated, info = e.step(int(actions[i]))
            assert rewards[i] == np.float32(reward)
            assert dones[i] == (terminated or truncated)
            assert infos[i]["TimeLimit.truncated"] == (truncated and not terminated)
            returns[i] += reward
            lengths[i] += 1
            if dones[i]:
                np.testing.assert_array_equal(infos[i]["terminal_observation"], last)
                np.testing.assert_array_equal(infos[i]["action_mask"], info["action_mask"])
                assert infos[i]["reward_terms"] == info["reward_terms"]
                np.testing.assert_equal(infos[i]["episode_metrics"], info["episode_metrics"])
                np.testing.assert_equal(infos[i]["tasks"], info["tasks"])
                episode = infos[i]["episode"]
                assert episode["r"] == pytest.approx(returns[i], abs=1e-4)
                assert episode["l"] == lengths[i]
                for name in METRIC_NAMES:
                    np.testing.assert_equal(episode[name], info["episode_metrics"][name])
                returns[i], lengths[i] = 0.0, 0
                finished += 1
                last, _ = e.reset()
            np.testing.assert_array_equal(observations[i], last)
    assert finished >= 4


def test_truncation_is_told_from_the_end() -> None:
    env = make(2, seed=0, max_decisions=3)
    env.reset()
    for _ in range(3):
        _, _, dones, infos = env.step(random_legal(masks(env), np.random.default_rng(0)))
    assert dones.all()
    assert [info["TimeLimit.truncated"] for info in infos] == [True, True]
    assert all("terminal_observation" in info for info in infos)
    # The last task ends with the last decision that the limit allows.
    pair = tasks(TaskSpec(network="alexnet"), TaskSpec(network="alexnet"))
    steps = len(play(single(workload=pair), chooser(0))[0])
    env = make(1, workload=pair, max_decisions=steps)
    choose = chooser(0)
    observations = env.reset()
    for _ in range(steps):
        action = choose(observations[0], masks(env)[0])
        observations, _, dones, infos = env.step(np.array([action]))
    assert dones[0]
    assert infos[0]["TimeLimit.truncated"] is False
    assert "terminal_observation" in infos[0]


def test_returned_arrays_never_change() -> None:
    env = make(3, seed=0)
    rng = np.random.default_rng(0)
    kept = [env.reset()]
    frozen = [kept[0].copy()]
    for _ in range(60):
        step = env.step(random_legal(masks(env), rng))
        kept.extend(step[:3])
        frozen.extend(array.copy() for array in step[:3])
    for one, other in zip(kept, frozen, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.shares_memory(kept[1], kept[4])


def test_the_interface(tmp_path: Path) -> None:
    env = make(4, seed=0, render_mode="rgb_array", monitor_file=str(tmp_path / "log"))
    assert is_masking_supported(env)
    first = env.reset()
    assert get_action_masks(env).shape == (4, 3)
    assert env.env_method("action_masks", indices=[2])[0].tolist() == masks(env)[2].tolist()
    assert env.get_attr("render_mode") == ["rgb_array"] * 4
    assert env.get_attr("settings", indices=1)[0].slots == 3
    assert env.has_attr("timeline")
    assert not env.has_attr("nothing")
    with pytest.raises(AttributeError):
        env.set_attr("render_mode", "ansi")
    assert env.env_is_wrapped(Monitor) == [False] * 4
    image = env.render()
    assert image is not None
    assert image.shape[2] == 3
    env.seed(0)
    np.testing.assert_array_equal(env.reset(), first)
    assert not np.array_equal(env.reset(), first), "the generators go on"
    env.set_options({"num_tasks": 2})
    env.reset()
    with pytest.raises(ConfigError, match="the same for every sub-environment"):
        env.set_options([{"num_tasks": 2}] * 3 + [{}])
    with pytest.raises(ConfigError, match="info must be 'all' here"):
        make_sb3_env(2, info="mask")
    with pytest.raises(UnknownNameError, match="did you mean 'slots'"):
        make_sb3_env(2, slot=3)
    with pytest.raises(UnknownNameError, match="render_mode"):
        make_sb3_env(2, render_mode="human")
    with pytest.raises(gymnasium.error.ResetNeeded):
        PremaNPUVecEnv(2, **SETTINGS).step(np.zeros(2, int))
    rng = np.random.default_rng(0)
    env.set_options(None)
    env.reset()
    for _ in range(200):
        env.step(random_legal(masks(env), rng))
    env.close()
    written = (tmp_path / "log.monitor.csv").read_text().splitlines()
    assert written[1].startswith("r,l,t,antt,stp,fairness")
    assert len(written) > 4


def test_evaluate_policy_takes_a_baseline() -> None:
    policy = baselines.make("dynamic-prema")
    env = make(4, seed=0, mechanisms=policy.mechanisms, strict=True)
    # A baseline has `predict`, which is all that is asked of a model.
    mean, _ = evaluate_policy(policy, env, n_eval_episodes=8)  # type: ignore[arg-type]
    alone = gymnasium.make("PremaNPU-v0", mechanisms=policy.mechanisms, **SETTINGS)
    returns = []
    for i in range(4):
        for reset in ({"seed": i}, {}):
            rewards, _ = play(alone, lambda o, m: int(policy.predict(o)[0]), **reset)
            returns.append(sum(rewards))
    assert mean == pytest.approx(np.mean(returns), rel=1e-5)
    one, _ = evaluate_policy(policy, Monitor(alone), n_eval_episodes=2)  # type: ignore[arg-type]
    assert np.isfinite(one)


def test_without_stable_baselines3_the_error_names_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "from prema_gym.errors import MissingExtraError\n"
        "try:\n    import prema_gym.envs.sb3\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "prema-gym[train]" in done.stdout


ALGORITHMS: dict[str, tuple[type[BaseAlgorithm], dict[str, Any]]] = {
    "MaskablePPO": (MaskablePPO, {"n_steps": 125, "batch_size": 125, "n_epochs": 2}),
    "PPO": (PPO, {"n_steps": 125, "batch_size": 125, "n_epochs": 2}),
    "DQN": (DQN, {"learning_starts": 100, "buffer_size": 1000, "train_freq": 4}),
    "A2C": (A2C, {}),
}


def train(name: str, env: Any, steps: int = 2000) -> BaseAlgorithm:
    algorithm, arguments = ALGORITHMS[name]
    model = algorithm("MlpPolicy", env, **arguments, **SMALL_NET)
    return model.learn(steps)


def weights(model: BaseAlgorithm) -> np.ndarray:
    return np.concatenate([p.detach().numpy().ravel() for p in model.policy.parameters()])


@pytest.mark.heavy
@pytest.mark.parametrize("name", ALGORITHMS)
def test_two_thousand_steps_of_training(name: str) -> None:
    """Finite losses and weights, and the same weights from the same seed."""
    found = []
    for _ in range(2):
        model = train(name, make(4, reward="balanced"))
        losses = {
            key: value
            for key, value in model.logger.name_to_value.items()
            if key.startswith("train/")
        }
        assert any("loss" in key for key in losses), losses
        assert np.isfinite(list(losses.values())).all(), losses
        assert model.num_timesteps >= 2000
        assert model.ep_info_buffer, "episodes are reported"
        found.append(weights(model))
    assert np.isfinite(found[0]).all()
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.heavy
def test_training_on_processes_and_on_single_environments() -> None:
    model = train("PPO", DummyVecEnv([lambda: Monitor(single())] * 2), steps=500)
    assert model.ep_info_buffer
    assert np.isfinite(weights(model)).all()


@pytest.mark.heavy
def test_normalising_leaves_masks_alone(tmp_path: Path) -> None:
    env: Any = VecNormalize(make(4))
    model = train("MaskablePPO", env, steps=1000)
    for mask in env.env_method("action_masks"):
        assert mask.dtype == np.bool_
    observation = env.reset()
    assert np.abs(observation).max() <= 10.0
    assert env.get_original_obs().max() > 10.0
    model.save(tmp_path / "model")
    env.save(str(tmp_path / "normalizer"))
    again: Any = VecNormalize.load(str(tmp_path / "normalizer"), make(4))
    np.testing.assert_array_equal(again.obs_rms.mean, env.obs_rms.mean)
    loaded = MaskablePPO.load(tmp_path / "model", env=again)
    np.testing.assert_array_equal(weights(loaded), weights(model))
    env.training = env.norm_reward = False
    count = env.obs_rms.count
    mean, _ = evaluate_masked(model, env, n_eval_episodes=4)  # type: ignore[arg-type]
    assert env.obs_rms.count == count
    assert np.isfinite(mean)


@pytest.mark.heavy
@pytest.mark.parametrize("num_envs", [1, 4])
def test_an_untrained_masked_model_never_takes_an_illegal_action(num_envs: int) -> None:
    """Strict environments would raise."""
    arguments: dict[str, Any] = {"mechanisms": MECHANISMS, "strict": True, "max_decisions": 200}
    env = make(num_envs, seed=0, **arguments)
    model = MaskablePPO("MlpPolicy", env, **SMALL_NET)
    evaluate_masked(model, env, n_eval_episodes=12, deterministic=False)
    alone = Monitor(gymnasium.make("PremaNPU-v0", scenario=SMALL, slots=3, **arguments))
    evaluate_masked(model, alone, n_eval_episodes=4, deterministic=False)
