from __future__ import annotations

import os
import select
import sys
import time

import pytest

from tests.cli.command_line import run


def test_into_a_pipe_every_switch_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "watch", "--policy", "dynamic-prema", "--seed", "3")
    assert status == 0
    one_line = " ".join(out.split())  # a narrow terminal wraps lines
    assert one_line.count("dynamic-prema · paper, seed 3") == one_line.count("ms, decision ")
    assert "lets 2 alexnet ×4 π=9 take over from 0 googlenet ×16 π=3" in one_line
    assert "are in the system" in out
    every = run(capsys, "watch", "--policy", "dynamic-prema", "--seed", "3", "--every")[1]
    assert f"decision 1 of {every.count('ms, decision ')}:" in every


def test_one_policy_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "watch", "--policy", "np-fcfs,np-sjf")
    assert status == 2
    assert "one policy is watched at a time, got np-fcfs,np-sjf" in err


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Unix")
def test_keys_step_and_quit() -> None:
    """In a terminal of its own: it pauses, steps on and back, and ends when it is told to."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm", "COLUMNS": "110", "LINES": "40"}
        os.execv(sys.executable, [sys.executable, "-c", MAIN, *WATCH])
    seen = b""

    def until(text: str) -> None:
        nonlocal seen
        end = time.monotonic() + 120
        while text.encode() not in seen:
            assert time.monotonic() < end, seen[-2000:]
            if select.select([terminal], [], [], 1.0)[0]:
                seen += os.read(terminal, 65536)

    until("paus")  # the line of keys
    os.write(terminal, b"\x1b[C")
    until("[paused]")
    os.write(terminal, b"\x1b[D")
    os.write(terminal, b"q")
    assert os.waitpid(child, 0)[1] == 0
    os.close(terminal)


WATCH = ("watch", "--policy", "np-fcfs", "--seed", "3", "--speed", "0.01")
MAIN = "from prema_gym.cli import main; main()"
