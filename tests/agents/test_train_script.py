from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

import train
from agents.settings import TrainSettings
from prema_gym.errors import PremaError


def chosen(*arguments: str) -> TrainSettings:
    return train.settings_from(train.parser().parse_args(arguments))


def test_without_options_it_is_the_evolution_strategy_on_the_paper_s_scenario() -> None:
    settings = chosen()
    assert (settings.algo, settings.scenario, settings.objective) == ("es", "paper", "balanced")
    assert settings.timesteps / settings.eval_every == train.VALIDATIONS


def test_each_algorithm_has_its_own_defaults() -> None:
    assert chosen("--algo", "maskable-ppo").num_envs == 64
    assert chosen("--algo", "dqn", "--timesteps", "1000").timesteps == 1000
    assert chosen("--algo", "ppo", "--policy", "mlp").gradient.policy == "mlp"


def test_the_command_line_overrules_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    TrainSettings(algo="a2c", timesteps=77, num_envs=5, seed=9).to_toml(file)
    settings = chosen("--config", str(file), "--seed", "10")
    assert (settings.algo, settings.timesteps, settings.num_envs) == ("a2c", 77, 5)
    assert settings.seed == 10


def test_a_run_ends_with_a_comparison(
    tiny_toml: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--algo", "es", "--scenario", str(tiny_toml), "--num-envs", "8"]
    arguments += ["--timesteps", "200", "--eval-workloads", "4", "--output", str(tmp_path / "run")]
    assert train.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "run: train.py --algo es" in printed
    assert "400 unseen workloads" in printed
    assert printed.count("×") == 5


def test_mistakes_give_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        [],
        ["--output", "a", "--resume", "b"],
        ["--output", str(tmp_path), "--scenario", "papre"],
        ["--resume", str(tmp_path / "nothing")],
        ["--output", str(tmp_path), "--config", str(tmp_path / "gone.toml")],
    ):
        assert train.main(arguments) == 2
        errors = capsys.readouterr().err
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1


def test_errors_are_of_the_one_family() -> None:
    with pytest.raises(PremaError):
        chosen("--timesteps", "0")
