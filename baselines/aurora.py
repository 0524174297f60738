"""AuRORA's choice of the next task on one NPU: most slowdown suffered, unless it is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.measures import hopeful, wait_ratio
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table


@dataclass(frozen=True, kw_only=True)
class Aurora(Ordering):
    """AuRORA: highest W/E of the tasks that can still meet their deadlines, when the NPU is free.

    Left out: how many accelerators a task asks for, and taking and giving them back between blocks
    of layers, which is its only preemption. Priorities play no part. When no task can meet its
    deadline any more the same order holds among all.
    """

    sentence = (
        "Run the task with the highest waited/estimated of those that can still meet their "
        "deadline (slack >= 0), and when none can, of all; one-NPU reduction of AuRORA"
    )
    source = "Kim et al., MICRO 2023"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the highest score."""
        return table.least(-wait_ratio(table), among=hopeful(table))

    @property
    def settles(self) -> bool:
        """No: who waits for long enough has the highest score."""
        return False
