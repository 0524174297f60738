"""What is the least ANTT when every task must progress within a band? A recursion over subsets.

Task j, with arrival r, isolated time p and weight w, that completes at C has the progress

    P_j = (p_j / w_j) / (C_j − r_j),

and fairness is min P / max P. A band [φM, M] for all P is a window for each completion. Let tasks
be done in some order, and S be the first ones up to j. With T(S) as in
:mod:`prema_gym.bounds.recursion`, j may complete at max(T(S), r_j + (p_j/w_j)/M): it may be *held
back*, by keeping the last bit of its work, until its progress is down to M. Without holding tasks
run in a fixed order of priority; then j, the last of S, completes when the busy period of S ends
that holds it. Either way a completion depends on the set S and on j alone, so a recursion over
subsets finds the least ANTT of a band exactly, and a search over M that of all bands.
Times are integer cycles, progress is a plain number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import kernel

SLACK = 1e-9
"""Relative room for rounding where a progress is held against a limit."""


@kernel
def fill_ends(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], holding: bool, ends: NDArray[np.int64]
) -> None:
    """Write when each task can complete as the last of each subset, before any holding back.

    Args:
        arrival: Sorted, int64 (n,) [cycles].
        isolated: int64 (n,) [cycles].
        holding: Whether completions may be later still; else they are those by priority.
        ends: Written, int64 (2^n, n) [cycles]; only what stands for a task of the subset is read.
    """
    num_tasks = len(arrival)
    for subset in range(1, 1 << num_tasks):
        now = np.int64(0)
        begun = 0
        for task in range(num_tasks):
            if subset & (1 << task) == 0:
                continue
            if arrival[task] >= now:  # a busy period ends, another begins
                ends[subset, begun:task] = now
                begun = task
            now = max(now, arrival[task]) + isolated[task]
        ends[subset, begun:] = now
        if holding:
            ends[subset, :] = now


@kernel
def least_antt(
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    scale: NDArray[np.float64],
    ends: NDArray[np.int64],
    lowest: float,
    highest: float,
    holding: bool,
    cost: NDArray[np.float64],
) -> float:
    """The least mean NTT with every progress from ``lowest`` to ``highest``; inf if there is none.

    Args:
        arrival: Sorted, int64 (n,) [cycles].
        isolated: int64 (n,) [cycles].
        scale: p/w of each task, float64 (n,).
        ends: By `fill_ends`, int64 (2^n, n).
        lowest: Least progress allowed; 0: any.
        highest: Largest progress allowed; inf: any.
        holding: Whether a task may be held back to stay below it.
        cost: Written, float64 (2^n,): the least sum of NTT of each subset.
    """
    num_tasks = len(arrival)
    cost[0] = 0.0
    for subset in range(1, 1 << num_tasks):
        cheapest = np.inf
        for task in range(num_tasks):
            bit = 1 << task
            if subset & bit == 0 or cost[subset - bit] >= cheapest:
                continue
            turnaround = float(ends[subset, task] - arrival[task])
            if holding:
                turnaround = max(turnaround, scale[task] / highest)
            elif scale[task] > highest * turnaround * (1.0 + SLACK):
                continue
            if lowest * turnaround > scale[task] * (1.0 + SLACK):
                continue
            cheapest = min(cheapest, cost[subset - bit] + turnaround / isolated[task])
        cost[subset] = cheapest
    return float(cost[(1 << num_tasks) - 1] / num_tasks)


@kernel
def greatest_least_progress(
    arrival: NDArray[np.int64],
    scale: NDArray[np.float64],
    ends: NDArray[np.int64],
    highest: float,
    worst: NDArray[np.float64],
) -> float:
    """The greatest least progress without holding, none above ``highest``; 0 if there is none.

    Args:
        arrival: Sorted, int64 (n,) [cycles].
        scale: p/w of each task, float64 (n,).
        ends: By `fill_ends`, int64 (2^n, n).
        highest: Largest progress allowed.
        worst: Written, float64 (2^n,): the best least progress of each subset.
    """
    num_tasks = len(arrival)
    worst[0] = np.inf
    for subset in range(1, 1 << num_tasks):
        best = 0.0
        for task in range(num_tasks):
            bit = 1 << task
            if subset & bit == 0 or worst[subset - bit] <= best:
                continue
            progress = scale[task] / (ends[subset, task] - arrival[task])
            if progress <= highest * (1.0 + SLACK):
                best = max(best, min(worst[subset - bit], progress))
        worst[subset] = best
    return float(worst[(1 << num_tasks) - 1])


@kernel
def progresses(
    arrival: NDArray[np.int64], scale: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Every progress that a task can have without being held back: rising, float64 (n,)."""
    num_tasks = len(arrival)
    found = np.empty(num_tasks << (num_tasks - 1), np.float64)
    count = 0
    for subset in range(1, 1 << num_tasks):
        for task in range(num_tasks):
            if subset & (1 << task):
                found[count] = scale[task] / (ends[subset, task] - arrival[task])
                count += 1
    return np.unique(found)


@kernel
def fairest_without_holding(
    arrival: NDArray[np.int64], scale: NDArray[np.float64], ends: NDArray[np.int64]
) -> float:
    """The largest fairness without holding: over every M, the greatest least progress over M.

    Ranges of M are halved; one is left out where even its upper end's least progress over its lower
    end's M is no better than what is known.
    """
    limits = progresses(arrival, scale, ends)
    worst = np.empty(len(ends), np.float64)
    first = [0]
    last = [len(limits) - 1]
    best = 0.0
    while len(first) > 0:
        low, high = first.pop(), last.pop()
        least = greatest_least_progress(arrival, scale, ends, limits[high], worst)
        if least <= best * limits[low] * (1.0 + SLACK):
            continue
        if low == high:
            best = least / limits[low]
            continue
        middle = (low + high) // 2
        first.append(middle + 1)
        last.append(high)
        first.append(low)
        last.append(middle)
    return min(best, 1.0)


@kernel
def least_antt_at(
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    scale: NDArray[np.float64],
    ends: NDArray[np.int64],
    limits: NDArray[np.float64],
    fairness: float,
    holding: bool,
    known: float,
    cost: NDArray[np.float64],
) -> float:
    """The least ANTT with at least so much fairness, over the bands whose top is one of ``limits``.

    Args:
        arrival: Sorted, int64 (n,) [cycles].
        isolated: int64 (n,) [cycles].
        scale: p/w of each task, float64 (n,).
        ends: By `fill_ends`, int64 (2^n, n).
        limits: Values of M to search, rising, float64.
        fairness: φ.
        holding: Whether tasks may be held back.
        known: An ANTT that is known to be possible, or inf.
        cost: Working space, float64 (2^n,).
    """
    best = known
    if len(limits) == 0:
        return best
    first = [0]
    last = [len(limits) - 1]
    while len(first) > 0:
        low, high = first.pop(), last.pop()
        # The widest windows of any band in the range: no band of it can do better.
        found = least_antt(
            arrival,
            isolated,
            scale,
            ends,
            fairness * limits[low],
            limits[high],
            holding,
            cost,
        )
        if found >= best * (1.0 - SLACK):
            continue
        if low == high:
            best = found
            continue
        middle = (low + high) // 2
        first.append(low)
        last.append(middle)
        first.append(middle + 1)
        last.append(high)
    return best
