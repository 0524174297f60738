"""How can tasks arrive? The names of the processes, and what each does with the window.

`prema_gym.workloads.arrival_times` draws from them.
"""

from __future__ import annotations

from collections.abc import Mapping

ARRIVALS: Mapping[str, str] = {
    "uniform": "each task arrives at a time of its own, uniform from 0 to w",
    "poisson": "gaps are exponential with mean w/n, the first from time 0: n tasks take w *on "
    "average*, and the last may arrive later",
    "periodic": "task i of 0 … n − 1 arrives at exactly i · w/n",
    "burst": "each group of `burst_size` tasks (the last one may be smaller) arrives at one "
    "instant, uniform from 0 to w",
    "trace": "n consecutive requests of a recorded trace, the first at 0; the trace is stretched "
    "or shrunk so that its mean gap is w/n",
}
"""Name → what ``window_ms`` (w) means for ``num_tasks`` (n) tasks. A name's position is the code
that compiled code reads."""

UNIFORM, POISSON, PERIODIC, BURST, TRACE = range(len(ARRIVALS))

DROPS: tuple[str, ...] = ("never", "late", "hopeless")
"""Which waiting tasks leave unserved. A name's position is the code that the engine reads."""
