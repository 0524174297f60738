"""Who has used little so far? A multi-level feedback queue, which needs no estimate at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.checks import declared, positive, whole
from prema_gym.simulator.observation import EXECUTED_MS, QUANTUM_LEFT_MS, SINCE_RUN_MS

_MOST_LEVELS = 32  # slices double: the 32nd would be 2^31 of the first, longer than any run


@dataclass(frozen=True, kw_only=True)
class MultiLevelFeedback(Ordering):
    """MLFQ: short tasks finish in the upper levels, long ones sink.

    A task's level follows from the work it has done in all, not in its last run, so breaking off
    before a slice is over gains nothing. Level k = 0, 1, … lasts for slice·2^k of work, the lowest
    forever. Inside a level it is round robin by the scheduler's quantum, within which nobody is
    displaced.

    The usual boost of all tasks at fixed times needs a memory of what each had done at the last
    one. Ours: a waiting task unserved for ``boost_ms`` counts as top level until it is served.

    Attributes:
        levels: Number of levels. Default 8: with the slice below the lowest begins at 32 ms of
            work, so that they spread over the lengths of the paper's tasks.
        slice_ms: Work done on the top level [ms]. Default: the paper's scheduling quantum.
        boost_ms: See above [ms]. Default 50 slices, Solaris's ratio (20 ms slices, a boost about
            every second).
    """

    levels: int = declared(8, whole(1, _MOST_LEVELS), help="number of levels")
    slice_ms: float = declared(0.25, positive(), unit="ms", help="work on the highest level")
    boost_ms: float = declared(12.5, positive(), unit="ms", help="wait that lifts to the top")

    sentence = (
        "Run for a quantum each the tasks of the highest level; a task sinks by one after "
        "`slice_ms`·2^level of work and counts as the top when unserved for `boost_ms`"
    )
    source = "Corbato et al., CTSS, 1962; Arpaci-Dusseau, Operating Systems, ch. 8 (Solaris)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the running task, or of the longest unserved on the highest level."""
        since_run = table.column(SINCE_RUN_MS)
        # Work at which each level but the lowest ends; in the table's precision, to compare equal.
        ends = (self.slice_ms * (2.0 ** np.arange(1, self.levels) - 1)).astype(np.float32)
        level = np.searchsorted(ends, table.column(EXECUTED_MS), side="right")
        level[since_run >= np.float32(self.boost_ms)] = 0  # never the running task, whose L is 0
        waiting = np.where(table.waiting, level, self.levels)
        highest = waiting.min(axis=0)
        next_in_line = table.least(-since_run, among=table.waiting & (waiting == highest))
        own = np.take_along_axis(level, table.runner[np.newaxis], axis=0)[0]
        in_turn = table.value(QUANTUM_LEFT_MS, table.runner) > 0
        return np.where(table.busy & (in_turn | (own < highest)), table.runner, next_in_line)

    @property
    def settles(self) -> bool:
        """No: the lowest level goes round robin."""
        return False
