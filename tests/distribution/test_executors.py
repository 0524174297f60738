"""Executors: every item once, whoever dies; what a function raises is raised, once."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from prema_gym.distribution.executors import BACKENDS, LIVES, Executor, Processes, Threads, executor
from prema_gym.errors import ConfigError, UnknownNameError

KINDS = [Threads, Processes]


def square(number: int) -> int:
    return number * number


def refuse(path: str) -> None:
    with Path(path).open("a") as calls:
        calls.write("x")
    raise ConfigError("not I")


def die_once(path: str) -> str:
    """Kill the worker, the first time."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def die(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 3])
def test_every_item_comes_back_once(kind: type[Executor], workers: int) -> None:
    found = list(kind(workers).run(square, range(20)))
    assert sorted(found) == [(i, i * i) for i in range(20)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_items_are_no_work(kind: type[Executor]) -> None:
    assert list(kind(2).run(square, [])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_is_raised_once(kind: type[Executor], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^not I$"):
        list(kind(1).run(refuse, [str(tmp_path / "calls")]))
    assert (tmp_path / "calls").read_text() == "x"


def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{i}") for i in (1, 2)]
    items = [*paths, *map(str, range(3))]
    for name in items[2:]:
        (tmp_path / name).touch()
    items[2:] = [str(tmp_path / name) for name in items[2:]]
    found = list(Processes(2).run(die_once, items))
    assert sorted(found) == list(enumerate(items))


def test_work_that_kills_every_worker_is_given_up() -> None:
    with pytest.raises(ConfigError, match=f"^{LIVES} workers died in a row"):
        list(Processes(1).run(die, [0]))


def test_items_are_taken_as_workers_become_free() -> None:
    taken: list[int] = []

    def items() -> object:
        for i in range(100):
            taken.append(i)
            yield i

    first = next(iter(Threads(2).run(square, items())))  # type: ignore[arg-type]
    assert first[1] == first[0] ** 2
    assert len(taken) <= 2 * 2 + 1


def test_nothing_is_left_running() -> None:
    before = threading.active_count()
    for _ in Threads(4).run(square, range(8)):
        pass
    assert threading.active_count() <= before + 4
    with pytest.raises(ConfigError, match="not I"):
        list(Threads(2).run(refuse, [os.devnull]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("thread", "unknown backend 'thread'.*did you mean 'threads'"),
        ("slurm", "unknown backend 'slurm'.*threads, processes, ray, ray:ADDRESS"),
    ],
)
def test_an_unknown_backend(given: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        executor(given)


def test_addresses_and_numbers_that_are_none() -> None:
    with pytest.raises(ConfigError, match="--backend threads takes no address"):
        executor("threads:1")
    with pytest.raises(ConfigError, match="workers must be a whole number of at least 1, got 0"):
        executor("processes", 0)


def test_a_user_names_each() -> None:
    assert list(BACKENDS) == ["threads", "processes", "ray"]
    assert isinstance(executor("processes", 2), Processes)
    assert executor("threads").workers >= 1
