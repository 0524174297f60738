"""Planaria's allocation on one undivided array: priority over room, for those not yet lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.measures import exact, hopeful, soonest, time_left
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.simulator.observation import PRIORITY, REMAINING_MS, SLACK_MS


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

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the highest score."""
        # Slack >= 0 is R <= D. A late task's key counts only where every task is late.
        time = np.where(table.column(SLACK_MS) >= 0, time_left(table), exact(table, REMAINING_MS))
        priority = np.where(table.present, table.column(PRIORITY), 1)
        return soonest(table, time / priority, among=hopeful(table))
