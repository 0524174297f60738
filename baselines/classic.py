"""The schedulers every operating system course knows: FCFS, RRB, HPF and SJF.

They are the paper's own comparison set, together with TOKEN (``baselines/prema.py``). All of them
are memoryless: what they need, the table holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.simulator.observation import (
    ORDER,
    PRIORITY,
    QUANTUM_LEFT_MS,
    REMAINING_MS,
    SINCE_RUN_MS,
)


@dataclass(frozen=True, kw_only=True)
class FirstComeFirstServed(Ordering):
    """FCFS: earliest arrival."""

    sentence = "Run the task that arrived first"
    source = "textbook; the PREMA paper's baseline (Choi & Rhu, HPCA 2020)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the earliest arrival."""
        return table.least(table.column(ORDER))


@dataclass(frozen=True, kw_only=True)
class RoundRobin(Ordering):
    """RRB: one quantum each, in order of last service.

    A queue in which arrivals and finished slices join the tail is the order of the time since a
    task last ran (since it arrived, if it never did), so the rule needs no memory of its own. Two
    tasks that joined the tail at the same instant keep their order of arrival.
    """

    sentence = "Run each task for one quantum, next the one that has gone longest without running"
    source = "textbook; in the PREMA paper's comparison (Choi & Rhu, HPCA 2020)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the running task until its quantum ends, then of the one unserved for longest."""
        next_in_line = table.least(-table.column(SINCE_RUN_MS), among=table.waiting)
        # Above 0 on the running row alone, until the quantum ends: then exactly 0.
        in_turn = table.value(QUANTUM_LEFT_MS, table.runner) > 0
        return np.where(in_turn, table.runner, next_in_line)

    @property
    def settles(self) -> bool:
        """No: every quantum is somebody else's turn."""
        return False


@dataclass(frozen=True, kw_only=True)
class HighestPriorityFirst(Ordering):
    """HPF: largest priority weight, first come first served within a level."""

    sentence = "Run the task of highest priority"
    source = "textbook; in the PREMA paper's comparison (Choi & Rhu, HPCA 2020)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the largest priority weight."""
        return table.least(-table.column(PRIORITY))


@dataclass(frozen=True, kw_only=True)
class ShortestJobFirst(Ordering):
    """SJF: least estimated remaining time.

    A task that outlives its estimate has nothing left to do as far as the scheduler can tell, so
    nobody displaces it: the running task wins even the tie at 0.
    """

    sentence = "Run the task with the least estimated time remaining"
    source = "textbook (preemptive: SRPT); in the PREMA paper's comparison (Choi & Rhu, HPCA 2020)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the least remaining time."""
        return table.least(table.column(REMAINING_MS))
