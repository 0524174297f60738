"""How does a rule rank tasks? `Rule`: small compiled functions of one row of the observation table.

Written once, they serve ``predict`` and the loops that play whole workloads in compiled code
(``baselines/choosing.py`` puts them to work). A row is float64 (columns,), holding the table's
float32 values, so that products and sums of two columns are exact. No division here meets a zero: a
length is at least one cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import (
    ESTIMATED_MS,
    REMAINING_MS,
    RUNNING,
    SLACK_MS,
    WAITED_MS,
)


class Row(Protocol):
    """A row of the table: float64 (columns,)."""

    def __getitem__(self, column: int, /) -> float: ...


class Numbers(Protocol):
    """An ordering's parameters, as its `numbers` lists them: float64."""

    def __getitem__(self, position: int, /) -> float: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are."""
        ...


NO_ROW = -1


class Seen(NamedTuple):
    """What a rule may know of the table as a whole when it looks at one row."""

    num_tasks: int
    num_in_time: int  # that can still meet their deadlines: slack >= 0
    least: float  # the least `Rule.measure` of any task
    draw: np.uint64  # a hash of the whole table and the seed, for rules by chance


class Rule(NamedTuple):
    """Whom to run: the least score among those that may be chosen.

    Ties go to the running task, then to the earlier arrival: that the running task wins them is
    ours, since a switch for nothing has a cost. Where nobody may be chosen the running task goes
    on, and on a free machine everybody may.

    Attributes:
        score: ``(row, seen, numbers)`` → float; the least runs.
        among: ``(row, seen, numbers)`` → whether it may be chosen; None: everybody.
        measure: ``(row, seen, numbers)`` → float, of which ``seen.least`` is the least; None: 0.
        keeps: ``(runner, best, seen, numbers)`` → whether the running task (a row) goes on although
            ``best`` was found; None: never.
        by_chance: Whether it reads ``seen.draw``.
    """

    score: Callable[[Row, Seen, Numbers], float]
    among: Callable[[Row, Seen, Numbers], bool] | None = None
    measure: Callable[[Row, Seen, Numbers], float] | None = None
    keeps: Callable[[Row, Row, Seen, Numbers], bool] | None = None
    by_chance: bool = False


@inlined
def time_left(row: Row) -> float:
    """D = d − t, time to the deadline [ms]: 0 when it is now, negative when it is past."""
    # The table holds the slack d − t − R. Both are rounded alike, so D is exactly 0 at d = t.
    return row[SLACK_MS] + row[REMAINING_MS]


SAME_MS = 1e-3
"""Times to deadlines closer than this count as equal [ms]. Each is the sum of two float32 columns;
for times below 8 s the four roundings in a comparison cannot add up to it. Without it, tasks with
one deadline and different progress would displace each other on account of their last digits."""


@inlined
def wait_ratio(row: Row) -> float:
    """W/E, time waited in units of the task's own length."""
    return row[WAITED_MS] / row[ESTIMATED_MS]


@inlined
def hopeful(row: Row, seen: Seen, numbers: Numbers) -> bool:
    """Whether a task can still meet its deadline (slack >= 0); where none can, every one may run.

    Nothing is dropped: a task that is late by now runs when no other is left to be saved.
    """
    return seen.num_in_time == 0 or row[SLACK_MS] >= 0


@inlined
def waiting(row: Row, seen: Seen, numbers: Numbers) -> bool:
    """Whether a task waits."""
    return row[RUNNING] == 0


@inlined
def nothing(row: Row, seen: Seen, numbers: Numbers) -> float:
    """A score that is the same for all: the running task wins, or the first to arrive."""
    return 0.0
