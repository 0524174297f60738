"""Drills: the command is killed, its workers are killed; the same command goes on, to the byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prema_gym.files import write_text_atomically

OWN = Path(__file__).parent / "own_policies.py"
SMALL_CHUNKS = (
    "import sys; from prema_gym.evaluation import compare; compare.CHUNK = 4\n"
    "from prema_gym.cli import main; main(sys.argv[1:])"
)
"""The command line with shards of four workloads: many of them, soon played."""
NUM_SHARDS = 2 * 10
EVALUATE = [
    *("evaluate", "--scenario", "light", "--policies", f"np-fcfs,{OWN}:Gated"),
    *("--workloads", "40", "--format", "json"),
]


def started(*arguments: str, drill: Path | None = None) -> subprocess.Popen[bytes]:
    """A command, in a process of its own; as far as its drill lets it."""
    limits = {} if drill is None else {"DRILL_LIMIT": f"{drill}.limit", "DRILL_SHARDS": str(drill)}
    return subprocess.Popen(
        [sys.executable, "-c", SMALL_CHUNKS, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **limits},
    )


def printed(*arguments: str) -> bytes:
    """What a command prints."""
    process = started(*arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()
    return out


def shards_in(folder: Path) -> list[Path]:
    """The shards that are whole; what is being written has a name with a point in front."""
    return sorted(path for path in folder.glob("*.shard") if not path.name.startswith("."))


def begun(folder: Path, shards: int, *arguments: str) -> subprocess.Popen[bytes]:
    """A command that has made some shards, and makes no more until it is let to."""
    limit(folder, shards)
    process = started(*arguments, drill=folder)
    end = time.monotonic() + 300
    while len(shards_in(folder)) < shards:
        assert process.poll() is None, "it ended before the drill began"
        assert time.monotonic() < end, "no shard came"
        time.sleep(0.01)
    return process


def limit(folder: Path, shards: int) -> None:
    """Let a command make so many shards."""
    write_text_atomically(Path(f"{folder}.limit"), str(shards))


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The workers: children that play, and not the one that watches over what they share."""
    task = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    found = [int(word) for word in task.read_text().split()]
    return [pid for pid in found if b"resource_tracker" not in command_of(pid)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@pytest.fixture(scope="module")
def expected() -> bytes:
    """What the command prints when nothing happens."""
    return printed(*EVALUATE)


needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc")


@pytest.mark.heavy
@needs_proc
@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_kill_the_driver_twice(tmp_path: Path, expected: bytes, backend: str) -> None:
    sharded = [
        *EVALUATE,
        "--backend",
        backend,
        "--workers",
        "2",
        "--resume",
        str(tmp_path / "here"),
    ]
    for shards in (3, 9):
        process = begun(tmp_path / "here", shards, *sharded)
        workers = children_of(process)
        assert bool(workers) == (backend == "processes")
        process.kill()
        process.communicate()
        assert shards <= len(shards_in(tmp_path / "here")) < NUM_SHARDS
        end = time.monotonic() + 60
        while any(b"spawn_main" in command_of(pid) for pid in workers):
            assert time.monotonic() < end, "a worker outlives the driver"
            time.sleep(0.05)
    before = {path: path.stat().st_mtime_ns for path in shards_in(tmp_path / "here")}
    assert printed(*sharded) == expected
    assert len(shards_in(tmp_path / "here")) == NUM_SHARDS
    assert {path: path.stat().st_mtime_ns for path in before} == before, "played again"


@pytest.mark.heavy
@needs_proc
def test_kill_a_worker(tmp_path: Path, expected: bytes) -> None:
    sharded = ["--backend", "processes", "--workers", "2", "--resume", str(tmp_path / "here")]
    process = begun(tmp_path / "here", 3, *EVALUATE, *sharded)
    os.kill(children_of(process)[0], signal.SIGKILL)
    limit(tmp_path / "here", NUM_SHARDS + 1)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()
    assert out == expected
    assert len(shards_in(tmp_path / "here")) == NUM_SHARDS


@pytest.mark.heavy
def test_two_processes_in_memory(expected: bytes) -> None:
    assert printed(*EVALUATE, "--backend", "processes", "--workers", "2") == expected


@pytest.mark.heavy
def test_parts_as_a_slurm_array_plays_them(tmp_path: Path, expected: bytes) -> None:
    command = [*EVALUATE, "--resume", str(tmp_path / "here")]
    parts = [started("shard", f"{k}/3", "--", *command) for k in (1, 2, 3)]
    for process in parts:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err.decode()
        assert out == b""
    assert len(shards_in(tmp_path / "here")) == NUM_SHARDS
    assert printed(*command) == expected
