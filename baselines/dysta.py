"""Dysta on one dense NPU: shortest remaining, with small terms for deadline room and switching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.measures import estimate, exact
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.checks import declared, number
from prema_gym.simulator.observation import REMAINING_MS, SINCE_RUN_MS, SLACK_MS


@dataclass(frozen=True, kw_only=True)
class Dysta(Ordering):
    """Dysta: least R + β·(max(0, slack) + u·L/(E·Q)), with Q tasks in the table.

    Left out: the correction of R by measured sparsity (this NPU skips no zeros), and deciding after
    every layer (here: at every wake-up). R and the room before the deadline are times, L/(E·Q) a
    pure ratio, so their sum depends on the unit of time u that the ratio counts as. The authors'
    simulator works in seconds (requests arrive at tasks/s). The ratio has a plus sign in a score
    that is minimised: whoever has not run for long is passed over, which saves switches. A late
    task has no room left, so its second term is 0, not negative.

    Attributes:
        beta: β. Default 0.01, as published.
        unit_ms: u in milliseconds. Default 1000, seconds, as published.
    """

    beta: float = declared(0.01, number(0.0), help="weight of room and of time without running")
    unit_ms: float = declared(
        1000.0, number(0.0), unit="ms", help="what a ratio of 1 counts as when times are added"
    )

    sentence = (
        "Run the task with the least R + `beta`·(max(0, slack) + `unit_ms`·L/(E·Q)), where L is "
        "its time since it last ran and Q the number of tasks; one-NPU reduction of Dysta without "
        "sparsity"
    )
    source = "Fan et al., MICRO 2023 (arXiv 2310.11096)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the least score."""
        num_tasks = np.maximum(table.present.sum(axis=0), 1)
        off = exact(table, SINCE_RUN_MS) / (estimate(table) * num_tasks)
        room = np.maximum(exact(table, SLACK_MS), 0)
        return table.least(table.column(REMAINING_MS) + self.beta * (room + self.unit_ms * off))
