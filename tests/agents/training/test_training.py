from __future__ import annotations

import contextlib
import json
import os
import pickle
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
import torch

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym.agents.algorithms import ALGORITHMS
from prema_gym.agents.training import run as training
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.gradient.callbacks import Keeper
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from prema_gym import agents
from prema_gym.errors import ConfigError
from prema_gym.files import write_toml
from prema_gym.simulator.observation import NUM_COLUMNS
from prema_gym.workloads import Scenario
from prema_gym.workloads.catalog import Catalog
from tests.agents.conftest import TINY, tables

ROOT = Path(__file__).parents[3]
HYPER = {
    "maskable-ppo": {"n_steps": 32},
    "ppo": {"n_steps": 32},
    "a2c": {},
    "dqn": {"learning_starts": 64, "buffer_size": 1000, "batch_size": 32},
}


def small(algo: str, scenario: Path, **changes: object) -> TrainSettings:
    """A run of a second or two."""
    settings = TrainSettings(
        algo=algo,
        scenario=str(scenario),
        timesteps=512,
        num_envs=8,
        seed=3,
        eval_every=256,
        eval_workloads=8,
        threads=1,
        evolution=EvolutionConfig(population=4),
        gradient=GradientConfig(
            hidden=4, readers=4, critic_width=8, hyper=HYPER.get(algo, {}), emphasis={}
        ),
    )
    return replace(settings, **changes)  # type: ignore[arg-type]


def weights_of(run: Path) -> np.ndarray:
    last = sorted((run / "checkpoints").glob("*.npz"))[-1]
    return np.concatenate([array.reshape(-1) for array in agents.load(last).weights])  # type: ignore[union-attr]


def _written(file: Path) -> tuple[int, int]:
    """Order of event files: second of the start and number in the process, neither as text."""
    parts = file.name.split(".")
    return int(parts[3]), int(parts[-1])


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    """Every curve that TensorBoard would draw."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for file in sorted((run / "tensorboard").glob("events.*"), key=_written):
        events = EventAccumulator(str(file))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            points = [(event.step, event.value) for event in events.Scalars(tag)]
            curves.setdefault(tag, []).extend(points)
    return curves


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
    # From 0.001 to 0 over the steps asked for; a rollout of 256 learns at the rate of its start,
    # and is logged at its end. The second part goes on at 1024 of 2048, not at the beginning.
    assert rates[1024] == pytest.approx(1e-3 * (1 - 768 / 1024))
    assert rates[1536] == pytest.approx(1e-3 * (1 - 1280 / 2048))
    assert rates[2048] == pytest.approx(1e-3 * (1 - 1792 / 2048))


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


def test_a_folder_is_not_overwritten_and_nothing_is_resumed_from_nowhere(
    tiny_toml: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    training.train(run, small("es", tiny_toml))
    with pytest.raises(ConfigError, match="already holds a run: resume it"):
        training.train(run, small("es", tiny_toml))
    with pytest.raises(ConfigError, match="holds no run"):
        training.resume(tmp_path)


@pytest.mark.parametrize("algo", ["es", "maskable-ppo"])
def test_a_run_stopped_before_it_was_saved_starts_over(
    algo: str, tiny_toml: Path, tmp_path: Path
) -> None:
    for name, again in (
        ("resumed", lambda run: training.resume(run)),
        ("anew", lambda run: training.train(run, small(algo, tiny_toml))),
    ):
        RunFolder.create(tmp_path / name, small(algo, tiny_toml))
        again(tmp_path / name)
        starts = json.loads((tmp_path / name / "run.json").read_text())["starts"]
        assert [start["timesteps"] for start in starts] == [0, 0]
    assert np.array_equal(weights_of(tmp_path / "resumed"), weights_of(tmp_path / "anew"))
    # A setting that was refused once does not stand in the way of a better one.
    with pytest.raises(ConfigError, match="device"):
        training.train(tmp_path / "refused", small("a2c", tiny_toml, device="nonsense"))
    training.train(tmp_path / "refused", small("es", tiny_toml))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("evaluations.csv", "is damaged: its last line"),
        ("run.json", r"/run\.json' is not valid JSON"),
        ("last.state", r"/last\.state is damaged"),
    ],
)
@pytest.mark.parametrize("algo", ["es", "ppo"])
def test_half_a_file_of_a_run_is_one_clear_line(
    algo: str, file: str, message: str, tiny_toml: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    training.train(run, small(algo, tiny_toml))
    content = (run / file).read_bytes()
    (run / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ConfigError, match=message) as error:
        training.resume(run, timesteps=1024)
    assert "\n" not in str(error.value)


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


def test_a_state_with_damage_inside_names_the_file(tiny_toml: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    training.train(run, small("a2c", tiny_toml))
    folder = RunFolder(run)
    whole = pickle.loads(folder.load_state())
    for name, value in (("model", b"none"), ("torch", b"short"), ("numpy", 3), ("episodes", {})):
        folder.save_state(pickle.dumps(whole | {name: value}))
        with pytest.raises(ConfigError, match=r"/last\.state is damaged") as error:
            training.resume(run, timesteps=1024)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"5\n", b"[]\n", b"\xff\n", b""])
def test_evaluations_that_are_none_are_damage(
    content: bytes, tiny_toml: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    training.train(run, small("es", tiny_toml))
    (run / "evaluations.csv").write_bytes(content)
    with pytest.raises(ConfigError, match=r"evaluations\.csv is damaged"):
        training.resume(run, timesteps=1024)
    (run / "last.state").unlink()
    for again in (
        lambda: training.resume(run),
        lambda: training.train(run, small("es", tiny_toml)),
    ):
        with pytest.raises(ConfigError, match=r"holds evaluations and no last\.state"):
            again()


def test_bytes_that_mean_nothing_are_a_damaged_policy(tiny_toml: Path, tmp_path: Path) -> None:
    training.train(tmp_path / "run", small("es", tiny_toml))
    path = tmp_path / "run" / "best.npz"
    content = path.read_bytes()
    for start in range(0, len(content) - 40, 61):
        path.write_bytes(content[:start] + bytes(40) + content[start + 40 :])
        with contextlib.suppress(ConfigError):  # or it hit what does not matter
            agents.load(path)


def test_a_line_that_is_no_evaluation_is_named(tiny_toml: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    training.train(run, small("es", tiny_toml))
    path = run / "evaluations.csv"
    path.write_text(path.read_text() + "12,oops\n")
    number = len(path.read_text().splitlines())
    with pytest.raises(ConfigError, match=f"evaluations.csv is damaged in line {number}"):
        training.resume(run, timesteps=1024)


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


def test_a_device_that_is_not_there_is_refused(tiny_toml: Path, tmp_path: Path) -> None:
    for device in ("nonsense", *(() if torch.cuda.is_available() else ("cuda",))):
        with pytest.raises(ConfigError, match=f"device '{device}' cannot be used here") as error:
            training.train(tmp_path / device, small("a2c", tiny_toml, device=device))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("algo", "hyper"),
    [
        ("ppo", {"n_step": 3}),
        ("ppo", {"n_steps": "x"}),
        ("ppo", {"n_steps": 0}),
        ("ppo", {"batch_size": 0}),
        ("dqn", {"train_freq": "x"}),
    ],
)
def test_arguments_that_sb3_refuses_are_one_line_that_says_where(
    algo: str, hyper: dict[str, Any], tiny_toml: Path, tmp_path: Path
) -> None:
    settings = small(algo, tiny_toml, gradient=GradientConfig(hyper=hyper))
    message = rf"{tmp_path}/run/config\.toml: \[gradient\.hyper\] does not suit {algo}: \w*"
    with pytest.raises(ConfigError, match=message) as error:
        training.train(tmp_path / "run", settings)
    assert "\n" not in str(error.value)


def test_a_folder_with_other_things_is_left_alone(tiny_toml: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds other files"):
        training.train(tmp_path, small("es", tiny_toml))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_settings_survive_a_file(tmp_path: Path) -> None:
    settings = TrainSettings(algo="ppo", gradient=GradientConfig(hyper={"n_steps": 64}))
    settings.to_toml(tmp_path / "settings.toml")
    assert TrainSettings.from_toml(tmp_path / "settings.toml") == settings


@pytest.mark.slow
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
