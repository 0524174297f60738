"""What do this machine's processors offer: how many threads at once, and lines of what size?"""

from __future__ import annotations

import os

CACHE_LINE = 64  # bytes; with longer ones records share lines, and all is as right


def num_cpus() -> int:
    """Return how many processors this process may use: fewer than there are, in some containers."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
