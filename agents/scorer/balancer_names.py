"""What is the balancer network shown? By name, as plain data.

``balancer_inputs.py`` makes it.
"""

from __future__ import annotations

INPUTS: tuple[tuple[str, str], ...] = (
    ("remaining", "log of the time left, what it takes to come back included, in quanta"),
    ("estimate", "log of the whole estimated time in quanta"),
    ("priority", "log of the priority, 0 for the paper's medium"),
    ("slowdown", "log of what NTT would be if the task ran from now to its end"),
    ("running", "1 for the running task"),
    ("progress", "share of the estimate that is done"),
    ("slack", "slack / estimate, squeezed into (−1, 1)"),
    ("switch", "log of the time to preempt (running) or restore (waiting), in quanta"),
    ("above", "log of its weighted progress, if it ran to its end now, over the highest to expect"),
    ("below", "log of the same over the lowest to expect"),
    ("room", "time that it can wait before it would be the lowest, over all work, squeezed"),
    ("share", "log of its share of all work left"),
    ("top", "1 for the highest priority seen so far"),
    ("ending", "remaining time against what a task held back keeps, squeezed"),
)
"""Of each task. The highest progress to expect is that of those done, or, if larger, the most that
somebody present will have when all present are done; the lowest that of those done, or, if smaller,
the least that somebody present would have if it ran now."""
NUM_INPUTS = len(INPUTS)

OF_ALL: tuple[tuple[str, str], ...] = (
    ("count", "log of the number of tasks"),
    ("work", "log of all work left in quanta"),
    ("past", "log of the lowest progress of those done over the highest to expect; 0 at first"),
    ("begun", "1 once somebody is done"),
)
"""Of all together."""
NUM_OF_ALL = len(OF_ALL)

PREFERENCES: tuple[tuple[str, str], ...] = (
    ("fairness", "what fairness is worth beside ANTT, times the balanced"),
    ("tail", "the extra weight of the highest priority, times the balanced"),
)
"""What a user may prefer; the network is shown logarithms, 0 for balanced."""
NUM_PREFERENCES = len(PREFERENCES)
