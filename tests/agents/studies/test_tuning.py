"""Tuning: ranges by hand; a study of three tiny trials that is broken off and gone on with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prema_gym.agents.studies.ranges import Range, read_ranges, with_values
from prema_gym.errors import ConfigError, UnknownNameError


def test_ranges_as_one_types_them() -> None:
    assert read_ranges(
        ["evolution.sigma=0.05:0.5:log", "evolution.hidden=2/4", "num_envs=8:16"]
    ) == (
        Range("evolution.sigma", 0.05, 0.5, log=True),
        Range("evolution.hidden", choices=(2, 4)),
        Range("num_envs", 8, 16),
    )
    assert read_ranges(["init_from=/dynamic-prema"])[0].choices == ("", "dynamic-prema")
    assert with_values({"seed": 1, "evolution": {"sigma": 1}}, {"evolution.hidden": 2}) == {
        "seed": 1,
        "evolution": {"sigma": 1, "hidden": 2},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("evolution.sigma", "a range reads"),
        ("evolution.sigma=0.5:0.05", "from the lower"),
        ("evolution.sigma=0:1:log", "above 0"),
        ("evolution.sigma=0:1:2", "a range reads"),
        ("evolution.hidden=2.5/3", "no int"),
        ("seed=1:5", "cannot be tuned"),
        ("algo=es:ppo", "a range reads"),
    ],
)
def test_what_is_no_range_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_ranges([text])
    with pytest.raises(ConfigError, match="at least one"):
        read_ranges([])
    with pytest.raises(ConfigError, match="twice"):
        read_ranges(["num_envs=8:16", "num_envs=8/9"])


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"evolution\.sigma"):
        read_ranges(["evolution.sgima=1:2"])


def test_whole_numbers_are_drawn_as_such() -> None:
    asked: list[tuple[Any, ...]] = []
    trial = SimpleNamespace(suggest_int=lambda *given, log: asked.append((*given, log)))
    Range("evolution.population", 4, 20).draw(trial)
    assert asked == [("evolution.population", 4, 20, False)]


@pytest.mark.heavy
def test_three_trials_that_are_stopped_and_gone_on_with(
    tiny_toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    from prema_gym.agents.studies import tuning
    from prema_gym.agents.training.run import train
    from prema_gym.agents.training.run_folder import RunFolder
    from prema_gym.agents.training.settings import TrainSettings
    from tests.agents.training.runs import small

    settings = small("es", tiny_toml)
    ranges = read_ranges(["evolution.sigma=0.05:0.5:log", "evolution.hidden=2/4"])
    lines: list[str] = []
    whole = tuning.tune(tmp_path / "whole", settings, ranges, trials=3, say=lines.append)
    assert [line.split(":")[0] for line in lines] == ["trial 0", "trial 1", "trial 2"]
    runs = sorted((tmp_path / "whole").glob("trial_*"))
    scores = [RunFolder(run).best_score() for run in runs]
    best = TrainSettings.from_toml(runs[scores.index(max(scores))] / "config.toml")
    assert best == whole == TrainSettings.from_toml(tmp_path / "whole" / "best.toml")
    assert {TrainSettings.from_toml(run / "config.toml").seed for run in runs} == {settings.seed}

    calls: list[int] = []

    def interrupted(*given: Any, **named: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        train(*given, **named)

    monkeypatch.setattr(f"{tuning.__name__}.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuning.tune(tmp_path / "parts", settings, ranges, trials=3)
    tuning.tune(tmp_path / "parts", settings, ranges, trials=3)
    assert len(calls) == 4, "the first is kept, the second was interrupted"
    with pytest.raises(ConfigError, match="other ranges"):
        tuning.tune(tmp_path / "parts", settings, ranges[:1], trials=3)
    changed = small("es", tiny_toml, num_envs=16)
    with pytest.raises(ConfigError, match="other settings"):
        tuning.tune(tmp_path / "parts", changed, ranges, trials=3)
