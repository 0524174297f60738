"""How a command starts and ends: one plain line and status 2 for a mistake, quiet ends."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command_line import FAST, run

COMMAND = (sys.executable, "-c", "from prema_gym.cli import main; main()")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--version")
    assert status == 0
    assert out.startswith("prema-gym ")
    status, out, _ = run(capsys)
    assert status == 0
    assert "evaluate" in out


def test_eighty_columns_lose_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (FAST, ["networks"], ["scenarios"], ["preemption", "mobilenet-v1"]):
        _, out, _ = run(capsys, *arguments)
        assert max(len(line) for line in out.splitlines()) <= 80
        assert "…" not in out
    _, out, _ = run(capsys, "networks")
    assert "mobilenet-v1" in out


@pytest.mark.parametrize(
    ("arguments", "needles"),
    [
        (
            ("evaluate", "--policies", "clairvoyant-ant"),
            ("'clairvoyant-ant'", "did you mean 'clairvoyant-antt'", "`prema-gym policies`"),
        ),
        (("evaluate", "--policies", "path:nowhere"), ("nowhere", "no file or folder")),
        (("evaluate", "--policies", "path:"), ("no file or folder",)),
        (("evaluate", "--policies", "learnd"), ("'learnd'", "did you mean 'learned'")),
        (("evaluate", "--policies", "learned:x=1"), ("'learned'", "takes no parameters")),
        (("evaluate", "--policies", "np-fcfs:levels=1"), ("'np-fcfs'", "takes no parameters")),
        (("evaluate", "--per-workload"), ("--per-workload", "--format")),
        (("evaluate", "--output", __file__), ("not a folder",)),
        (("evaluate", "--slots", "1000000000000"), ("slots", "4096")),
        (("evaluate", "--workloads", "1000000000000"), ("workloads", "100000")),
        (("evaluate", "--policies", "dynamic-perma"), ("'dynamic-perma'", "'dynamic-prema'")),
        (("evaluate", "--policies", ""), ("policies",)),
        (("evaluate", "--policies", "np-fcfs,np-fcfs"), ("np-fcfs", "twice")),
        (("evaluate", "--policies", "static-prema:strikt=true"), ("'strikt'", "'strict'")),
        (("evaluate", "--scenario", "papers"), ("'papers'", "'paper'")),
        (("evaluate", "--scenario", "absent.toml"), ("absent.toml",)),
        (("evaluate", "--workloads", "0"), ("--workloads", "1")),
        (
            ("evaluate", "--workloads", "many"),
            ("prema-gym: --workloads must be a whole number from 1 to 100000 (given", "many)"),
        ),
        (("evaluate", "--speed", "x"), ("prema-gym: --speed must be a number (given",)),
        (("evaluate", "--token-wait", "never"), ("'never'", "since_wakeup")),
        (("evaluate", "--slots", "-1"), ("--slots",)),
        (("evaluate", "--fromat", "json"), ("--fromat",)),
        (("evaluate", "--format", "xml"), ("xml", "json")),
        (("reproduce", "--only", "annt"), ("'annt'", "'antt'")),
        (("reproduce", "--only", ""), ("unknown claim ''",)),
        (("evaluate", "--workloads", "0"), ("must be a whole number from 1 to 100000, got 0",)),
        (("explain", "--metric", "speed"), ("'speed'", "antt, stp", "illegal_actions")),
        (("preemption", "alexnett"), ("'alexnett'", "'alexnet'")),
        (("networks", "--hardware", "absent.toml"), ("absent.toml",)),
        (("evalute",), ("evalute",)),
    ],
)
def test_a_mistake_gets_one_plain_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], needles: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("prema-gym: ")
    assert err.count("\n") == 1, err
    assert "Value error" not in err, "another package's words"
    for needle in needles:
        assert needle in err


def test_a_disk_that_is_full_is_one_line() -> None:
    code = "from prema_gym.cli import main; main(['scenarios'])"
    with Path("/dev/full").open("wb", buffering=0) as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("prema-gym: cannot write the result")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_failure() -> None:
    command = shlex.join([*COMMAND, "evaluate", "--policies", "np-fcfs", "--workloads", "2"])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_says_that_it_stopped() -> None:
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "--workloads", "50000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    try:
        # A signal that comes while compiled modules are loaded may be lost: press again, as people
        # do, however busy the machine is.
        errors = None
        for _ in range(40):
            time.sleep(4)
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, errors = process.communicate(timeout=4)
                break
    finally:
        process.kill()
    assert (process.returncode, str(errors).strip()) == (130, "stopped")


def test_an_encoding_without_the_signs_is_no_failure() -> None:
    done = subprocess.run(
        [*COMMAND, "evaluate", "--policies", "np-fcfs", "--workloads", "2"],
        capture_output=True, cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"np-fcfs" in done.stdout
