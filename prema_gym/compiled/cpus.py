"""How many threads can run at once?"""

from __future__ import annotations

import os


def num_cpus() -> int:
    """Return how many processors this process may use: fewer than there are, in some containers."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
