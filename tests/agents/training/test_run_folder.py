from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prema_gym.agents.training.progress import Reporter
from prema_gym.agents.training.provenance import git_state, versions_of_run
from prema_gym.agents.training.run_folder import RunFolder, find_policy
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError
from prema_gym.files import read_json
from prema_gym.workloads import Scenario
from tests.agents.conftest import TINY


def test_evaluations_are_appended_and_dropped_beyond_a_resumption(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TrainSettings())
    assert folder.rows() == []
    assert folder.best_score() == float("-inf")
    for step, score in ((10, 0.25), (20, 0.5), (30, -1.0)):
        folder.add_evaluation(step, {"score": score})
    assert folder.best_score() == 0.5
    folder.resumed(20)
    assert [row["timesteps"] for row in folder.rows()] == ["10", "20"]
    assert folder.evaluations.read_text().splitlines()[0] == "timesteps,wall_s,score"


def test_the_time_spent_goes_on_over_starts(tmp_path: Path) -> None:
    first = RunFolder.create(tmp_path / "run", TrainSettings())
    first._spent_before = 100.0
    first.add_evaluation(10, {"score": 1.0})
    first._spent_before = 200.0
    first.save_state(b"between two evaluations")
    second, _ = RunFolder.open(first.path)
    assert second.load_state() == b"between two evaluations"
    second.resumed(10)
    assert 200.0 <= second.spent_s < 300.0
    second._spent_before = 300.0
    second.add_evaluation(20, {"score": 1.0})
    # Killed after an evaluation and before the state was saved again.
    third, _ = RunFolder.open(first.path)
    third.load_state()
    third.resumed(10)
    third.add_evaluation(20, {"score": 1.0})
    spent = [float(row["wall_s"]) for row in third.rows()]
    assert 100.0 <= spent[0] < 200.0
    assert 300.0 <= spent[1] < 400.0


def test_a_state_without_a_time_is_read_and_one_with_half_of_it_is_damaged(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TrainSettings())
    folder.state.write_bytes(b"\x80 of an older version")
    assert folder.load_state() == b"\x80 of an older version"
    folder.state.write_bytes(b"wall_s 12.x")
    with pytest.raises(ConfigError, match=r"last\.state is damaged"):
        folder.load_state()


def test_every_start_is_listed_also_those_from_the_beginning(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TrainSettings())
    RunFolder.create(folder.path, TrainSettings())  # stopped before anything was saved
    for timesteps in (0, 512):
        folder.resumed(timesteps)
    starts = json.loads((folder.path / "run.json").read_text())["starts"]
    assert [start["timesteps"] for start in starts] == [0, 0, 0, 512]


def test_run_json_is_strict_json_and_an_old_one_with_infinity_is_read(tmp_path: Path) -> None:
    endless = replace(TINY, hardware=replace(TINY.hardware, dram_bytes_per_s=math.inf))
    endless.to_toml(tmp_path / "endless.toml")
    settings = TrainSettings(scenario=str(tmp_path / "endless.toml"))
    folder = RunFolder.create(tmp_path / "run", settings)
    path = folder.path / "run.json"

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = path.read_text()
    json.loads(text, parse_constant=refuse)
    assert '"inf"' in text
    assert Scenario.from_dict(read_json(path, infinity=True)["scenario"]) == endless
    folder.check_problem(settings)
    path.write_text(text.replace('"inf"', "Infinity"))  # as older versions wrote it
    folder.check_problem(settings)
    folder.note_start(7)
    json.loads(path.read_text(), parse_constant=refuse)


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
    known = versions_of_run()
    assert {"python", "machine", "prema-gym", "torch"} <= set(known)
    assert known["numpy"] == np.__version__
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
