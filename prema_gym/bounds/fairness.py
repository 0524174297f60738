"""How fair can a schedule be, and what ANTT does fairness cost? The exact bound, and the front.

Fairness is min PP / max PP with PP the progress 1/NTT over the task's share of the priorities
(`metrics.fairness`). Every schedule here is work-conserving: the machine idles only while nothing
waits (an idle machine could make all tasks equally slow, and fairness 1). KILL is left out, since
it makes the work longer.

Let B_j be the end of the busy period that holds task j, the same for every order, and
P_j = (p_j/w_j)/(C_j − r_j). No completion is later than B_j, so the largest progress is at least
M* = max_j (p_j/w_j)/(B_j − r_j). So fairness φ needs C_j ≤ r_j + (p_j/w_j)/(φM*) for every task,
due dates that earliest-due-date-first meets or nobody. Where they can be met, fairness φ is reached
in the limit: whoever would be done too early keeps the last bit of its work until its progress is
down to M*. *Holding back* raises the metric without helping anybody, so there is a second bound:
tasks run in a fixed order of priority (:mod:`prema_gym.bounds.windows`).

On the real machine switches make busy periods longer, by some 0.1 %, and the bound may be
exceeded by as much. Source: ours. Times are integer cycles.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds.inputs import batch_shape, integer_array, task_times, weights
from prema_gym.bounds.windows import (
    SLACK,
    fairest_without_holding,
    fill_ends,
    least_antt,
    least_antt_at,
    progresses,
)
from prema_gym.checks import optional, whole
from prema_gym.compiled.cpus import num_cpus
from prema_gym.compiled.jit import kernel
from prema_gym.errors import ConfigError, WorkloadError

MAX_FRONT_TASKS = 12
"""A front takes some thousand recursions over the 2^n subsets: seconds at 12 tasks."""
HALVINGS = 60
"""Of the interval [0, 1] in search of the bound with holding: beyond float64's digits."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Front:
    """What ANTT fairness costs in one workload.

    Attributes:
        fairness: Rising from 0 to the largest possible, float64 (points,).
        antt: The least ANTT with at least that fairness, float64 (points,), not falling.
        holding: Whether tasks may be held back.
    """

    fairness: FloatArray
    antt: FloatArray
    holding: bool


def fairness_bound(
    arrival: ArrayLike,
    isolated: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    holding: bool = True,
) -> float:
    """The largest fairness of any work-conserving schedule, switches being free.

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].
        weight: Priorities, (num_tasks,), above 0; 1 each if left out.
        holding: Whether tasks may be held back; without, at most ``MAX_FRONT_TASKS`` tasks.

    Returns:
        In (0, 1]. With holding it is approached, not reached.

    Raises:
        ConfigError: Too many tasks.
        WorkloadError: The arrays are not a set of tasks.
    """
    tasks = _tasks(arrival, isolated, weight)
    if holding:
        return float(_fairest(*tasks))
    _check_count(len(tasks[0]))
    ends = _ends(tasks[0], tasks[1], holding=False)
    return float(fairest_without_holding(tasks[0], tasks[2], ends))


def antt_fairness_front(
    arrival: ArrayLike,
    isolated: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    holding: bool = True,
    points: int = 51,
) -> Front:
    """The least ANTT for each level of fairness, exactly.

    Args:
        arrival: As for :func:`fairness_bound`; at most ``MAX_FRONT_TASKS`` tasks.
        isolated: The same.
        weight: The same.
        holding: Whether tasks may be held back.
        points: Levels of fairness, equally spaced from 0 to the bound.

    Raises:
        ConfigError: Too many tasks, or fewer than two points.
        WorkloadError: The arrays are not a set of tasks.
    """
    times, isolated_cycles, scale = _tasks(arrival, isolated, weight)
    _check_count(len(times))
    count = whole(2).check("points", points)
    ends = _ends(times, isolated_cycles, holding)
    bound = (
        _fairest(times, isolated_cycles, scale)
        if holding
        else fairest_without_holding(times, scale, ends)
    )
    levels = np.linspace(0.0, bound, count)
    antt = np.empty(count)
    _fill_front(times, isolated_cycles, scale, ends, levels, holding, antt)
    return Front(fairness=levels, antt=antt, holding=holding)


def fronts(
    arrival: ArrayLike,
    isolated: ArrayLike,
    num_tasks: ArrayLike,
    weight: ArrayLike,
    *,
    holding: bool = True,
    points: int = 51,
    threads: int | None = None,
) -> list[Front]:
    """:func:`antt_fairness_front` of each of many workloads.

    Args:
        arrival: Integers (num_workloads, max_tasks) [cycles]; padding may hold anything.
        isolated: The same [cycles].
        num_tasks: Tasks of each, the first ones of its row, integers (num_workloads,).
        weight: Priorities, (num_workloads, max_tasks).
        holding: Whether tasks may be held back.
        points: Levels of fairness of each.
        threads: How many threads share the workloads; None: one for each CPU.

    Raises:
        ConfigError: As for :func:`antt_fairness_front`, or ``threads`` is below 1.
        WorkloadError: The arrays are not workloads.
    """
    threads = optional(whole()).check("threads", threads)
    shape = batch_shape(arrival)
    counts = integer_array("num_tasks", num_tasks, shape[:1])
    rows = zip(
        integer_array("arrival", arrival, shape),
        integer_array("isolated", isolated, shape),
        weights(weight, shape, np.arange(shape[1]) < counts[:, np.newaxis]),
        counts.tolist(),
        strict=True,
    )
    with ThreadPoolExecutor(num_cpus() if threads is None else threads) as pool:
        jobs = [
            pool.submit(antt_fairness_front, r[:n], p[:n], w[:n], holding=holding, points=points)
            for r, p, w, n in rows
        ]
    return [job.result() for job in jobs]


def mean_front(of: list[Front], slopes: ArrayLike | None = None) -> Front:
    """The front of means over workloads: what no scheduler of them can have of both.

    For each slope λ every workload takes the point of its front with the best λ · fairness − ANTT,
    and the means of both are a point of the front of means.

    Args:
        of: The fronts of the workloads, all with or all without holding.
        slopes: ANTT that 1 of fairness is worth, rising; None: from 0 to far beyond all.

    Returns:
        The points, by rising fairness; the first has each workload's fairest optimum of ANTT.

    Raises:
        ConfigError: There is no front, or only some are with holding.
    """
    if not isinstance(of, list) or not of or not all(isinstance(front, Front) for front in of):
        raise ConfigError(f"of must be at least one Front, got {of!r}")
    if len({front.holding for front in of}) > 1:
        raise ConfigError("of must be fronts all with or all without holding, got both")
    if slopes is None:
        slopes = np.concatenate([[0.0], np.geomspace(0.05, 500.0, 100)])
    points = []
    for slope in np.asarray(slopes, np.float64):
        chosen = []
        for front in of:
            worth = slope * front.fairness - front.antt
            # Of equals the fairest: the first points of a front often cost nothing.
            best = np.flatnonzero(worth >= worth.max() - SLACK)[-1]
            chosen.append((front.fairness[best], front.antt[best]))
        points.append(np.mean(chosen, axis=0))
    fairness, antt = np.unique(np.array(points), axis=0).T
    return Front(fairness=fairness, antt=antt, holding=of[0].holding)


def _tasks(
    arrival: ArrayLike, isolated: ArrayLike, weight: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Arrival, isolated time and p/w of the tasks, by arrival; p/w with the largest 1."""
    times, isolated_cycles = task_times(arrival, isolated)
    priority = weights(weight, times.shape)
    if not (priority > 0).all():
        raise WorkloadError("weight must be above 0 for every task: fairness divides by it")
    order = np.argsort(times, kind="stable")
    scale = isolated_cycles / priority
    return times[order], isolated_cycles[order], (scale / scale.max())[order]


def _check_count(count: int) -> None:
    if count > MAX_FRONT_TASKS:
        raise ConfigError(
            f"this takes at most {MAX_FRONT_TASKS} tasks, got {count}; fairness_bound with holding "
            "takes any number"
        )


def _ends(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], holding: bool
) -> NDArray[np.int64]:
    ends = np.zeros((1 << len(arrival), len(arrival)), np.int64)
    fill_ends(arrival, isolated, holding, ends)
    return ends


@kernel
def _least_largest(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], scale: NDArray[np.float64]
) -> float:
    """M*: the least that the largest progress can be."""
    num_tasks = len(arrival)
    ends = np.empty(num_tasks, np.int64)
    now = np.int64(0)
    begun = 0
    for task in range(num_tasks):
        if arrival[task] >= now and task > 0:
            ends[begun:task] = now
            begun = task
        now = max(now, arrival[task]) + isolated[task]
    ends[begun:] = now
    return float((scale / (ends - arrival)).max())


@kernel
def _meets(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], due: NDArray[np.float64]
) -> bool:
    """Whether every task can be done by its due date; tasks sorted by arrival."""
    for last in range(len(arrival)):
        ready = np.int64(0)
        for task in range(len(arrival)):
            if due[task] <= due[last]:
                ready = max(ready, arrival[task]) + isolated[task]
        if ready > due[last] * (1.0 + 1e-15):
            return False
    return True


@kernel
def _fairest(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], scale: NDArray[np.float64]
) -> float:
    """The largest fairness with holding: the largest φ whose due dates can be met."""
    least = _least_largest(arrival, isolated, scale)
    low, high = 0.0, 1.0
    if _meets(arrival, isolated, arrival + scale / least):
        return 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _meets(arrival, isolated, arrival + scale / (middle * least)):
            low = middle
        else:
            high = middle
    return low


@kernel
def _fill_front(
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    scale: NDArray[np.float64],
    ends: NDArray[np.int64],
    levels: NDArray[np.float64],
    holding: bool,
    antt: NDArray[np.float64],
) -> None:
    """Write the least ANTT of each level of fairness, the highest level first.

    Without holding M is the progress of some task in some place. With holding ANTT falls as M
    grows, until the band's lower end φM reaches such a progress: so M is one of these over φ.
    """
    cost = np.empty(len(ends), np.float64)
    limits = progresses(arrival, scale, ends)
    least = _least_largest(arrival, isolated, scale)
    known = np.inf
    for place in range(len(levels) - 1, -1, -1):
        level = levels[place]
        if level == 0.0:
            found = least_antt(arrival, isolated, scale, ends, 0.0, np.inf, holding, cost)
        elif holding:
            tops = limits / level
            tops = tops[tops >= least * (1.0 - SLACK)]
            found = least_antt_at(arrival, isolated, scale, ends, tops, level, holding, known, cost)
        else:
            found = least_antt_at(
                arrival, isolated, scale, ends, limits, level, holding, known, cost
            )
        known = min(known, found)
        antt[place] = known
