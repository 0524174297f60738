"""In which order are the tasks at hand best done, if nobody else arrives? Compiled; times are ms.

Task j has been in the system for a_j, needs R_j more of E_j in all, and has the priority π_j. Done
after T it has the turnaround a_j + T and the progress P_j = (E_j/π_j)/(a_j + T). A plan is an order
and a band [φM, M] of progress: whoever would be done with a progress above M is held back (its last
bit of work is kept) until it is down to M, and nobody may fall below φM. What a plan is worth is

    λ · fairness − Σ w_j · NTT_j / tasks seen,

with fairness over the tasks at hand and those done before. For a given band a recursion over the
subsets of up to 12 tasks finds the best order exactly (as in prema_gym.bounds, which no policy may
import); above, a beam search does what it can. Some fifty bands are tried. Source: ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import kernel

EXACT_TASKS = 12
BEAM = 8
"""Partial orders that a beam search keeps."""
CAPS = np.array([1.0, 1.15, 1.35, 1.7, 2.5, 6.0])
"""M tried, times the least it can be."""
SHARES = np.array([0.0, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0])
"""φ tried, times the largest that can be met."""
FINE_TASKS = 9
"""With more tasks only some of these bands are tried."""
ROOM = 1e-6
"""Relative room for rounding at a limit."""
LATE = 10.0
"""What a beam search pays for a progress below the band, in NTT for each part it is below."""


class Job(NamedTuple):
    """The tasks at hand, in order of arrival; each array is float64 (n,)."""

    age: NDArray[np.float64]  # since arrival [ms]
    left: NDArray[np.float64]  # work left, what it takes to come back included [ms]
    scale: NDArray[np.float64]  # E/π [ms]
    rate: NDArray[np.float64]  # w/E: what a ms of turnaround costs [1/ms]


class Space(NamedTuple):
    """Working space for tables of up to ``EXACT_TASKS`` tasks."""

    cost: NDArray[np.float64]  # (2^EXACT_TASKS,)
    ready: NDArray[np.float64]  # (2^EXACT_TASKS,)
    last: NDArray[np.int8]  # (2^EXACT_TASKS,)


@kernel
def new_space(num_tasks: int) -> Space:
    """Room for so many tasks."""
    size = 1 << min(num_tasks, EXACT_TASKS)
    return Space(np.empty(size), np.empty(size), np.empty(size, np.int8))


@kernel
def best_share(job: Job, cap: float) -> float:
    """The largest φ ≤ 1 for which everybody can be done with a progress of φ · ``cap`` or more."""
    num_tasks = len(job.age)
    low, high = 0.0, 1.0
    for step in range(14):
        share = 1.0 if step == 0 else (low + high) / 2
        due = job.scale / (share * cap) - job.age
        now = 0.0
        meets = True
        for task in np.argsort(due):
            now += job.left[task]
            meets &= now <= due[task] * (1.0 + ROOM)
        if meets and step == 0:
            return 1.0
        if meets:
            low = share
        else:
            high = share
    return low if num_tasks > 0 else 1.0


@kernel
def _read_order(space: Space, order: NDArray[np.int64]) -> None:
    """Write the order that a recursion has found."""
    subset = (1 << len(order)) - 1
    for place in range(len(order) - 1, -1, -1):
        chosen = int(space.last[subset])
        order[place] = chosen
        subset ^= 1 << chosen


@kernel
def exact_order(
    job: Job,
    cap: float,
    share: float,
    first: int,
    holding: bool,
    space: Space,
    order: NDArray[np.int64],
) -> float:
    """Write the order of least cost within a band, and return that; inf if there is none.

    Args:
        job: At most ``EXACT_TASKS`` tasks.
        cap: M; inf: nobody is held back.
        share: φ.
        first: Who must run first, or -1.
        holding: Whether progress above M is brought down by waiting; else it is not allowed.
        space: Working space.
        order: Written, int64 (n,).
    """
    num_tasks = len(job.age)
    full = (1 << num_tasks) - 1
    space.cost[0] = 0.0
    space.ready[0] = 0.0
    # Turnarounds between which each may be done: no division in the inner loop.
    soonest, latest = job.scale / cap, job.scale / max(share * cap, 1e-300) * (1.0 + ROOM)
    newest = 0
    for subset in range(1, full + 1):
        newest += subset >> (newest + 1)  # 1 where the next bit is reached
        ready = space.ready[subset ^ (1 << newest)] + job.left[newest]
        space.ready[subset] = ready
        cheapest = np.inf
        chosen = newest
        if first < 0 or subset & (1 << first):
            for task in range(newest, -1, -1):  # of equals the last to arrive goes last
                bit = 1 << task
                if subset & bit == 0 or space.cost[subset - bit] >= cheapest:
                    continue
                if first == task and subset != bit:
                    continue
                turnaround = job.age[task] + ready
                if turnaround < soonest[task]:
                    if not holding and turnaround < soonest[task] * (1.0 - ROOM):
                        continue
                    turnaround = soonest[task]
                if turnaround > latest[task]:
                    continue
                total = space.cost[subset - bit] + job.rate[task] * turnaround
                if total < cheapest:
                    cheapest = total
                    chosen = task
        space.cost[subset] = cheapest
        space.last[subset] = chosen
    if np.isfinite(space.cost[full]):
        _read_order(space, order)
    return float(space.cost[full])


@kernel
def beam_order(job: Job, cap: float, share: float, first: int, order: NDArray[np.int64]) -> float:
    """Write a good order for many tasks, and return its cost: the cheapest beginnings are kept.

    A beginning costs what its tasks do, and what the others would if each came next.
    """
    num_tasks = len(job.age)
    lowest = share * cap
    used = np.zeros((BEAM, num_tasks), np.bool_)
    path = np.empty((BEAM, num_tasks), np.int64)
    spent, now = np.zeros(BEAM), np.zeros(BEAM)
    kept = 1
    for place in range(num_tasks):
        parent, child = np.zeros(BEAM, np.int64), np.zeros(BEAM, np.int64)
        bound, paid = np.full(BEAM, np.inf), np.zeros(BEAM)
        for beam in range(kept):
            rest = 0.0
            rate = 0.0
            for task in range(num_tasks):
                if not used[beam, task]:
                    rest += job.rate[task] * (job.age[task] + job.left[task])
                    rate += job.rate[task]
            for task in range(num_tasks):
                if used[beam, task] or (place == 0 and first >= 0 and task != first):
                    continue
                end = now[beam] + job.left[task]
                turnaround = max(job.age[task] + end, job.scale[task] / cap)
                late = max(0.0, lowest * turnaround / job.scale[task] - 1.0)
                cost = spent[beam] + job.rate[task] * turnaround + LATE * late
                own = job.rate[task]
                others = rest - own * (job.age[task] + job.left[task]) + (rate - own) * end
                worst = bound.argmax()
                if cost + others < bound[worst]:
                    bound[worst], paid[worst] = cost + others, cost
                    parent[worst], child[worst] = beam, task
        live = np.flatnonzero(np.isfinite(bound))
        used_before, path_before, now_before = used.copy(), path.copy(), now.copy()
        kept = len(live)
        for k in range(kept):
            beam, added = parent[live[k]], child[live[k]]
            used[k], path[k] = used_before[beam], path_before[beam]
            used[k, added] = True
            path[k, place] = added
            now[k] = now_before[beam] + job.left[added]
            spent[k] = paid[live[k]]
    cheapest = spent[:kept].argmin()
    order[:] = path[cheapest]
    return float(spent[cheapest])


@kernel
def worth(
    job: Job,
    order: NDArray[np.int64],
    cap: float,
    holding: bool,
    past: NDArray[np.float64],
    fairness: float,
) -> float:
    """What an order is worth, held back to a progress of ``cap``; see the module."""
    now = 0.0
    cost = 0.0
    low, high = past[0], past[1]
    for task in order:
        now += job.left[task]
        turnaround = job.age[task] + now
        if holding:
            turnaround = max(turnaround, job.scale[task] / cap)
        progress = job.scale[task] / turnaround
        low, high = min(low, progress), max(high, progress)
        cost += job.rate[task] * turnaround
    return float(fairness * low / high - cost / past[2])


@kernel
def _order_within(
    job: Job,
    cap: float,
    share: float,
    first: int,
    holding: bool,
    space: Space,
    order: NDArray[np.int64],
) -> float:
    """Write the best order within a band that is known how to find, and return its cost."""
    if len(job.age) <= EXACT_TASKS:
        return exact_order(job, cap, share, first, holding, space, order)
    return beam_order(job, cap, share, first, order)


@kernel
def plan(
    job: Job,
    runner: int,
    leave_ms: float,
    past: NDArray[np.float64],
    fairness: float,
    holding: bool,
    space: Space,
    order: NDArray[np.int64],
) -> float:
    """Write the best order found, and return its M: who is done sooner is held back.

    Args:
        job: The tasks at hand, at least one.
        runner: Who runs, or -1.
        leave_ms: What it takes to stop that one.
        past: Least and largest progress of those done before (inf and 0 if none), tasks seen.
        fairness: λ.
        holding: Whether anybody may be held back.
        space: Working space.
        order: Written, int64 (n,).
    """
    num_tasks = len(job.age)
    least = max(past[1], (job.scale / (job.age + job.left.sum())).max())
    tried = np.empty(num_tasks, np.int64)
    best, best_cap, best_share_of = -np.inf, np.inf, 0.0
    free = 0.0  # what the best order costs without any band
    for k in range(-1, len(CAPS)):
        if k > 0 and k % 3 != 0 and num_tasks > FINE_TASKS:
            continue
        cap = CAPS[k] * least if k >= 0 else 1e9 * least
        most = best_share(job, cap) if k >= 0 and fairness > 0.0 else 0.0
        # No fairness is above this here, and no narrower band costs less than a wider one.
        limit = fairness * min(1.0, min(past[0], most * cap) / least)
        floor = free
        for step in range(len(SHARES) if most > 0.0 else 1):
            if step % 2 == 1 and num_tasks > FINE_TASKS:
                continue
            if k >= 0 and limit - floor / past[2] <= best:
                break
            share = SHARES[step] * most * (1.0 - ROOM)
            floor = _order_within(job, cap, share, -1, holding, space, tried)
            if not np.isfinite(floor):
                break
            if k < 0:
                free = floor
            value = worth(job, tried, cap, holding, past, fairness)
            if value > best:
                best, best_cap, best_share_of = value, cap, share
                order[:] = tried
    if runner >= 0 and order[0] != runner:  # is it worth the switch?
        price = 2.0 * leave_ms * job.rate.sum() / past[2]
        cost = _order_within(job, best_cap, best_share_of, runner, holding, space, tried)
        stays = worth(job, tried, best_cap, holding, past, fairness) if np.isfinite(cost) else best
        if np.isfinite(cost) and stays >= best - price:
            order[:] = tried
    return best_cap
