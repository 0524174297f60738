"""Who pays most for the time it takes? WSPT and WSRPT: priority over length.

Written as least length/π rather than most π/length: no division by a remaining time of 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.measures import Scores, exact
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.simulator.observation import ESTIMATED_MS, PRIORITY, REMAINING_MS


@dataclass(frozen=True, kw_only=True)
class WeightedShortest(Ordering):
    """WSPT, Smith's rule: highest π/E.

    Optimal for the weighted sum of completion times if all tasks arrive at once.
    """

    sentence = "Run the task with the highest priority / estimated time"
    source = "Smith, Naval Research Logistics 3, 1956; textbook"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the highest π/E."""
        return table.least(_per_priority(table, ESTIMATED_MS))


@dataclass(frozen=True, kw_only=True)
class WeightedShortestRemaining(Ordering):
    """WSRPT: highest π/R. A task past its estimate has R = 0 and comes first."""

    sentence = "Run the task with the highest priority / time remaining"
    source = "textbook"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the highest π/R."""
        return table.least(_per_priority(table, REMAINING_MS))


def _per_priority(table: Table, column: int) -> Scores:
    """A column divided by π; 0 in empty slots."""
    scores: Scores = exact(table, column) / np.where(table.present, table.column(PRIORITY), 1)
    return scores
