"""MoCA's queue on one NPU: priority plus slowdown suffered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.measures import wait_ratio
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.simulator.observation import PRIORITY


@dataclass(frozen=True, kw_only=True)
class Moca(Ordering):
    """MoCA: highest π + W/E, when the NPU is free.

    Left out: what makes MoCA itself, the pairing of memory-bound with compute-bound tasks on
    several tiles and the division of bandwidth between them. No deadline enters the queue. Its
    priorities run from 0 to 11, ours are the scenario's weights.
    """

    sentence = (
        "Run the task with the highest priority + waited/estimated; one-NPU reduction of MoCA's "
        "queue"
    )
    source = "Kim et al., HPCA 2023 (arXiv 2305.05843)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the highest score."""
        return table.least(-(table.column(PRIORITY) + wait_ratio(table)))

    @property
    def settles(self) -> bool:
        """No: who waits for long enough has the highest score."""
        return False
