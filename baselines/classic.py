"""The schedulers every operating system course knows: FCFS, RRB, HPF and SJF.

They are the paper's own comparison set, together with TOKEN (``baselines/prema.py``). All of them
are memoryless: what they need, the table holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen, waiting
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import (
    ORDER,
    PRIORITY,
    QUANTUM_LEFT_MS,
    REMAINING_MS,
    SINCE_RUN_MS,
)


@inlined
def _arrival(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[ORDER]


@dataclass(frozen=True, kw_only=True)
class FirstComeFirstServed(Ordering):
    """FCFS: earliest arrival."""

    sentence = "Run the task that arrived first"
    source = "textbook; the PREMA paper's baseline (Choi & Rhu, HPCA 2020)"
    rule = Rule(score=_arrival)


@inlined
def _latest_served(row: Row, seen: Seen, numbers: Numbers) -> float:
    return -row[SINCE_RUN_MS]


@inlined
def in_turn(runner: Row, best: Row, seen: Seen, numbers: Numbers) -> bool:
    """Whether the running task's quantum is not over: above 0 until it ends, then exactly 0."""
    return runner[QUANTUM_LEFT_MS] > 0


@dataclass(frozen=True, kw_only=True)
class RoundRobin(Ordering):
    """RRB: one quantum each, in order of last service.

    A queue in which arrivals and finished slices join the tail is the order of the time since a
    task last ran (since it arrived, if it never did), so the rule needs no memory of its own. Two
    tasks that joined the tail at the same instant keep their order of arrival.
    """

    sentence = "Run each task for one quantum, next the one that has gone longest without running"
    source = "textbook; in the PREMA paper's comparison (Choi & Rhu, HPCA 2020)"
    rule = Rule(score=_latest_served, among=waiting, keeps=in_turn)

    @property
    def settles(self) -> bool:
        """No: every quantum is somebody else's turn."""
        return False


@inlined
def _least_urgent(row: Row, seen: Seen, numbers: Numbers) -> float:
    return -row[PRIORITY]


@dataclass(frozen=True, kw_only=True)
class HighestPriorityFirst(Ordering):
    """HPF: largest priority weight, first come first served within a level."""

    sentence = "Run the task of highest priority"
    source = "textbook; in the PREMA paper's comparison (Choi & Rhu, HPCA 2020)"
    rule = Rule(score=_least_urgent)


@inlined
def _remaining(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[REMAINING_MS]


@dataclass(frozen=True, kw_only=True)
class ShortestJobFirst(Ordering):
    """SJF: least estimated remaining time.

    A task that outlives its estimate has nothing left to do as far as the scheduler can tell, so
    nobody displaces it: the running task wins even the tie at 0.
    """

    sentence = "Run the task with the least estimated time remaining"
    source = "textbook (preemptive: SRPT); in the PREMA paper's comparison (Choi & Rhu, HPCA 2020)"
    rule = Rule(score=_remaining)
