"""Who plays what a command asks for? Workers of this machine or of a cluster; in shards, or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.naming import recipe_of
from prema_gym.errors import ConfigError

if TYPE_CHECKING:
    from prema_gym.distribution.comparison import Part
    from prema_gym.distribution.executors import Executor
    from prema_gym.evaluation.concurrent import Player

WorkersOption = Annotated[
    int | None,
    typer.Option(help="How many play at once.", show_default="one a core"),
]
BackendOption = Annotated[
    str,
    typer.Option(
        help="Who plays: threads, processes, ray, or ray:ADDRESS (a cluster); equal results."
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep what was played there in shards, and play only what is missing there.",
        show_default=False,
    ),
]

PART: ContextVar[Part | None] = ContextVar("part", default=None)
"""The part that `prema-gym shard` asks for."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """What options say of who plays."""

    workers: int | None = None
    backend: str = "threads"
    resume: Path | None = None

    @property
    def in_shards(self) -> bool:
        """Whether there is more to it than threads of this process."""
        return self.backend != "threads" or self.resume is not None or PART.get() is not None

    def executor(self) -> Executor:
        """Who plays.

        Raises:
            PremaError: There is no such backend, or its package is missing.
        """
        from prema_gym.distribution.executors import executor

        return executor(self.backend, self.workers)

    def player(self, seed: int | None) -> Player:
        """Who plays policies on workloads.

        Args:
            seed: Of the first workload; None: they were given.

        Raises:
            PremaError: The options do not fit.
        """
        if not self.in_shards:
            from prema_gym.evaluation.concurrent import play_all

            return play_all
        from prema_gym.distribution.comparison import ShardedPlayer

        part = PART.get()
        if part is not None and self.resume is None:
            raise ConfigError(
                "a part is played into a folder that all parts share: add --resume DIR"
            )
        return ShardedPlayer(
            executor=self.executor(),
            recipe=recipe_of,
            seed=seed,
            folder=self.resume,
            part=part,
            say=lambda line: print(line, file=sys.stderr),
        )


def one_of(workers: int | None, threads: int | None) -> int | None:
    """How many workers: ``--threads`` is the older name of ``--workers``.

    Raises:
        ConfigError: Both are given.
    """
    if workers is not None and threads is not None:
        raise ConfigError("--workers and --threads are the same: give one")
    return threads if workers is None else workers


@contextmanager
def only(part: Part) -> Iterator[None]:
    """Within it, a command plays a part of its shards and shows nothing."""
    token = PART.set(part)
    try:
        yield
    finally:
        PART.reset(token)
