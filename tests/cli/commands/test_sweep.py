"""A sweep that was stopped at any moment goes on, and ends as if it had not been."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from prema_gym import cli
from prema_gym.cli.distributing import Workers
from prema_gym.cli.points import POINTS_FILE, kept_points
from prema_gym.cli.sweeping import read_loads, read_over, read_slo, run_sweep
from prema_gym.errors import ConfigError
from prema_gym.evaluation.streams import StreamSettings
from prema_gym.evaluation.sweep import SweepPoint
from prema_gym.metrics.dependent import Estimate
from prema_gym.workloads import Scenario

SWEEP = [
    "sweep", "--scenario", "mlperf-server", "--policies", "np-fcfs,static-edf",
    "--load", "0.5,1.1", "--requests", "300", "--threads", "1",
]  # fmt: skip
# Stops itself as `kill -9` does, in the middle of writing its fourth point.
KILLED = f"""
import os, signal, sys
from prema_gym.cli import main
from prema_gym.cli import points

whole = points.Points.keep
count = 0

def keep(self, point):
    global count
    count += 1
    if count == 4:
        self._file.write(points._line(point.to_dict())[:100])
        self._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    whole(self, point)

points.Points.keep = keep
main({SWEEP!r} + ["--output", sys.argv[1]])
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main([*SWEEP, *arguments])
    return int(stop.value.code or 0)


@pytest.mark.heavy
def test_a_killed_sweep_goes_on_to_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run("--output", str(whole)) == 0
    done = subprocess.run([sys.executable, "-c", KILLED, str(killed)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (killed / "sweep.json").exists()
    lines = (killed / POINTS_FILE).read_text().splitlines(keepends=True)
    assert len(lines) == 1 + 3 + 1
    assert not lines[-1].endswith("\n")
    capsys.readouterr()
    assert run("--output", str(killed)) == 0
    assert "line 5 is torn: that point is played again" in capsys.readouterr().err
    for name in ("sweep.json", "sweep.csv"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    # A third time there is nothing left to play, and nothing changes.
    before = (killed / POINTS_FILE).read_bytes()
    assert run("--output", str(killed)) == 0
    assert (killed / POINTS_FILE).read_bytes() == before
    # What was kept is of this sweep only.
    shutil.rmtree(whole)
    assert run("--output", str(killed), "--slo", "p50") == 2
    assert "is of another sweep" in capsys.readouterr().err


def point(load: float = 0.5) -> SweepPoint:
    return SweepPoint(
        policy="np-fcfs",
        load=load,
        over={"drop": "late"},
        rate_per_s=3.0,
        worst="all",
        taken=Estimate(0.1, math.nan, 0.2),
        keeps_up=True,
        could_per_s=math.inf,
        utilisation=0.5,
        overhead=0.0,
        row={"antt": Estimate(1.0, math.nan, math.nan)},
    )


def test_a_point_survives_its_line() -> None:
    with kept_points(None, {}) as points:
        points.keep(point())  # without a folder nothing is kept
        assert points.known == []


def test_points_are_on_the_disk_as_soon_as_they_are_kept(tmp_path: Path) -> None:
    with kept_points(tmp_path / "new", {"a": 1}) as points:
        for load in (0.5, 0.25):
            points.keep(point(load))
            text = (tmp_path / "new" / POINTS_FILE).read_text()
            assert text.endswith("\n")
            assert json.loads(text.splitlines()[-1])["load"] == load
    with kept_points(tmp_path / "new", {"a": 1}) as points:
        assert repr(points.known) == repr([point(0.5), point(0.25)])


def test_a_stop_while_going_on_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept_points(tmp_path, {"a": 1}) as points:
        points.keep(point())
    text = (tmp_path / POINTS_FILE).read_text()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt), kept_points(tmp_path, {"a": 1}):
        pass
    assert (tmp_path / POINTS_FILE).read_text() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [lines[0][:-9] + "\n", *lines[1:]], "is of another sweep"),
        (lambda lines: [lines[0], "{\n", *lines[1:]], r"line 2 is damaged"),
        (lambda lines: [lines[0], "{}\n"], r"line 2 is damaged"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, change: object, message: str) -> None:
    with kept_points(tmp_path, {"a": 1}) as points:
        points.keep(point())
        points.keep(replace(point(), load=0.7))
    path = tmp_path / POINTS_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(change(lines)))  # type: ignore[operator]
    with pytest.raises(ConfigError, match=message), kept_points(tmp_path, {"a": 1}):
        pass
    assert path.read_text() == "".join(change(lines)), "it is left as it is"  # type: ignore[operator]


@pytest.mark.parametrize("cut", [1, 8])
def test_a_head_that_is_torn_is_written_anew(tmp_path: Path, cut: int) -> None:
    with kept_points(tmp_path, {"a": 1}):
        pass
    path = tmp_path / POINTS_FILE
    path.write_text(path.read_text()[:-cut])
    with kept_points(tmp_path, {"a": 1}) as points:
        assert points.known == []
    assert path.read_text() == '{"a": 1}\n'


def test_loads_promises_and_values_are_read() -> None:
    assert read_loads("0.1:0.5:0.2") == [0.1, 0.3, 0.5]
    assert read_loads("0.5,0.7") == [0.5, 0.7]
    assert read_slo("p99.9:12.5ms").limit_ms == 12.5
    assert read_over(["drop=late,never", "queue_limit=4"]) == [
        {"drop": "late", "queue_limit": 4},
        {"drop": "never", "queue_limit": 4},
    ]
    with pytest.raises(ConfigError, match=r"--load: FIRST must not exceed LAST, got '0.5:0.1:0.1'"):
        read_loads("0.5:0.1:0.1")
    for text in ("0,1", "a", "0.7,0.5", "1:2:0", "nan"):
        with pytest.raises(ConfigError, match="--load must be"):
            read_loads(text)
    for text in ("p98", "p99:0", "p99:x", ""):
        with pytest.raises(ConfigError, match="--slo must be"):
            read_slo(text)


def test_a_log_that_changed_is_another_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prema_gym.evaluation.sweep.sweep", lambda *_, keep, **__: keep(point()))
    log, toml, kept = tmp_path / "log.csv", tmp_path / "mine.toml", tmp_path / "kept"
    log.write_text("arrival_ms\n0\n1\n")
    toml.write_text(
        'networks = ["alexnet"]\narrival = "trace"\ntrace = "log.csv"\nrequests = 2\nload = 0.5\n'
    )
    scenario = Scenario.from_toml(toml)

    def play() -> None:
        who = Workers(workers=1)
        run_sweep(scenario, {}, [0.5], read_slo("p99"), [{}], StreamSettings(), kept, who)

    play()
    play()
    log.write_text("arrival_ms\n0\n2\n")
    with pytest.raises(ConfigError, match=r"is of another sweep \(scenario, a file of it"):
        play()
