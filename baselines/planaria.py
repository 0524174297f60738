"""Planaria's allocation on one undivided array: priority over room, for those not yet lost."""

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
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import PRIORITY, REMAINING_MS, SLACK_MS


@inlined
def _time_per_priority(row: Row, seen: Seen, numbers: Numbers) -> float:
    # Slack >= 0 is R <= D. A late task's time counts only where every task is late.
    time = time_left(row) if row[SLACK_MS] >= 0 else row[REMAINING_MS]
    return time / row[PRIORITY] if hopeful(row, seen, numbers) else math.inf


@inlined
def _least_time(row: Row, seen: Seen, numbers: Numbers) -> bool:
    return _time_per_priority(row, seen, numbers) <= seen.least + SAME_MS


@dataclass(frozen=True, kw_only=True)
class Planaria(Ordering):
    """Planaria: highest π/D of the tasks with R <= D = d − t; if there is none, highest π/R.

    Left out: the division of the array into 16, so the number of parts a task would need. A task
    too late to be saved gets nothing while another can be; so D is never negative where it
    matters. Scores are compared as least D/π and R/π: at D = 0 or R = 0 that is simply 0.
    """

    sentence = (
        "Run the task with the highest priority / time to its deadline of those that can still "
        "meet it (R <= d - t), and when none can, with the highest priority / R; one-NPU reduction "
        "of Planaria"
    )
    source = "Ghodrati et al., MICRO 2020"
    rule = Rule(score=nothing, among=_least_time, measure=_time_per_priority)
