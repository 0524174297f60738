"""Is every damaged file of a training run one clear line?"""

from __future__ import annotations

import contextlib
import pickle
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym import agents
from prema_gym.agents.training import run as training
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.errors import ConfigError
from tests.agents.training.runs import small

pytestmark = pytest.mark.heavy  # trains


def test_a_folder_is_not_overwritten_and_nothing_is_resumed_from_nowhere(
    tiny_toml: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    training.train(run, small("es", tiny_toml))
    with pytest.raises(ConfigError, match="already holds a run: resume it"):
        training.train(run, small("es", tiny_toml))
    with pytest.raises(ConfigError, match="holds no run"):
        training.resume(tmp_path)


def test_a_folder_with_other_things_is_left_alone(tiny_toml: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds other files"):
        training.train(tmp_path, small("es", tiny_toml))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


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
        partial(training.resume, run),
        partial(training.train, run, small("es", tiny_toml)),
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
