"""What of one task is worth learning from? Nine numbers of order one, made from its table row.

The network scales its own inputs, so an environment needs no normaliser whose statistics could be
lost. Times enter as ratios to the task's own length or as logarithms, because a schedule depends on
how times compare and they span three decades. The formulas are written once for NumPy and torch,
:func:`features`; the compiled scorer's twin of them is held equal by a test.
"""

from __future__ import annotations

import math
from typing import Any

from prema_gym.simulator import observation as col

FEATURES: tuple[tuple[str, str], ...] = (
    ("remaining", "log of the remaining time in quanta"),
    ("estimate", "log of the whole estimated time in quanta"),
    ("priority", "log of the priority, 0 for the paper's medium"),
    ("slowdown", "log of what NTT would be if the task ran from now to its end"),
    ("running", "1 for the running task"),
    ("progress", "share of the estimate that is done"),
    ("slack", "slack / estimate, squeezed into (−1, 1)"),
    ("switch", "log of the time to preempt (running) or restore (waiting), in quanta"),
    ("token", "log of the token over the priority: what the wait so far has earned"),
)
NUM_FEATURES = len(FEATURES)

QUANTUM_MS = 0.25
"""Times are counted in the paper's quanta: a difference far below one cannot matter."""
LOG_CENTRE, LOG_SPREAD = 4.0, 2.0
"""A median task of the paper's workload is some 50 quanta, log 4; most lie within ± 2 of it."""
LOG_MEDIUM_PRIORITY = math.log(3.0)
"""The paper's middle priority (fidelity.md)."""
MOST_PROGRESS = 2.0
"""A task twice as long as estimated looks like one three times as long."""
TINY = 1e-6
"""Keeps logarithms and quotients finite where a user's scenario has a zero; far below any time."""

BOUNDS: dict[str, tuple[float, float]] = {
    "running": (0.0, 1.0),
    "progress": (0.0, MOST_PROGRESS),
    "slack": (-1.0, 1.0),
    "switch": (0.0, math.inf),
}
"""Least and greatest value of those that have one."""


def features(table: Any, xp: Any) -> Any:  # noqa: ANN401 - of NumPy or torch
    """Features of every row, (…, S, NUM_FEATURES).

    Args:
        table: Observation tables float32 (…, S, C). Rows without a task give finite numbers that
            mean nothing.
        xp: The module whose array it is: ``numpy`` or ``torch``.
    """
    remaining = table[..., col.REMAINING_MS]
    estimate = xp.clip(table[..., col.ESTIMATED_MS], TINY, None)
    priority = xp.clip(table[..., col.PRIORITY], TINY, None)
    switch = table[..., col.PREEMPT_MS] + table[..., col.RESTORE_MS]
    turnaround = table[..., col.AGE_MS] + remaining
    slack = table[..., col.SLACK_MS] / estimate
    columns = (
        (xp.log1p(remaining / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD,
        (xp.log1p(estimate / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD,
        xp.log(priority) - LOG_MEDIUM_PRIORITY,
        xp.log(turnaround / estimate + TINY),
        table[..., col.RUNNING],
        xp.clip(table[..., col.EXECUTED_MS] / estimate, None, MOST_PROGRESS),
        slack / (1.0 + abs(slack)),
        xp.log1p(switch / QUANTUM_MS),
        xp.log(table[..., col.TOKEN] / priority + TINY),
    )
    return xp.stack(columns, -1)
