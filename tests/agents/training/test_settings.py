"""Do wrong settings say what is wrong, and where?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym import agents
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.files import write_toml


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algo": "sarsa"}, "unknown algorithm 'sarsa'"),
        ({"objective": "speed"}, "unknown objective 'speed'"),
        ({"scenario": "papre"}, "did you mean 'paper'"),
        ({"timesteps": 0}, "timesteps must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"evolution": {"sgima": 1.0}}, "did you mean 'sigma'"),
        ({"gradient": {"emphasis": {"fair": 1.0}}}, "unknown metric 'fair'"),
        ({"gradient": {"policy": "cnn"}}, "unknown policy 'cnn'"),
        ({"gradient": {"hyper": {"learning_rate": 3}}}, "leave learning_rate to gradient.learn"),
        ({"gradient": {"hyper": {"policy": 3}}}, "leave policy to gradient.policy, got 3"),
        ({"algo": "es", "gradient": {"policy": "mlp"}}, "policy 'mlp' does nothing with algo 'es'"),
        ({"algo": "es", "device": "cuda"}, "device 'cuda' does nothing with algo 'es'"),
        ({"num_envs": 4}, "num_envs must be at least 8 with algo 'es', got 4"),
        ({"evolution": {"sigma": -1.0}}, r", \[evolution\]: sigma must be a finite number above 0"),
        (
            {"evolution": {"ceiling": 0}},
            r", \[evolution\]: ceiling must be a finite number above 0",
        ),
        ({"gradient": {"learning_rate": float("inf")}}, "learning_rate must be a finite number"),
        (
            {"evolution": {"sigma": "big"}},
            r", \[evolution\]: sigma must be .* number .*, got 'big'",
        ),
        ({"evolution": {"hidden": 0}}, r", \[evolution\]: hidden must be a whole number from 1"),
        ({"evolution": {"population": 8.5}}, "population must be a whole number .*, got 8.5"),
        (
            {"evolution": {"floor_weight": float("nan")}},
            "floor_weight must be .* number .*, got nan",
        ),
        ({"evolution": 5}, "evolution must be a table, got 5"),
        ({"gradient": {"policy": 3}}, r", \[gradient\]: unknown policy '3'"),
        ({"gradient": {"readers": 0}}, r", \[gradient\]: readers must be a whole number from 1"),
        ({"gradient": {"critic_width": 0}}, r", \[gradient\]: critic_width must be a whole number"),
        ({"gradient": {"gamma": True}}, r", \[gradient\]: gamma must be a number .*, got True"),
        ({"gradient": {"hyper": 5}}, r", \[gradient\]: hyper must be a table, .*, got 5"),
        ({"gradient": {"emphasis": {"sla": "x"}}}, "emphasis must be a table, each value a finite"),
        ({"algo": 3}, "unknown algorithm '3'"),
        ({"scenario": 3}, "scenario must be a non-empty text, got 3"),
        ({"seed": True}, "seed must be a whole number of at least 0, got True"),
    ],
)
def test_wrong_settings_say_what_is_wrong_and_in_which_file(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    write_toml(path, change)
    with pytest.raises(ConfigError, match=message) as error:
        TrainSettings.from_toml(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_survive_a_file(tmp_path: Path) -> None:
    settings = TrainSettings(algo="ppo", gradient=GradientConfig(hyper={"n_steps": 64}))
    settings.to_toml(tmp_path / "settings.toml")
    assert TrainSettings.from_toml(tmp_path / "settings.toml") == settings


def test_an_unknown_teacher_brings_the_names_that_there_are() -> None:
    assert TrainSettings(init_from="").init_from == ""
    with pytest.raises(
        UnknownNameError, match=r"unknown teacher 'x' \(known: dynamic-prema, replan\)"
    ):
        TrainSettings(init_from="x")


def test_a_callback_that_cannot_be_called_is_refused_before_a_folder_is_made(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="callback must be a function of a TrainingProgress"):
        agents.train(tmp_path / "run", TrainSettings(), callback=3)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()
