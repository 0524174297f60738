"""Does every algorithm train, and leave a whole folder?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym import agents
from prema_gym.agents.algorithms import ALGORITHMS
from prema_gym.agents.policies.weights_file import load_weights
from prema_gym.agents.training import run as training
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import NUM_COLUMNS
from prema_gym.workloads.catalog import Catalog
from tests.agents.conftest import tables
from tests.agents.training.runs import scalars, small, weights_of

pytestmark = pytest.mark.heavy  # trains


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_algorithm_trains_and_leaves_a_whole_folder(
    algo: str, tiny_toml: Path, tmp_path: Path
) -> None:
    run = tmp_path / algo
    training.train(run, small(algo, tiny_toml))
    folder = RunFolder(run)
    rows = folder.rows()
    steps = [int(row["timesteps"]) for row in rows]
    assert steps == sorted(set(steps))
    assert steps[-1] >= 512
    assert all(np.isfinite(float(value)) for row in rows for value in row.values())
    assert len(list(folder.checkpoints.iterdir())) == len(rows)
    assert TrainSettings.from_toml(run / "config.toml") == small(algo, tiny_toml)
    known = json.loads((run / "run.json").read_text())
    assert {"versions", "git", "timesteps"} <= set(known["starts"][0])
    assert known["seed_ranges"]["test"] == [0, 999_999_999]
    curves = scalars(run)
    assert all(np.isfinite(value) for points in curves.values() for _, value in points)
    wanted = {"validation/antt_ratio", "validation/p95_ntt_high_ratio", "validation/score"}
    losses = {
        "es": {"rollout/ep_rew_mean", "rollout/ep_len_mean", "search/spread"},
        "dqn": {"train/loss", "rollout/ep_rew_mean", "rollout/ep_len_mean"},
        "a2c": {"train/policy_loss", "rollout/ep_rew_mean", "rollout/ep_len_mean"},
    }
    assert wanted | losses.get(algo, {"train/loss", "rollout/ep_rew_mean"}) <= set(curves)
    policy = agents.load(run)
    assert policy.predict(np.zeros((64, NUM_COLUMNS), np.float32))[0] == 0


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_same_seed_same_weights(algo: str, tiny_toml: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        training.train(tmp_path / name, small(algo, tiny_toml))
    training.train(tmp_path / "c", small(algo, tiny_toml, seed=4))
    first = weights_of(tmp_path / "a")
    assert np.isfinite(first).all()
    assert np.array_equal(first, weights_of(tmp_path / "b"))
    assert not np.array_equal(first, weights_of(tmp_path / "c"))


def test_plain_sb3_policies_train_and_are_masked_in_evaluation(
    tiny: Catalog, tiny_toml: Path, tmp_path: Path
) -> None:
    for algo in ("maskable-ppo", "dqn"):
        settings = small(algo, tiny_toml)
        settings = replace(settings, gradient=replace(settings.gradient, policy="mlp"))
        training.train(tmp_path / algo, settings)
        policy = agents.load(tmp_path / algo)
        for observation, mask in tables(tiny, count=8, steps=10):
            wide = np.zeros((len(observation), 8, NUM_COLUMNS), np.float32)
            wide[:, :6] = observation
            legal = np.zeros((len(mask), 8), bool)
            legal[:, :6] = mask
            actions, _ = policy.predict(wide, action_masks=legal)
            assert legal[np.arange(len(actions)), actions].all()
        with pytest.raises(ConfigError, match="needs action_masks"):
            policy.predict(wide)
        with pytest.raises(ConfigError, match="--slots 8"):
            policy.predict(wide[:, :5], action_masks=legal[:, :5])


def test_an_imitation_does_as_its_teacher_does(tiny_toml: Path, tmp_path: Path) -> None:
    said: list[str] = []
    from prema_gym.agents.scorer.shape import ScorerShape
    from prema_gym.agents.training.imitation import imitate
    from prema_gym.workloads import scenarios

    imitate("dynamic-prema", scenarios.get(tiny_toml), ScorerShape(), 0, steps=300, say=said.append)
    assert float(said[0].split("in ")[1].split(" %")[0]) > 85


def test_a_device_that_is_not_there_is_refused(tiny_toml: Path, tmp_path: Path) -> None:
    for device in ("nonsense", *(() if torch.cuda.is_available() else ("cuda",))):
        with pytest.raises(ConfigError, match=f"device '{device}' cannot be used here") as error:
            training.train(tmp_path / device, small("a2c", tiny_toml, device=device))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("algo", "hyper", "reason"),
    [
        ("ppo", {"n_step": 3}, "unknown argument 'n_step'"),
        ("ppo", {"n_steps": "x"}, "n_steps must be int, got 'x'"),
        ("ppo", {"n_steps": 2.5}, "n_steps must be int, got 2.5"),
        ("ppo", {"normalize_advantage": 1}, "normalize_advantage must be bool, got 1"),
        ("ppo", {"n_steps": 0}, ""),
        ("ppo", {"batch_size": 0}, ""),
        ("dqn", {"train_freq": "x"}, "train_freq must be .*int.*, got 'x'"),
    ],
)
def test_arguments_that_sb3_refuses_are_one_line_that_says_where(
    algo: str, hyper: dict[str, Any], reason: str, tiny_toml: Path, tmp_path: Path
) -> None:
    settings = small(algo, tiny_toml, gradient=GradientConfig(hyper=hyper))
    place = rf"{tmp_path}/run/config\.toml: \[gradient\.hyper\] does not suit {algo}"
    message = f"{place}: {reason}"
    with pytest.raises(ConfigError, match=message) as error:
        training.train(tmp_path / "run", settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("algo", ["maskable-ppo", "dqn"])
def test_weights_that_have_not_changed_are_not_looked_at_again(
    algo: str, tiny_toml: Path, tmp_path: Path
) -> None:
    """With a rollout of 256 steps and a mark every 64, most marks fall between updates."""
    run = tmp_path / algo
    training.train(run, small(algo, tiny_toml, eval_every=64))
    folder = RunFolder(run)
    steps = [int(row["timesteps"]) for row in folder.rows()]
    if algo == "maskable-ppo":
        assert steps == [256, 512]
    files = sorted(folder.checkpoints.iterdir())
    seen = {
        np.concatenate([array.ravel() for array in load_weights(file)[0]]).tobytes()
        for file in files
    }
    assert len(seen) == len(files) == len(steps) >= 2
    assert len(set(steps)) == len(steps)


def test_a_single_checkpoint_is_kept_without_a_choice(
    tiny_toml: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for algo in ("maskable-ppo", "es"):
        run = tmp_path / algo
        training.train(run, small(algo, tiny_toml, timesteps=256, eval_every=1_000_000))
        (file,) = RunFolder(run).checkpoints.iterdir()
        best, kept = load_weights(run / "best.npz")[0], load_weights(file)[0]
        for one, other in zip(best, kept, strict=True):
            np.testing.assert_array_equal(one, other)
        assert not (run / "average.npz").exists()
    said = capsys.readouterr()
    assert (said.out + said.err).count("is the only checkpoint") == 2
