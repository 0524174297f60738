from __future__ import annotations

import os
import re
import select
import sys
import time

import pytest

from tests.cli.command_line import run


def test_into_a_pipe_every_switch_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "watch", "--policy", "dynamic-prema", "--seed", "3")
    assert status == 0
    one_line = " ".join(out.split())  # a narrow terminal wraps lines
    # Each switch, and the end, which comes long after the last decision.
    assert one_line.count("dynamic-prema · paper, seed 3") == one_line.count("ms, decision ") + 1
    end = one_line[one_line.rindex("dynamic-prema · paper") :]
    assert "248.026 ms, the end, after 752 decisions 8 of 8 tasks have arrived, 0 are in" in end
    assert "the system, 8 done: latency" in end
    assert "lets 2 alexnet ×4 π=9 take over from 0 googlenet ×16 π=3" in one_line
    assert "are in the system" in out
    every = run(capsys, "watch", "--policy", "dynamic-prema", "--seed", "3", "--every")[1]
    assert f"decision 1 of {every.count('ms, decision ')}:" in every


def test_a_narrow_terminal_keeps_every_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    out = run(capsys, "watch", "--policy", "np-fcfs", "--seed", "3")[1]
    table = out.rstrip().split("\n\n")[-2].splitlines()  # the last one before the end
    heads = "left waited slack task done ms ms tokens ms"
    assert heads in " ".join(" ".join(table).split())
    runs = next(line for line in table if line.startswith("▶"))
    assert len(runs) <= 50
    assert re.search(r"▶ \d \S+ ×\d+ π=\d [█░]{4}( +-?[\d.]+){4}$", runs), runs


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

    until("quit")  # the line of keys
    os.write(terminal, b"\x1b[C")
    until("[paused]")
    os.write(terminal, b"\x1b[D")
    os.write(terminal, b"q")
    assert os.waitpid(child, 0)[1] == 0
    os.close(terminal)


WATCH = ("watch", "--policy", "np-fcfs", "--seed", "3", "--speed", "0.01")
MAIN = "from prema_gym.cli import main; main()"
