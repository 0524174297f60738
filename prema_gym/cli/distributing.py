"""Who plays what a command asks for? Workers of this machine or of a cluster; in shards, or not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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
    from prema_gym.distribution.recipes import Recipe
    from prema_gym.evaluation.concurrent import Player
    from prema_gym.evaluation.streams import PointPlayer

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

    @contextmanager
    def player(
        self, seed: int | None, recipe: Callable[[str], Recipe] = recipe_of
    ) -> Iterator[Player]:
        """Who plays policies on workloads, for the while.

        Args:
            seed: Of the first workload; None: they were given.
            recipe: How a policy is made, from its name.

        Raises:
            PremaError: The options do not fit.
        """
        if not self.in_shards:
            from prema_gym.evaluation.concurrent import play_all

            yield play_all
            return
        from prema_gym.distribution.comparison import ShardedPlayer

        part = PART.get()
        if part is not None and self.resume is None:
            raise ConfigError(
                "a part is played into a folder that all parts share: add --resume DIR"
            )
        with self.executor() as executor:
            yield ShardedPlayer(
                executor=executor,
                recipe=recipe,
                seed=seed,
                folder=self.resume,
                part=part,
                say=lambda line: print(line, file=sys.stderr),
            )

    @contextmanager
    def point_player(self) -> Iterator[PointPlayer]:
        """Who plays policies on long runs, for the while.

        Raises:
            PremaError: The options do not fit.
        """
        if self.resume is not None or PART.get() is not None:
            raise ConfigError(
                "--resume is for workloads, and this scenario is played as long runs: of these, a "
                "sweep goes on in its --output"
            )
        if not self.in_shards:
            from prema_gym.evaluation.streams import play_points

            yield play_points
            return
        from prema_gym.distribution.points import SharedPoints

        with self.executor() as executor:
            yield SharedPoints(executor, recipe_of)

    @contextmanager
    def candidates(self) -> Iterator[Executor | None]:
        """Who plays the candidates of an evolution, for the while; None: what its settings say."""
        if self.backend == "threads" and self.workers is None:
            yield None
            return
        with self.executor() as executor:
            yield executor


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
