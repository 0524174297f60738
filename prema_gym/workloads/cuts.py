"""How is an episode cut from a stream? So many requests in a row, from a random point of it.

The law of the arrivals is the stream's own, also of the first: whoever looks at a stream at some
time is as likely to find it in a burst, or late in its day, as it is there. Times are cycles since
that point. The machine is idle there: what would be in the system is not known without a policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.source import Source, Traffic, traffic_of
from prema_gym.workloads.workload import WorkloadArrays, empty_arrays


@lru_cache(maxsize=16)  # as many as there are compiled scenarios
def traffic_to_cut(catalog: Catalog) -> Traffic:
    """The streams of a scenario from which episodes can be cut.

    Raises:
        ConfigError: One of them is a closed loop.
    """
    traffic = traffic_of(catalog)
    if traffic.closed:
        name = traffic.streams[traffic.closed[0]].name
        raise ConfigError(
            f"stream {name!r} is a closed loop, whose arrivals depend on the policy: it is played "
            "in long runs (prema-gym evaluate), and no episode or workload is cut from it"
        )
    return traffic


def cut(
    catalog: Catalog, rngs: Iterable[np.random.Generator], out: WorkloadArrays | None = None
) -> WorkloadArrays:
    """Cut one workload from the streams of a scenario with each generator.

    Args:
        catalog: The compiled scenario; ``num_tasks`` says how many requests.
        rngs: K generators; each advances by what its workload takes.
        out: int64 (at least K, num_tasks), of which the first K rows are written; None: new ones.

    Raises:
        ConfigError: A stream is a closed loop, or a trace is too short.
    """
    traffic, count, given = traffic_to_cut(catalog), catalog.scenario.num_tasks, list(rngs)
    out = empty_arrays(len(given), count) if out is None else out
    for row, rng in enumerate(given):
        drawn, _ = Source(traffic, rng).next(count)
        for mine, its in zip(out, drawn, strict=True):
            mine[row] = its[0]
    return out
