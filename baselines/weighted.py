"""Who pays most for the time it takes? WSPT and WSRPT: priority over length.

Written as least length/π rather than most π/length: no division by a remaining time of 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import ESTIMATED_MS, PRIORITY, REMAINING_MS


@inlined
def _estimated_per_priority(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[ESTIMATED_MS] / row[PRIORITY]


@dataclass(frozen=True, kw_only=True)
class WeightedShortest(Ordering):
    """WSPT, Smith's rule: highest π/E.

    Optimal for the weighted sum of completion times if all tasks arrive at once.
    """

    sentence = "Run the task with the highest priority / estimated time"
    source = "Smith, Naval Research Logistics 3, 1956; textbook"
    rule = Rule(score=_estimated_per_priority)


@inlined
def _remaining_per_priority(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[REMAINING_MS] / row[PRIORITY]


@dataclass(frozen=True, kw_only=True)
class WeightedShortestRemaining(Ordering):
    """WSRPT: highest π/R. A task past its estimate has R = 0 and comes first."""

    sentence = "Run the task with the highest priority / time remaining"
    source = "textbook"
    rule = Rule(score=_remaining_per_priority)
