from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
import typer

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

import train
from prema_gym import cli
from prema_gym.agents.algorithms import ALGORITHMS
from prema_gym.agents.training import run as training
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import VALIDATIONS, TrainSettings
from prema_gym.cli.commands import single
from prema_gym.cli.commands.train import OPTIONS, settings_from
from prema_gym.errors import ConfigError, PremaError
from tests.agents.conftest import TINY


def chosen(*arguments: str) -> TrainSettings:
    """The settings that a command line asks for."""
    command = typer.main.get_command(single("train"))
    given = dict(command.make_context("train.py", list(arguments)).params)
    file = given.pop("config")
    return settings_from(file, given)


def ended(arguments: list[str]) -> int | str | None:
    """Exit status of `prema-gym train`."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", *arguments])
    return stop.value.code


def ended_script(arguments: list[str]) -> int | str | None:
    """Exit status of `python train.py`."""
    with pytest.raises(SystemExit) as stop:
        train.main(arguments)
    return stop.value.code


@pytest.fixture
def tiny_toml(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    TINY.to_toml(path)
    return path


def test_every_field_of_the_settings_is_an_option_and_has_a_help() -> None:
    names = {option.names[0] for option in OPTIONS}
    for record, above in (
        (TrainSettings, ""),
        (EvolutionConfig, "evolution-"),
        (GradientConfig, "gradient-"),
    ):
        for one in fields(record):
            if one.name in ("evolution", "gradient"):
                continue
            assert f"--{above}{one.name.replace('_', '-')}" in names
            assert one.metadata["help"], one.name
            assert one.metadata["source"] or one.default is not None or one.default is MISSING
    assert len(names) == len(OPTIONS)


@pytest.mark.parametrize(
    "options",
    [
        ("--gradient-hidden", "5"),
        ("--hyper", "n_steps=4"),
        ("--algo", "ppo", "--evolution-hidden", "5"),
    ],
)
def test_an_option_that_the_algorithm_does_not_read_is_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=f"{options[-2]} must be left out with --algo"):
        chosen(*options)


def test_without_options_it_is_the_evolution_strategy_on_the_paper_s_scenario() -> None:
    settings = chosen()
    assert (settings.algo, settings.scenario, settings.objective) == ("es", "paper", "balanced")
    assert settings.timesteps / settings.eval_every == VALIDATIONS


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_defaults_of_every_algorithm_are_the_same_from_python_and_from_the_command(
    algo: str,
) -> None:
    settings = chosen("--algo", algo)
    assert settings == TrainSettings(algo=algo)
    defaults = ALGORITHMS[algo].defaults
    assert (settings.timesteps, settings.num_envs) == (defaults["timesteps"], defaults["num_envs"])
    assert chosen("--algo", algo, "--timesteps", "1000").eval_every == 1000 // VALIDATIONS


def test_fields_of_the_parts_are_options_too() -> None:
    assert chosen("--evolution-sigma", "0.5").evolution.sigma == 0.5
    assert chosen("--evolution-refine-at", "1e6").evolution.refine_at == 1_000_000
    for name in ("--policy", "--gradient-policy"):
        assert chosen("--algo", "ppo", name, "mlp").gradient.policy == "mlp"
    given = ["n_steps=64", "use_sde=false", "target_kl=0.01", "ent_coef=auto"]
    pairs = [word for pair in given for word in ("--hyper", pair)]
    assert chosen("--algo", "ppo", *pairs).gradient.hyper == {
        "n_steps": 64,
        "use_sde": False,
        "target_kl": 0.01,
        "ent_coef": "auto",
    }
    emphasis = chosen("--algo", "ppo", "--gradient-emphasis", "sla=1").gradient.emphasis
    assert emphasis == {"fairness": 15.0, "sla": 1.0, "tail": 2.0}
    with pytest.raises(ConfigError, match="--hyper must be KEY=VALUE, got 'n_steps'"):
        chosen("--hyper", "n_steps")


def test_the_command_line_overrules_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    gradient = GradientConfig(hidden=5, hyper={"n_steps": 8, "ent_coef": 0.5})
    TrainSettings(algo="a2c", timesteps=77, num_envs=5, seed=9, gradient=gradient).to_toml(file)
    settings = chosen("--config", str(file), "--seed", "10", "--hyper", "n_steps=16")
    assert (settings.algo, settings.timesteps, settings.num_envs) == ("a2c", 77, 5)
    assert settings.seed == 10
    assert settings.gradient.hidden == 5
    assert settings.gradient.hyper == {"n_steps": 16, "ent_coef": 0.5}


def test_a_file_that_names_an_algorithm_has_that_one_s_defaults(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('algo = "dqn"\nseed = 4\n')
    assert chosen("--config", str(file)) == TrainSettings(algo="dqn", seed=4)


def test_a_mistake_in_the_file_is_the_file_s_and_one_in_an_option_the_option_s(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("timesteps = 0\n")
    with pytest.raises(ConfigError, match=r"settings\.toml: timesteps must be a whole number"):
        chosen("--config", str(file), "--timesteps", "5")
    file.write_text("timesteps = 5\n")
    with pytest.raises(ConfigError, match=r"^the options: timesteps must be a whole number"):
        chosen("--config", str(file), "--timesteps", "0")


def test_a_run_ends_with_a_comparison(
    tiny_toml: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--algo", "es", "--scenario", str(tiny_toml), "--num-envs", "8"]
    arguments += ["--timesteps", "200", "--eval-workloads", "4", "--output", str(tmp_path / "run")]
    assert ended(arguments) == 0
    printed = capsys.readouterr().out
    assert "run: prema-gym train --algo es" in printed
    assert "400 unseen workloads" in printed
    assert printed.count("×") == 5


@pytest.mark.parametrize("program", ["prema-gym", "train.py"])
def test_mistakes_give_one_line_and_status_2(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        [],
        ["--output", "a", "--resume", "b"],
        ["--output", str(tmp_path), "--scenario", "papre"],
        ["--output", str(tmp_path), "--algo", "sarsa"],
        ["--resume", str(tmp_path / "nothing")],
        ["--output", str(tmp_path), "--config", str(tmp_path / "gone.toml")],
        ["--timesteps", "1.5"],
        ["--timesteps", "inf"],
        ["--timesteps"],
        ["--nonsense"],
    ):
        assert (ended(arguments) if program == "prema-gym" else ended_script(arguments)) == 2
        errors = capsys.readouterr().err
        assert errors.startswith(f"{program}: ")
        assert errors.count("\n") == 1


@pytest.mark.parametrize("text", ["1000000", "1_000_000", "1e6"])
def test_whole_numbers_may_be_written_in_three_ways(text: str) -> None:
    assert chosen("--timesteps", text).timesteps == 1_000_000


def test_what_cannot_be_written_is_one_line(
    tiny_toml: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(path: Path, write: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("prema_gym.agents.training.run_folder.write_atomically", full)
    assert ended(["--scenario", str(tiny_toml), "--output", str(tmp_path / "run")]) == 2
    errors = capsys.readouterr().err
    assert errors == f"prema-gym: {tmp_path}/run/last.state: No space left on device\n"


def test_a_resumed_run_takes_no_other_settings(
    tiny_toml: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    settings = TrainSettings(
        scenario=str(tiny_toml), timesteps=200, num_envs=8, eval_workloads=4, threads=1
    )
    training.train(run, settings)
    assert ended(["--resume", str(run), "--algo", "ppo", "--num-envs", "4"]) == 2
    assert "not --algo, --num-envs" in capsys.readouterr().err
    (run / "config.toml").write_text("")
    assert ended(["--resume", str(run)]) == 2
    assert "config.toml is damaged: it is empty" in capsys.readouterr().err


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_an_interrupt_says_what_is_true(
    algo: str,
    tiny_toml: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    command = ["--algo", algo, "--scenario", str(tiny_toml), "--num-envs", "8"]
    command += ["--timesteps", "1e9", "--eval-workloads", "4", "--output", str(run)]
    with monkeypatch.context() as patch:
        patch.setattr(
            "prema_gym.agents.training.validation.Validator.__init__", stop
        )  # before the first save
        assert ended(command) == 130
    said = capsys.readouterr().err
    assert said.endswith("\nstopped before anything was saved; the same command starts over\n")
    assert not RunFolder(run).was_saved
    with monkeypatch.context() as patch:
        patch.setattr("prema_gym.agents.training.evolution.search.EvolutionStrategy.step", stop)
        patch.setattr("prema_gym.agents.training.gradient.callbacks.Keeper._on_step", stop)
        assert ended(command) == 130
    said = capsys.readouterr().err
    assert said.endswith(f"\nstopped and saved; go on with: prema-gym train --resume {run}\n")
    assert RunFolder(run).was_saved


def test_a_run_that_the_script_started_goes_on_with_the_script(
    tiny_toml: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    monkeypatch.setattr("prema_gym.agents.training.evolution.search.EvolutionStrategy.step", stop)
    command = ["--scenario", str(tiny_toml), "--num-envs", "8", "--output", str(run)]
    assert ended_script(command) == 130
    said = capsys.readouterr().err
    assert said.endswith(f"go on with: python train.py --resume {run}\n")


@pytest.mark.parametrize("during", ["gymnasium", "prema_gym.cli"])
@pytest.mark.parametrize(
    "start",
    [
        "runpy.run_path('train.py', run_name='__main__')",
        "import prema_gym_command; prema_gym_command.main()",  # as `prema-gym` starts
    ],
)
def test_an_interrupt_while_everything_is_imported_is_one_word(start: str, during: str) -> None:
    lines = (
        "import runpy, sys",
        "class Stop:",
        "    def find_spec(self, name, *_):",
        f"        if name == {during!r}: raise KeyboardInterrupt",
        "sys.meta_path.insert(0, Stop())",
        start,
    )
    root = Path(train.__file__).parent
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "stopped\n")


def test_errors_are_of_the_one_family() -> None:
    with pytest.raises(PremaError):
        chosen("--timesteps", "0")
