from __future__ import annotations

from pathlib import Path

import pytest

from prema_gym import cli
from prema_gym.agents.studies.seeds import RATIOS, runs_table
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError


def made(path: Path, algo: str, seed: int, ratios: list[float]) -> Path:
    """A run whose validations had these ratios, in every metric, and scored by them."""
    folder = RunFolder.create(path, TrainSettings(algo=algo, seed=seed))
    for step, ratio in enumerate(ratios, start=1):
        folder.add_evaluation(1000 * step, {"score": ratio} | dict.fromkeys(RATIOS, ratio))
    return path


def test_an_algorithm_is_a_line_over_its_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        made(tmp_path / "a", "ppo", 3, [0.5, 1.5, 1.0]),
        made(tmp_path / "b", "ppo", 1, [0.9]),
        made(tmp_path / "c", "dqn", 7, [0.25]),
    ]
    dqn, ppo = runs_table(runs)
    assert (ppo["algo"], ppo["runs"], ppo["seeds"], ppo["timesteps"]) == ("ppo", 2, "1 3", 3000)
    for name in RATIOS:
        assert ppo[f"{name}_mean"] == pytest.approx((1.5 + 0.9) / 2), "of the best validations"
        assert (ppo[f"{name}_min"], ppo[f"{name}_max"]) == (0.9, 1.5)
        assert dqn[f"{name}_mean"] == 0.25
    with pytest.raises(SystemExit) as stop:
        cli.main(["runs", *map(str, runs)])
    assert stop.value.code == 0
    words = capsys.readouterr().out.split()
    assert words.count("1.200") == words.count("1.500]") == len(RATIOS)


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    run = made(tmp_path / "a", "ppo", 3, [])
    with pytest.raises(ConfigError, match="has no evaluations yet"):
        runs_table([run])
    with pytest.raises(ConfigError, match="must be given once"):
        runs_table([run, run])
    with pytest.raises(ConfigError, match="holds no run"):
        runs_table([tmp_path])
