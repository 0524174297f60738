"""Is a training run that is broken off and resumed the same as one in one go?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym import agents
from prema_gym.agents.algorithms import ALGORITHMS
from prema_gym.agents.training import run as training
from prema_gym.agents.training.gradient.callbacks import Keeper
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.errors import ConfigError
from prema_gym.workloads import Scenario
from prema_gym.workloads.catalog import Catalog
from tests.agents.conftest import TINY
from tests.agents.training.runs import scalars, small, weights_of

pytestmark = pytest.mark.heavy  # trains


ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_resumed_run_goes_on_where_it_stopped(
    algo: str, tiny: Catalog, tiny_toml: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    training.train(run, small(algo, tiny_toml))
    folder = RunFolder(run)
    before = folder.rows()
    kept = sorted(path.name for path in folder.checkpoints.iterdir())
    contents = {name: (folder.checkpoints / name).read_bytes() for name in kept}
    training.resume(run, timesteps=1024)
    after = folder.rows()
    assert after[: len(before)] == before
    steps = [int(row["timesteps"]) for row in after]
    assert steps == sorted(set(steps))
    assert len(after) > len(before)
    assert steps[-1] >= 1024
    assert all((folder.checkpoints / name).read_bytes() == contents[name] for name in kept)
    starts = json.loads((run / "run.json").read_text())["starts"]
    assert [start["timesteps"] for start in starts] == [0, int(before[-1]["timesteps"])]
    spent = [float(row["wall_s"]) for row in after]
    assert spent == sorted(spent)
    for tag, points in scalars(run).items():
        axis = [step for step, _ in points]
        assert axis == sorted(axis), tag


def test_an_evolution_in_two_parts_is_the_same_as_in_one(tiny_toml: Path, tmp_path: Path) -> None:
    training.train(tmp_path / "whole", small("es", tiny_toml, timesteps=1024))
    training.train(tmp_path / "parts", small("es", tiny_toml, timesteps=256))
    training.resume(tmp_path / "parts", timesteps=1024)
    assert np.array_equal(weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts"))


@pytest.mark.parametrize(
    ("algo", "how"),
    [
        *product(("maskable-ppo", "ppo", "a2c"), ("interrupted", "killed")),
        # Interrupted, it saves what it has learned by then, in the middle of a rollout.
        ("dqn", "killed"),
    ],
)
def test_a_run_broken_off_and_resumed_is_the_same_as_one_in_one_go(
    algo: str, how: str, tiny_toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also to the last evaluation; killed: nothing is saved on the way out."""
    settings = small(algo, tiny_toml, timesteps=1280)
    training.train(tmp_path / "whole", settings)
    step = Keeper._on_step

    def break_off(self: Keeper) -> bool:
        if self.num_timesteps > 700:  # within a rollout, after the second validation
            if how == "killed":
                monkeypatch.setattr(RunFolder, "save_state", lambda *_: None)
            raise KeyboardInterrupt
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "_on_step", break_off)
        with pytest.raises(KeyboardInterrupt):
            training.train(tmp_path / "parts", settings)
    monkeypatch.undo()
    training.resume(tmp_path / "parts")
    whole, parts = (RunFolder(tmp_path / name) for name in ("whole", "parts"))
    names = sorted(path.name for path in whole.checkpoints.iterdir())
    assert names == sorted(path.name for path in parts.checkpoints.iterdir())
    for name in names:
        one, two = (agents.load(folder.checkpoints / name) for folder in (whole, parts))
        for first, second in zip(one.weights, two.weights, strict=True):  # type: ignore[union-attr]
            assert np.array_equal(first, second), name
    times = {"wall_s", "decisions_per_s"}
    for row, other in zip(whole.rows(), parts.rows(), strict=True):
        assert {k: v for k, v in row.items() if k not in times} == {
            k: v for k, v in other.items() if k not in times
        }


@pytest.mark.parametrize("how", ["interrupted", "killed"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("algo", ["es", "a2c"])
def test_a_validation_broken_off_is_made_good(
    algo: str,
    which: int,
    when: str,
    how: str,
    tiny_toml: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stop comes just before or just after the line of the first or second evaluation."""
    settings = small(algo, tiny_toml, timesteps=768)
    training.train(tmp_path / "whole", settings)
    write, calls = RunFolder.add_evaluation, []

    def break_off(self: RunFolder, *arguments: Any) -> None:
        calls.append(1)
        if when == "after":
            write(self, *arguments)
        if len(calls) == which:
            if how == "killed":
                monkeypatch.setattr(RunFolder, "save_state", lambda *_: None)
            raise KeyboardInterrupt
        if when == "before":
            write(self, *arguments)

    monkeypatch.setattr(RunFolder, "add_evaluation", break_off)
    with pytest.raises(KeyboardInterrupt):
        training.train(tmp_path / "parts", settings)
    monkeypatch.undo()
    training.resume(tmp_path / "parts")
    whole, parts = (RunFolder(tmp_path / name) for name in ("whole", "parts"))
    steps = [[row["timesteps"] for row in folder.rows()] for folder in (whole, parts)]
    assert steps[0] == steps[1]
    for name in ("best.npz", *(["average.npz"] if algo == "es" else [])):
        one, two = (agents.load(folder.path / name) for folder in (whole, parts))
        for first, second in zip(one.weights, two.weights, strict=True):  # type: ignore[union-attr]
            assert np.array_equal(first, second), name


def test_the_learning_rate_continues_after_a_resume(tiny_toml: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    training.train(run, small("maskable-ppo", tiny_toml, timesteps=1024))
    training.resume(run, timesteps=2048)
    rates = dict(scalars(run)["train/learning_rate"])
    # From 0.001 to 0 over the steps asked for; a rollout of 256 is learned from at the rate of its
    # start, so that the last one teaches something, and a line of the log is of the update before.
    # The second part goes on at 1024 of 2048, not at the beginning.
    assert rates[1024] == pytest.approx(1e-3 * (1 - 512 / 1024))
    assert rates[1536] == pytest.approx(1e-3 * (1 - 1024 / 2048))
    assert rates[2048] == pytest.approx(1e-3 * (1 - 1536 / 2048))


@pytest.mark.parametrize("algo", ["es", "maskable-ppo"])
def test_a_run_stopped_before_it_was_saved_starts_over(
    algo: str, tiny_toml: Path, tmp_path: Path
) -> None:
    settings = small(algo, tiny_toml)
    for name in ("resumed", "anew"):
        RunFolder.create(tmp_path / name, settings)
    training.resume(tmp_path / "resumed")
    training.train(tmp_path / "anew", settings)
    for name in ("resumed", "anew"):
        starts = json.loads((tmp_path / name / "run.json").read_text())["starts"]
        assert [start["timesteps"] for start in starts] == [0, 0]
    assert np.array_equal(weights_of(tmp_path / "resumed"), weights_of(tmp_path / "anew"))
    # A setting that was refused once does not stand in the way of a better one.
    with pytest.raises(ConfigError, match="device"):
        training.train(tmp_path / "refused", small("a2c", tiny_toml, device="nonsense"))
    training.train(tmp_path / "refused", small("es", tiny_toml))


def test_a_run_does_not_go_on_with_another_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, file, run = tmp_path / "trace.csv", tmp_path / "mine.toml", tmp_path / "run"
    times = "arrival_s\n" + "".join(f"{k / 100}\n" for k in range(20))
    trace.write_text(times)
    scenario = replace(TINY, arrival="trace", trace=str(trace))
    scenario.to_toml(file)
    training.train(run, small("es", file))
    known = json.loads((run / "run.json").read_text())
    assert Scenario.from_dict(known["scenario"]) == scenario
    assert list(known["files"]) == [str(trace)]

    def refused(changed: str) -> None:
        with pytest.raises(ConfigError, match=f"cannot be resumed: {changed} of scenario") as error:
            training.resume(run, timesteps=1024)
        assert "\n" not in str(error.value)

    replace(scenario, num_tasks=5, priorities=(1,)).to_toml(file)
    refused("num_tasks, priorities")
    scenario.to_toml(file)
    trace.write_text(times.replace("0.01", "0.02"))
    refused("trace")
    # The same content elsewhere is the same problem.
    trace.rename(tmp_path / "moved.csv")
    replace(scenario, trace=str(tmp_path / "moved.csv")).to_toml(file)
    refused("trace")  # it still has the edited time
    (tmp_path / "moved.csv").write_text(times)
    # A run of an older version holds nothing to compare with; from now on it does.
    (run / "run.json").write_text(json.dumps({"starts": known["starts"]}))
    training.resume(run, timesteps=1024)
    assert "nothing is left" not in capsys.readouterr().err
    training.resume(run, timesteps=1024)
    assert "nothing is left to train" in capsys.readouterr().err


@pytest.mark.heavy
def test_an_interrupt_saves_and_says_how_to_go_on(tiny_toml: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "train.py", "--algo", "es", "--scenario", str(tiny_toml)]
    command += ["--num-envs", "8", "--timesteps", "100000000", "--eval-workloads", "4"]
    process = subprocess.Popen(
        [*command, "--eval-every", "2000", "--output", str(run)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 100
    while not (run / "evaluations.csv").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert f"go on with: python train.py --resume {run}" in errors
    done = int(RunFolder(run).rows()[-1]["timesteps"])
    training.resume(run, timesteps=done + 3000)
    assert int(RunFolder(run).rows()[-1]["timesteps"]) > done
