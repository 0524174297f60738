"""What has come and gone since the last look? The memory of schedulers that weigh the past.

Tables show who is here. Fairness is about everybody, those done before too: what they reached is
worked out from the last table that held them, and kept, in the arrays that a policy hands back as
its state. Compiled; times are ms, progress is estimate / priority / turnaround.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import prema_gym.simulator.observation as col
from prema_gym.compiled.jit import kernel

OVERRUN = 0.03
"""Share of its estimate that a task is believed to need at least while it is not done."""
MOST_SEEN = 16.0
"""Tasks that fairness and ANTT are about at most: in a long stream the far past would be all."""

# Columns of the memory of a slot; a policy may add its own.
AGE, ESTIMATE, PRIORITY, LEFT = range(4)
KEPT_OF_SLOT = 4
# Columns of the memory of a table: progress of those done, tasks seen, highest priority seen.
LOW, HIGH, SEEN, HIGHEST = range(4)
KEPT_OF_TABLE = 4


@kernel
def forget(of_slots: NDArray[np.float64], of_table: NDArray[np.float64]) -> None:
    """Begin a table's memory anew: nobody is known, nobody was done."""
    of_slots[:] = 0.0
    of_table[:] = 0.0
    of_table[LOW] = np.inf


@kernel
def notice(
    table: NDArray[np.float32], of_slots: NDArray[np.float64], of_table: NDArray[np.float64]
) -> tuple[bool, float]:
    """See who has come and who has gone since the last call.

    Args:
        table: float32 (S, C); only read.
        of_slots: Memory (S, 4 or more), read and written.
        of_table: Memory (4 or more,), read and written.

    Returns:
        Whether anybody came or went; the time since the last call [ms], infinite if nobody who was
        there then still is.
    """
    elapsed = np.inf  # since then: what a task that stayed has grown older
    for slot in range(table.shape[0]):
        if stayed(table[slot], of_slots[slot]):
            elapsed = min(elapsed, table[slot, col.AGE_MS] - of_slots[slot, AGE])
    changed = False
    for slot in range(table.shape[0]):
        row, known = table[slot], of_slots[slot]
        same = stayed(row, known)
        if known[ESTIMATE] > 0.0 and not same:
            turnaround = known[AGE] + min(known[LEFT], elapsed)
            progress = known[ESTIMATE] / known[PRIORITY] / max(turnaround, 1e-6)
            of_table[LOW] = min(of_table[LOW], progress)
            of_table[HIGH] = max(of_table[HIGH], progress)
            known[ESTIMATE] = 0.0
            changed = True
        if row[col.PRESENT] == 0.0:
            continue
        if not same:
            of_table[SEEN] = min(of_table[SEEN] + 1.0, MOST_SEEN)
            of_table[HIGHEST] = max(of_table[HIGHEST], row[col.PRIORITY])
            changed = True
        known[AGE] = row[col.AGE_MS]
        known[ESTIMATE] = max(row[col.ESTIMATED_MS], 1e-6)
        known[PRIORITY] = max(row[col.PRIORITY], 1e-6)
        known[LEFT] = max(row[col.REMAINING_MS], OVERRUN * known[ESTIMATE])
    return changed, elapsed


@kernel
def stayed(row: NDArray[np.float32], known: NDArray[np.float64]) -> bool:
    """Whether a slot holds the task that it held before."""
    return bool(
        row[col.PRESENT] > 0.0
        and known[ESTIMATE] > 0.0
        and row[col.AGE_MS] >= known[AGE]
        and max(row[col.ESTIMATED_MS], 1e-6) == known[ESTIMATE]
        and max(row[col.PRIORITY], 1e-6) == known[PRIORITY]
    )
