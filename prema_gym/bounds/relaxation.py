"""What can no schedule of any number of tasks beat? The bound by mean busy times.

The mean busy time M of a task is the average moment at which it runs. Its completion is at least
M + p/2, and for any set S of tasks Σ p·M over S is at least p(S)·(earliest arrival + p(S)/2). The
linear program of these inequalities is solved exactly by preemptive WSPT: always run the task
with the largest w/p, p being the whole isolated time, never the remaining one. Source: Goemans,
Queyranne, Schulz, Skutella & Wang, SIAM J. Discrete Math. 15(2), 2002.

For m equal machines, squeeze any schedule onto one machine m times as fast: mean busy times stay,
so the same program holds there with p/m, while a completion is still at least M + p/2.

Valid for every policy on real machines, since costs and estimates only delay (see the package).
Times are cycles; the results are float64, right to a few roundings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds.inputs import MAX_CYCLES, task_times, weights
from prema_gym.bounds.schedules import run_list
from prema_gym.checks import whole
from prema_gym.errors import WorkloadError


def wspt_order(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Task indices by falling w/p; ties by arrival, then index.

    Float ratios order integer weights exactly while weight × isolated stays below 2**52 (two
    different ratios are then more than a rounding apart). int64 (num_tasks,).
    """
    return np.lexsort((arrival, -(weight / isolated))).astype(np.int64)


def _earliest_flow(
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    weight: NDArray[np.float64],
    machines: int,
) -> NDArray[np.float64]:
    """M + p/2 − arrival of each task in the program's optimum, float64 (num_tasks,) [cycles].

    Counted from the arrival, so that late arrivals cost no digits.
    """
    machines = whole().check("machines", machines)
    # One machine of speed m, with time counted in m-ths of a cycle, keeps everything whole.
    if machines * (float(arrival.max()) + float(isolated.sum(dtype=np.float64))) >= MAX_CYCLES:
        raise WorkloadError(f"times × machines ({machines}) must stay below 2**53 cycles")
    completion = np.empty_like(arrival)
    interrupted = np.empty(len(arrival))
    order = wspt_order(arrival, isolated, weight)
    run_list(order, machines * arrival, isolated, completion, interrupted)
    fast = (completion - machines * arrival - interrupted) / machines  # M + (p/m)/2 − arrival
    return fast + isolated * ((machines - 1) / (2 * machines))


def lp_bound(
    arrival: ArrayLike, isolated: ArrayLike, weight: ArrayLike | None, machines: int = 1
) -> float:
    """Lower bound on the weighted sum of completion times, Σ w·C.

    The larger of the mean-busy-time bound and Σ w·(r + p). On one machine the best preemptive
    schedule costs at most 1.47 times the former (Goemans, Wein & Williamson).

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].
        weight: Weights (num_tasks,) [>= 0]; None means 1 each. With w = 1/P the bound minus
            Σ r/P bounds the sum of NTTs; :func:`antt_bound` does this with fewer roundings.
        machines: Number of equal NPUs; a task runs on one at a time and may migrate.

    Returns:
        The bound [cycles × weight].

    Raises:
        WorkloadError: if the arrays are not a set of tasks.
        ConfigError: if ``machines`` is below 1.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    weight_each = weights(weight, arrival_cycles.shape)
    flow = _earliest_flow(arrival_cycles, isolated_cycles, weight_each, machines)
    best_flow = max(float(weight_each @ flow), float(weight_each @ isolated_cycles))
    return float(weight_each @ arrival_cycles) + best_flow


def antt_bound(arrival: ArrayLike, isolated: ArrayLike, machines: int = 1) -> float:
    """Lower bound on the average normalised turnaround time (ANTT), at least 1.

    The bound of :func:`lp_bound` with w = 1/P, as a mean of NTTs. Arguments, validity and errors
    are those of :func:`lp_bound`.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    flow = _earliest_flow(arrival_cycles, isolated_cycles, 1.0 / isolated_cycles, machines)
    return max(1.0, float(np.mean(flow / isolated_cycles)))


def stp_cap(arrival: ArrayLike, isolated: ArrayLike, machines: int = 1) -> float:
    """Upper bound on the system throughput (STP), Σ 1/NTT; crude, and at most the number of tasks.

    The NTTs sum to at least Z = n·:func:`antt_bound` and each is at least 1. Under those two laws
    Σ 1/NTT is largest when one task takes all the slowdown: n − 1 + 1/(Z − n + 1). Arguments,
    validity and errors are those of :func:`lp_bound`.
    """
    antt = antt_bound(arrival, isolated, machines)
    num_tasks = np.size(arrival)
    slowdown = num_tasks * (antt - 1.0)
    return num_tasks - 1 + 1.0 / (slowdown + 1.0)
