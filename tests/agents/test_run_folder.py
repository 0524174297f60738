from __future__ import annotations

import io
from pathlib import Path

import pytest

from agents.progress import Reporter
from agents.run_folder import RunFolder, find_policy, git_state, versions
from agents.settings import TrainSettings
from prema_gym.errors import ConfigError


def test_evaluations_are_appended_and_dropped_beyond_a_resumption(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TrainSettings())
    assert folder.rows() == []
    assert folder.best_score() == float("-inf")
    for step, score in ((10, 0.25), (20, 0.5), (30, -1.0)):
        folder.add_evaluation(step, 1.0, {"score": score})
    assert folder.best_score() == 0.5
    folder.resumed(20)
    assert [row["timesteps"] for row in folder.rows()] == ["10", "20"]
    assert folder.evaluations.read_text().splitlines()[0] == "timesteps,wall_s,score"


def test_checkpoints_sort_by_time_and_the_best_goes_first(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TrainSettings())
    for step in (9, 1_000_000, 20):
        folder.checkpoint(step, ".npz").touch()
    assert find_policy(folder.path).name == "step_000001000000.npz"
    (folder.path / "best.npz").touch()
    assert find_policy(folder.path).name == "best.npz"


def test_a_folder_that_cannot_be_made_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot make"):
        RunFolder.create(tmp_path / "file" / "run", TrainSettings())


def test_versions_and_source_are_known() -> None:
    assert versions()["numpy"] != "not installed"
    assert git_state()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_with_an_eta_and_a_pipe_plain_lines() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        with Reporter(200, stream) as reporter:
            reporter.at(100)
            reporter.say("half of it")
    assert "ETA" in terminal.getvalue()
    assert "100/200" in terminal.getvalue()
    assert "half of it" in terminal.getvalue()
    assert pipe.getvalue() == "half of it\n"
