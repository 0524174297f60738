"""Who is shortest, and by which length? SPT, SRPT, least E·R and HRRN, cousins of SJF.

With exact estimates SRPT has the least mean turnaround, and least E·R all but the least ANTT. An
estimate that was too short is a matter of its own: when the work done has reached it, the remaining
time R is 0 although the task still runs, and each rule says what it does then.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen, wait_ratio
from prema_gym.checks import declared, truth
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import ESTIMATED_MS, PRIORITY, REMAINING_MS


@inlined
def _estimated(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[ESTIMATED_MS]


@dataclass(frozen=True, kw_only=True)
class ShortestProcessingTime(Ordering):
    """SPT: least estimated time of the whole task, whatever has been done of it."""

    sentence = "Run the task with the least estimated time as a whole"
    source = "textbook (P-SPT); WSPT with weight 1/E, which the ANTT bound is built on"
    rule = Rule(score=_estimated)


@inlined
def _remaining_again(row: Row, seen: Seen, numbers: Numbers) -> float:
    # R = 0 in a task that is still there: it has executed E or more.
    return row[REMAINING_MS] if row[REMAINING_MS] > 0 else row[ESTIMATED_MS]


@dataclass(frozen=True, kw_only=True)
class ShortestRemainingProcessingTime(Ordering):
    """SRPT: least estimated remaining time, counted anew when the estimate proves too short.

    SJF (``baselines/classic.py``) takes a task past its estimate to be at its end, so nobody ever
    displaces it. SRPT believes that there is as much left as it first thought: E.
    """

    sentence = (
        "Run the task with the least estimated time remaining, which is the whole estimate again "
        "for a task that outlives it"
    )
    source = "Schrage, Operations Research 16(3), 1968; textbook"
    rule = Rule(score=_remaining_again)


@inlined
def _product(row: Row, seen: Seen, numbers: Numbers) -> float:
    product = row[REMAINING_MS] * row[ESTIMATED_MS]
    return product / row[PRIORITY] if numbers[0] > 0 else product


@dataclass(frozen=True, kw_only=True)
class LeastER(Ordering):
    """Least E·R: WSRPT with the weight 1/E that ANTT gives a task.

    A task past its estimate has R = 0 and comes first.

    Attributes:
        by_priority: Weigh by priority as well: least E·R/π, for priority-weighted ANTT.
    """

    by_priority: bool = declared(False, truth(), help="weigh by priority as well")

    sentence = "Run the task with the least E·R, estimated time times time remaining"
    source = "textbook (WSRPT with weight 1/E); the weighing of Algorithm 3 as an order"
    rule = Rule(score=_product)


@inlined
def _lack(row: Row, seen: Seen, numbers: Numbers) -> float:
    ratio = 1 + wait_ratio(row)
    return -ratio * row[PRIORITY] if numbers[0] > 0 else -ratio


@dataclass(frozen=True, kw_only=True)
class HighestResponseRatioNext(Ordering):
    """HRRN: highest (W + E)/E, so that a short task overtakes and a long one is not forgotten.

    The ratio of a task that runs stands still, so asked at every wake-up it would swap tasks
    forever: it is offered non-preemptive only, as it was proposed.

    Attributes:
        by_priority: Multiply the ratio by the priority weight.
    """

    by_priority: bool = declared(False, truth(), help="weigh by priority as well")

    sentence = "Run the task with the highest response ratio, (waited + estimated) / estimated"
    source = "Brinch Hansen, IFIP Congress 1971; textbook"
    rule = Rule(score=_lack)

    @property
    def settles(self) -> bool:
        """No: who waits for long enough has the highest ratio."""
        return False
