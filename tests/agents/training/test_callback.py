from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym import agents
from prema_gym.agents import TrainingProgress
from prema_gym.agents.training.run_folder import RunFolder
from tests.agents.training.runs import small, weights_of

pytestmark = pytest.mark.heavy  # trains


@pytest.mark.parametrize("algo", ["es", "maskable-ppo", "dqn"])
def test_a_callback_hears_of_every_validation_as_the_folder_does(
    algo: str, tiny_toml: Path, tmp_path: Path
) -> None:
    heard: list[TrainingProgress] = []
    agents.train(tmp_path / "run", small(algo, tiny_toml), callback=heard.append)
    rows = RunFolder(tmp_path / "run").rows()
    validations = [one for one in heard if one.event == "validation"]
    assert [one.timesteps for one in validations] == [int(row["timesteps"]) for row in rows]
    best = -math.inf
    for one, row in zip(validations, rows, strict=True):
        assert one.total_timesteps == 512
        for name, value in one.metrics.items():
            assert float(row[name]) == pytest.approx(value, rel=1e-5)
        best = max(best, float(row["score"]))
        assert one.best_score == best
    generations = [one for one in heard if one.event == "generation"]
    assert bool(generations) == (algo == "es")
    assert all(set(one.metrics) == {"fitness", "spread", "length"} for one in generations)
    with pytest.raises(FrozenInstanceError):
        heard[0].timesteps = 0  # type: ignore[misc]


@pytest.mark.parametrize("algo", ["es", "maskable-ppo", "dqn"])
def test_false_ends_the_run_whole_and_it_can_be_resumed(
    algo: str, tiny_toml: Path, tmp_path: Path
) -> None:
    settings = small(algo, tiny_toml, timesteps=2048)
    heard: list[int] = []

    def stop_at_first(progress: TrainingProgress) -> bool:
        heard.append(progress.timesteps)
        return progress.event != "validation"

    agents.train(tmp_path / "run", settings, callback=stop_at_first)
    rows = RunFolder(tmp_path / "run").rows()
    assert len(rows) == 1
    assert heard[-1] == int(rows[0]["timesteps"]) < 2048
    assert agents.load(tmp_path / "run").mechanisms == ("checkpoint",)
    agents.resume(tmp_path / "run")
    assert int(RunFolder(tmp_path / "run").rows()[-1]["timesteps"]) >= 2048
    if algo != "dqn":  # which goes on in the middle of a rollout
        agents.train(tmp_path / "whole", settings)
        assert np.array_equal(weights_of(tmp_path / "run"), weights_of(tmp_path / "whole"))


def test_an_evolution_stopped_before_its_first_validation_has_one(
    tiny_toml: Path, tmp_path: Path
) -> None:
    settings = replace(small("es", tiny_toml), eval_every=10**6, timesteps=10**6)
    agents.train(tmp_path / "run", settings, callback=lambda progress: False)
    assert len(RunFolder(tmp_path / "run").rows()) == 1
    agents.load(tmp_path / "run")


def test_an_error_in_a_callback_is_the_callers_and_the_run_is_saved(
    tiny_toml: Path, tmp_path: Path
) -> None:
    def fail(progress: TrainingProgress) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        agents.train(tmp_path / "run", small("a2c", tiny_toml), callback=fail)
    assert RunFolder(tmp_path / "run").was_saved
