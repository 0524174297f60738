"""Which cases have a simpler exact answer? Four textbook results, exact in integers or fractions.

They take any number of tasks (except :func:`fewest_misses`) and share no step with the subset
recursion, so each also checks it. Machine, units and validity are those of the package.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds.exact import MAX_TASKS
from prema_gym.bounds.inputs import integer_array, task_times, weights
from prema_gym.bounds.relaxation import wspt_order
from prema_gym.bounds.schedules import run_list
from prema_gym.compiled.jit import kernel
from prema_gym.errors import ConfigError, WorkloadError


def srpt_completions(arrival: ArrayLike, isolated: ArrayLike) -> NDArray[np.int64]:
    """Completion times under shortest remaining processing time: their sum is the least possible.

    Ties go to the earlier arrival, then the lower index.

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].

    Returns:
        int64 (num_tasks,) [cycles], by task index.

    Raises:
        WorkloadError: if the arrays are not a set of tasks.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    completion = np.empty_like(arrival_cycles)
    _run_srpt(arrival_cycles, isolated_cycles, completion)
    return completion


@kernel
def _run_srpt(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], completion: NDArray[np.int64]
) -> None:
    """Write completion int64 (n,); reads the rest. O(n log n)."""
    num_tasks = len(arrival)
    by_arrival = np.argsort(arrival, kind="mergesort")
    # A heap of (remaining, place by arrival): the place breaks ties as promised.
    present = [(isolated[0], np.int64(0)) for _ in range(0)]
    arrived = 0
    now = np.int64(0)
    while arrived < num_tasks or len(present) > 0:
        if len(present) == 0:
            now = max(now, arrival[by_arrival[arrived]])
        while arrived < num_tasks and arrival[by_arrival[arrived]] <= now:
            heapq.heappush(present, (isolated[by_arrival[arrived]], np.int64(arrived)))
            arrived += 1
        left, place = heapq.heappop(present)
        until = now + left
        if arrived < num_tasks:
            until = min(until, arrival[by_arrival[arrived]])
        left -= until - now
        now = until
        if left > 0:
            heapq.heappush(present, (left, place))
        else:
            completion[by_arrival[place]] = now


def wspt_completions(
    arrival: ArrayLike, isolated: ArrayLike, weight: ArrayLike | None
) -> NDArray[np.int64]:
    """Completion times by falling w/p: the least Σ w·C when all tasks arrive together (Smith 1956).

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], all equal.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].
        weight: Weights (num_tasks,) [>= 0]; None means 1 each.

    Returns:
        int64 (num_tasks,) [cycles], by task index; equal ratios in index order.

    Raises:
        WorkloadError: if the arrays are not a set of tasks or the arrivals differ, since the rule
            is not optimal then.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    if (arrival_cycles != arrival_cycles[0]).any():
        raise WorkloadError("WSPT is optimal for equal arrivals only; use optimum or lp_bound")
    order = wspt_order(arrival_cycles, isolated_cycles, weights(weight, arrival_cycles.shape))
    completion = np.empty_like(arrival_cycles)
    completion[order] = arrival_cycles[0] + np.cumsum(isolated_cycles[order])
    return completion


def fewest_misses(arrival: ArrayLike, isolated: ArrayLike, deadline: ArrayLike) -> int:
    """The least number of tasks that complete after their deadline.

    It is the number of tasks outside the largest set whose deadlines can all be met: a set can
    exactly when, for every deadline d in it, its tasks due by d can all be done by d.

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order, at most ``MAX_TASKS``.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].
        deadline: Integers (num_tasks,) [cycles]; a task is missed if it completes later.

    Raises:
        WorkloadError: if the arrays are not a set of tasks.
        ConfigError: if there are more than ``MAX_TASKS`` tasks.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    deadline_cycles = integer_array("deadline", deadline, arrival_cycles.shape)
    num_tasks = len(arrival_cycles)
    if num_tasks > MAX_TASKS:
        raise ConfigError(f"fewest_misses takes at most {MAX_TASKS} tasks, got {num_tasks}")
    by_deadline = np.argsort(deadline_cycles, kind="stable")
    most_met = _most_met(
        arrival_cycles[by_deadline], isolated_cycles[by_deadline], deadline_cycles[by_deadline]
    )
    return num_tasks - int(most_met)


@kernel
def _most_met(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], deadline: NDArray[np.int64]
) -> int:
    """Size of the largest set that meets its deadlines; tasks sorted by deadline. O(2^n · n).

    Bit j of a set is task j, so a set without its highest bit is the part due earlier: if that
    part can meet its deadlines, only the last deadline is left to check, with all of the set.
    """
    num_tasks = len(arrival)
    by_arrival = np.argsort(arrival, kind="mergesort")
    size = np.zeros(1 << num_tasks, np.int8)  # of sets that meet their deadlines, else −1
    most = 0
    for last in range(num_tasks):
        bit = 1 << last
        for earlier in range(bit):
            size[bit + earlier] = -1
            if size[earlier] < 0:
                continue
            end = np.int64(0)  # when all of the set can be done
            for place in range(num_tasks):
                task = by_arrival[place]
                if (bit + earlier) >> task & 1:
                    end = max(end, arrival[task]) + isolated[task]
            if end <= deadline[last]:
                size[bit + earlier] = size[earlier] + 1
                most = max(most, size[earlier] + 1)
    return most


def least_worst_ntt(arrival: ArrayLike, isolated: ArrayLike) -> Fraction:
    """The least possible largest NTT, as an exact fraction.

    Every NTT is at most σ exactly when the deadlines r + σ·p can be met, and if they can, earliest
    deadline first meets them. So σ is bisected. Each schedule that meets its deadlines attains
    some largest NTT, which becomes the upper end; two attainable values differ by at least 1/p²
    for the largest p, so an interval shorter than that holds one.

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].

    Raises:
        WorkloadError: if the arrays are not a set of tasks.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    tasks = list(zip(arrival_cycles.tolist(), isolated_cycles.tolist(), strict=True))
    below = Fraction(1)  # the best NTT there is, attained or not
    best = _worst_ntt_under_edf(arrival_cycles, isolated_cycles, tasks, below)
    resolution = Fraction(1, int(isolated_cycles.max()) ** 2)
    while best - below >= resolution:
        middle = (below + best) / 2
        worst = _worst_ntt_under_edf(arrival_cycles, isolated_cycles, tasks, middle)
        best = min(best, worst)
        if worst > middle:
            below = middle
    return best


def _worst_ntt_under_edf(
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    tasks: list[tuple[int, int]],
    target: Fraction,
) -> Fraction:
    """Largest NTT when earliest deadline runs first, deadlines being r + ⌊target·p⌋.

    Completions are whole cycles, so rounding a deadline down changes nothing. Python integers:
    numerator × p can exceed 64 bits.
    """
    deadlines = [r + target.numerator * p // target.denominator for r, p in tasks]
    order = np.array(sorted(range(len(tasks)), key=lambda j: (deadlines[j], tasks[j][0], j)))
    completion = np.empty_like(arrival)
    run_list(order.astype(np.int64), arrival, isolated, completion, np.empty(len(tasks)))
    return max(Fraction(c - r, p) for c, (r, p) in zip(completion.tolist(), tasks, strict=True))
