from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import ALGORITHMS, TrainSettings

import train
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
        assert errors.startswith("train.py: error: ")
        assert errors.count("\n") == 1


def test_mistakes_in_options_give_one_line_without_the_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (
        ["--algo", "sarsa"],
        ["--timesteps", "1.5"],
        ["--timesteps", "inf"],
        ["--timesteps"],
        ["--nonsense"],
    ):
        with pytest.raises(SystemExit) as stop:
            train.main(arguments)
        assert stop.value.code == 2
        errors = capsys.readouterr().err
        assert errors.startswith("train.py: error: ")
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
    assert train.main(["--scenario", str(tiny_toml), "--output", str(tmp_path / "run")]) == 2
    errors = capsys.readouterr().err
    assert errors == f"train.py: error: {tmp_path}/run/last.state: No space left on device\n"


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
        assert train.main(command) == 130
    said = capsys.readouterr().err
    assert said.endswith("\nstopped before anything was saved; the same command starts over\n")
    assert not RunFolder(run).was_saved
    with monkeypatch.context() as patch:
        patch.setattr("prema_gym.agents.training.evolution.search.EvolutionStrategy.step", stop)
        patch.setattr("prema_gym.agents.training.gradient.callbacks.Keeper._on_step", stop)
        assert train.main(command) == 130
    said = capsys.readouterr().err
    assert said.endswith(f"\nstopped and saved; go on with: python train.py --resume {run}\n")
    assert RunFolder(run).was_saved


def test_an_interrupt_while_everything_is_imported_is_one_word() -> None:
    lines = (
        "import runpy, sys",
        "class Stop:",
        "    def find_spec(self, name, *_):",
        "        if name == 'prema_gym.baselines': raise KeyboardInterrupt",
        "sys.meta_path.insert(0, Stop())",
        "runpy.run_path('train.py', run_name='__main__')",
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
