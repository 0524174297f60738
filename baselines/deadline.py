"""Whose deadline presses most? EDF, EDF with admission, and least slack with hysteresis.

None of them divides by the time to the deadline, so at and after it there is nothing to treat
apart: a late task simply has a negative one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import (
    SAME_MS,
    Numbers,
    Row,
    Rule,
    Seen,
    hopeful,
    nothing,
    time_left,
)
from prema_gym.checks import declared, number
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import PREEMPT_MS, RESTORE_MS, SLACK_MS


@inlined
def _left(row: Row, seen: Seen, numbers: Numbers) -> float:
    return time_left(row)


@inlined
def _soonest(row: Row, seen: Seen, numbers: Numbers) -> bool:
    return time_left(row) <= seen.least + SAME_MS


@dataclass(frozen=True, kw_only=True)
class EarliestDeadlineFirst(Ordering):
    """EDF: earliest deadline.

    Late tasks stay in front of all others, so in overload one miss pulls the next behind it.
    """

    sentence = "Run the task with the earliest deadline, late ones too"
    source = "Liu & Layland, J. ACM 20(1), 1973; textbook"
    rule = Rule(score=nothing, among=_soonest, measure=_left)


@inlined
def _left_if_hopeful(row: Row, seen: Seen, numbers: Numbers) -> float:
    return time_left(row) if hopeful(row, seen, numbers) else math.inf


@inlined
def _soonest_hopeful(row: Row, seen: Seen, numbers: Numbers) -> bool:
    return hopeful(row, seen, numbers) and _soonest(row, seen, numbers)


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
    rule = Rule(score=nothing, among=_soonest_hopeful, measure=_left_if_hopeful)


@inlined
def _slack(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[SLACK_MS]


@inlined
def _not_worth_a_switch(runner: Row, best: Row, seen: Seen, numbers: Numbers) -> bool:
    cost = runner[PREEMPT_MS] + best[RESTORE_MS]
    return runner[SLACK_MS] - best[SLACK_MS] <= numbers[0] * cost


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
    rule = Rule(score=_slack, keeps=_not_worth_a_switch)

    @property
    def settles(self) -> bool:
        """No: who waits for long enough gets the least slack."""
        return False
