"""How does a learned scheduler see one task? Nine numbers of order one, made from its table row.

The network scales its own inputs, so an environment needs no normaliser whose statistics could be
lost. Times enter as ratios to the task's own length or as logarithms, because a schedule depends on
how times compare and they span three decades. There are two writings of the same formulas: the
compiled one here, and the differentiable one in ``torch_scorer.py``; a test holds them equal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import inlined
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


@inlined
def write_features(
    table: NDArray[np.float32], env: int, slot: int, out: NDArray[np.float32]
) -> None:
    """Write the features of one present task.

    Args:
        table: Observation tables float32 (B, S, C).
        env: Which table.
        slot: Which row.
        out: float32 (NUM_FEATURES,), written in the order of ``FEATURES``.
    """
    remaining = table[env, slot, col.REMAINING_MS]
    estimate = max(table[env, slot, col.ESTIMATED_MS], TINY)
    priority = max(table[env, slot, col.PRIORITY], TINY)
    switch = table[env, slot, col.PREEMPT_MS] + table[env, slot, col.RESTORE_MS]
    slack = table[env, slot, col.SLACK_MS] / estimate
    turnaround = table[env, slot, col.AGE_MS] + remaining
    out[0] = (math.log1p(remaining / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD
    out[1] = (math.log1p(estimate / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD
    out[2] = math.log(priority) - LOG_MEDIUM_PRIORITY
    out[3] = math.log(turnaround / estimate + TINY)
    out[4] = table[env, slot, col.RUNNING]
    out[5] = min(table[env, slot, col.EXECUTED_MS] / estimate, MOST_PROGRESS)
    out[6] = slack / (1.0 + abs(slack))
    out[7] = math.log1p(switch / QUANTUM_MS)
    out[8] = math.log(table[env, slot, col.TOKEN] / priority + TINY)
