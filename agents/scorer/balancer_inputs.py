"""What does the balancer network see? Numbers of order one, of each task and of all together.

Made from the observation table and from what the policy remembers of earlier tables
(`prema_gym.baselines.remembered`): the weighted progress of those that are done, without which
nobody can say what is fair. Weighted progress is estimate / priority / turnaround; fairness is its
minimum over its maximum. Compiled; times are ms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import prema_gym.simulator.observation as col
from prema_gym.baselines.remembered import AGE, ESTIMATE, HIGH, HIGHEST, LEFT, LOW, PRIORITY
from prema_gym.baselines.replan import HELD_MS
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.features import (
    LOG_CENTRE,
    LOG_MEDIUM_PRIORITY,
    LOG_SPREAD,
    MOST_PROGRESS,
    QUANTUM_MS,
    TINY,
)

FARTHEST = 4.0
"""Logarithms of quotients of progress end here: 55 times is less fair than is worth telling."""
LOG_ALL_CENTRE = 5.0
"""All work left of the paper's workload is about e⁵ quanta, e times one task's."""
ENDING_PER_MS = 2.0
"""At twice the time that is kept of a task that is held back, the squeezed number is a half."""


@inlined
def squash(x: float) -> float:
    """Softsign: bounded like tanh and many times cheaper."""
    return x / (1.0 + abs(x))


@inlined
def _limited(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@inlined
def _expected(
    table: NDArray[np.float32], of_slots: NDArray[np.float64], of_table: NDArray[np.float64]
) -> tuple[int, float, float, float]:
    """Tasks present, all work left [ms], and the lowest and highest progress to expect."""
    count = 0
    work = 0.0
    for slot in range(table.shape[0]):
        if table[slot, col.PRESENT] > 0.0:
            count += 1
            work += of_slots[slot, LEFT] + table[slot, col.RESTORE_MS]
    lowest, highest = of_table[LOW], max(of_table[HIGH], TINY)
    for slot in range(table.shape[0]):
        if table[slot, col.PRESENT] > 0.0:
            known = of_slots[slot]
            scale = known[ESTIMATE] / known[PRIORITY]
            left = known[LEFT] + table[slot, col.RESTORE_MS]
            highest = max(highest, scale / (known[AGE] + work))
            lowest = min(lowest, scale / (known[AGE] + left))
    return count, work, lowest, highest


@inlined
def write_inputs(
    table: NDArray[np.float32],
    of_slots: NDArray[np.float64],
    of_table: NDArray[np.float64],
    inputs: NDArray[np.float32],
    of_all: NDArray[np.float32],
) -> int:
    """Write what the network sees of one table; return how many tasks there are.

    Args:
        table: float32 (S, C); only read.
        of_slots: Memory (S, 4), up to date.
        of_table: Memory (4 or more,), up to date.
        inputs: float32 (S, NUM_INPUTS), written where there is a task.
        of_all: float32 (NUM_OF_ALL,), written unless there is none.
    """
    count, work, lowest, highest = _expected(table, of_slots, of_table)
    if count == 0:
        return 0
    for slot in range(table.shape[0]):
        if table[slot, col.PRESENT] == 0.0:
            continue
        row, known, out = table[slot], of_slots[slot], inputs[slot]
        estimate, priority = known[ESTIMATE], known[PRIORITY]
        left = known[LEFT] + row[col.RESTORE_MS]
        turnaround = known[AGE] + left
        progress = estimate / priority / turnaround
        out[0] = (math.log1p(left / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD
        out[1] = (math.log1p(estimate / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD
        out[2] = math.log(priority) - LOG_MEDIUM_PRIORITY
        out[3] = math.log(turnaround / estimate + TINY)
        out[4] = row[col.RUNNING]
        out[5] = min(row[col.EXECUTED_MS] / estimate, MOST_PROGRESS)
        out[6] = squash(row[col.SLACK_MS] / estimate)
        out[7] = math.log1p((row[col.PREEMPT_MS] + row[col.RESTORE_MS]) / QUANTUM_MS)
        out[8] = _limited(math.log(progress / highest), -FARTHEST, FARTHEST)
        out[9] = _limited(math.log(progress / lowest), 0.0, FARTHEST)
        out[10] = squash((estimate / priority / lowest - turnaround) / work)
        out[11] = math.log(left / work)
        out[12] = 1.0 if priority >= of_table[HIGHEST] else 0.0
        out[13] = squash(ENDING_PER_MS * (row[col.REMAINING_MS] - HELD_MS))
    begun = of_table[LOW] < math.inf
    of_all[0] = math.log(float(count))
    of_all[1] = (math.log1p(work / QUANTUM_MS) - LOG_ALL_CENTRE) / LOG_SPREAD
    of_all[2] = _limited(math.log(of_table[LOW] / highest), -FARTHEST, FARTHEST) if begun else 0.0
    of_all[3] = 1.0 if begun else 0.0
    return count
