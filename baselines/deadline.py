"""Whose deadline presses most? EDF, EDF with admission, and least slack with hysteresis.

None of them divides by the time to the deadline, so at and after it there is nothing to treat
apart: a late task simply has a negative one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.measures import hopeful, soonest, time_left
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.checks import declared, number
from prema_gym.simulator.observation import PREEMPT_MS, RESTORE_MS, SLACK_MS


@dataclass(frozen=True, kw_only=True)
class EarliestDeadlineFirst(Ordering):
    """EDF: earliest deadline.

    Late tasks stay in front of all others, so in overload one miss pulls the next behind it.
    """

    sentence = "Run the task with the earliest deadline, late ones too"
    source = "Liu & Layland, J. ACM 20(1), 1973; textbook"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the earliest deadline."""
        return soonest(table, time_left(table))


@dataclass(frozen=True, kw_only=True)
class EdfAdmission(Ordering):
    """EDF with admission: a task that cannot meet its deadline any more stands behind the others.

    Nexus, Clockwork and Shepherd drop such a request. Here every task must finish, so it waits for
    a moment at which nobody can be saved, and then runs by deadline. Their batching of requests
    has no counterpart: a task is one batch already.
    """

    sentence = (
        "Run the task with the earliest deadline of those that can still meet theirs (slack >= 0), "
        "and when none can, of all; one-NPU reduction of Nexus, Clockwork and Shepherd"
    )
    source = "Nexus (SOSP 2019), Clockwork (OSDI 2020), Shepherd (NSDI 2023)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the earliest deadline that can be met."""
        return soonest(table, time_left(table), among=hopeful(table))


@dataclass(frozen=True, kw_only=True)
class LeastSlackTime(Ordering):
    """LST, or least laxity first: least slack s = d − t − R, with hysteresis.

    The slack of waiting tasks falls while the running one's stays, so two tasks of equal slack
    would swap at every quantum. The running task is therefore displaced only by a slack smaller
    by more than δ.

    Attributes:
        delta: δ in units of what this very switch would take: finishing the instruction in flight
            and saving, then restoring the newcomer. Default 2: as long again is spent to come back.
    """

    delta: float = declared(2.0, number(0.0), help="hysteresis in costs of the switch")

    sentence = (
        "Run the task with the least slack (deadline - now - remaining), the running one unless "
        "its slack is more than `delta` times the cost of the switch above the least"
    )
    source = "textbook; the hysteresis is the usual remedy against swapping at equal slack"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the least slack, or of the running task if that is not worth a switch."""
        best = table.least(table.column(SLACK_MS))
        gain = table.value(SLACK_MS, table.runner) - table.value(SLACK_MS, best)
        cost = table.value(PREEMPT_MS, table.runner) + table.value(RESTORE_MS, best)
        return np.where(table.busy & (gain <= self.delta * cost), table.runner, best)

    @property
    def settles(self) -> bool:
        """No: who waits for long enough gets the least slack."""
        return False
