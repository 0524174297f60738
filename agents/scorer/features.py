"""How does a learned scheduler see one task? Nine numbers of order one, made from its table row.

The network scales its own inputs, so an environment needs no normaliser whose statistics could be
lost. Times enter as ratios to the task's own length or as logarithms, because a schedule depends on
how times compare and they span three decades. The formulas are written twice: compiled, in
``compiled.py``, and differentiable, in ``torch_scorer.py``; a test holds the two equal.
"""

from __future__ import annotations

import math

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
