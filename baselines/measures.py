"""What can a rule work out from the columns? Time left, who is not lost yet, waiting over length.

float64 arrays (slots, envs), computed from float32 columns. No division here meets a zero: a length
is at least one cycle, and an empty slot counts as 1 ms long (nobody reads its score).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.table import Table
from prema_gym.simulator.observation import ESTIMATED_MS, REMAINING_MS, SLACK_MS, WAITED_MS

Scores = NDArray[np.float64]


def exact(table: Table, column: int) -> Scores:
    """One column in double precision, in which products and sums of two columns are exact."""
    return table.column(column).astype(np.float64)


def time_left(table: Table) -> Scores:
    """D = d − t, time to the deadline [ms]: 0 when it is now, negative when it is past."""
    # The table holds the slack d − t − R. Both are rounded alike, so D is exactly 0 at d = t.
    return exact(table, SLACK_MS) + table.column(REMAINING_MS)


SAME_MS = 1e-3
"""Times to deadlines closer than this count as equal [ms]. Each is the sum of two float32 columns;
for times below 8 s the four roundings in a comparison cannot add up to it."""


def soonest(
    table: Table, time: Scores, among: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Slot with the least time made from deadlines, rounding apart; ties as ``Table.least``.

    Without this, tasks with one deadline and different progress would displace each other at every
    wake-up on account of their last digits.
    """
    allowed = table.present if among is None else among
    least = np.where(allowed, time, np.inf).min(axis=0)
    return table.least(np.zeros_like(time), among=allowed & (time <= least + SAME_MS))


def estimate(table: Table) -> Scores:
    """E, estimated isolated time [ms], 1 in empty slots."""
    return np.where(table.present, exact(table, ESTIMATED_MS), 1.0)


def wait_ratio(table: Table) -> Scores:
    """W/E, time waited in units of the task's own length."""
    scores: Scores = table.column(WAITED_MS) / estimate(table)
    return scores


def hopeful(table: Table) -> NDArray[np.bool_]:
    """Tasks that can still meet their deadlines (slack >= 0); where none can, all that are present.

    Nothing is dropped: a task that is late by now runs when no other is left to be saved.
    """
    in_time = table.present & (table.column(SLACK_MS) >= 0)
    return in_time | (table.present & ~in_time.any(axis=0))
