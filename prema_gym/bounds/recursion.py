"""What is the best schedule, exactly? A recursion over the subsets of up to 20 tasks.

Let T(S) be the earliest time by which all tasks of S can be done: the largest r_s + (work of the
tasks of S arriving at r_s or later) over s in S. In any schedule the k-th task to complete does so
no earlier than T(the first k to complete), and running tasks by that order of priority attains it
for all k at once. So, for costs f_j that never fall as a completion moves later,

    F(∅) = 0,    F(S) = min over j in S of  F(S without j) + f_j(T(S)),

with max in place of + for a largest cost, gives the exact optimum F(all tasks) over all schedules,
preemptive or not, idling or not. 2^n · n/2 steps. Times are integer cycles, below 2**53.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.bounds.objectives import task_cost
from prema_gym.bounds.schedules import run_list
from prema_gym.compiled.jit import kernel


class Tasks(NamedTuple):
    """The workloads a kernel reads; padding beyond ``num_tasks`` is never read."""

    num_tasks: NDArray[np.int64]  # (num_workloads,)
    arrival: NDArray[np.int64]  # (num_workloads, max_tasks)
    isolated: NDArray[np.int64]  # (num_workloads, max_tasks)
    weight: NDArray[np.float64]  # (num_workloads, max_tasks)
    deadline: NDArray[np.int64]  # (num_workloads, max_tasks)


class Result(NamedTuple):
    """What a kernel writes: the sum or maximum of the costs, the order, the completions."""

    total: NDArray[np.float64]  # (num_workloads,)
    order: NDArray[np.int64]  # (num_workloads, max_tasks)
    completion: NDArray[np.int64]  # (num_workloads, max_tasks)


@kernel
def solve_rows(
    first: int, end: int, cost: int, maximum: bool, tasks: Tasks, result: Result
) -> None:
    """Solve the workloads first … end − 1; writes those rows of ``result``, only reads the rest."""
    num_subsets = 1 << tasks.num_tasks[first:end].max()
    cheapest = np.empty(num_subsets, np.float64)
    ready = np.empty(num_subsets, np.int64)
    last = np.empty(num_subsets, np.int8)
    for row in range(first, end):
        n = tasks.num_tasks[row]
        # Bit k of a subset is the k-th task to arrive, so that T(S) is one step from a known one.
        by_arrival = np.argsort(tasks.arrival[row, :n], kind="mergesort")  # stable: ties by index
        arrival = tasks.arrival[row, :n][by_arrival]
        isolated = tasks.isolated[row, :n][by_arrival]
        weight = tasks.weight[row, :n][by_arrival]
        deadline = tasks.deadline[row, :n][by_arrival]
        _fill_tables(cost, maximum, arrival, isolated, weight, deadline, cheapest, ready, last)
        subset = (1 << n) - 1
        for place in range(n - 1, -1, -1):
            chosen = np.int64(last[subset])  # shifted as int8, bit 7 would be a sign
            result.order[row, place] = by_arrival[chosen]
            subset ^= 1 << chosen
        run_list(
            result.order[row, :n],
            tasks.arrival[row, :n],
            tasks.isolated[row, :n],
            result.completion[row, :n],
            np.empty(n),
        )
        # From the schedule itself, by task index: what a metric of that schedule gives.
        total = 0.0
        for task in range(n):
            one = task_cost(
                cost,
                tasks.arrival[row, task],
                tasks.isolated[row, task],
                tasks.weight[row, task],
                tasks.deadline[row, task],
                result.completion[row, task],
            )
            total = max(total, one) if maximum else total + one
        result.total[row] = total


@kernel
def _fill_tables(
    cost: int,
    maximum: bool,
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    weight: NDArray[np.float64],
    deadline: NDArray[np.int64],
    cheapest: NDArray[np.float64],
    ready: NDArray[np.int64],
    last: NDArray[np.int8],
) -> None:
    """Write F(S), T(S) and the task that goes last, for every subset S of the n tasks.

    The tasks (n,) are sorted by arrival; the tables (at least 2^n,) are indexed by the bits of S.
    A largest cost is an NTT, never below 0, so F(∅) = 0 serves both + and max.
    """
    cheapest[0] = 0.0
    ready[0] = 0
    for newest in range(len(arrival)):
        bit = 1 << newest
        for subset in range(bit, 2 * bit):
            # The newest task arrives no earlier than any other of S, so it extends their time.
            end = max(ready[subset - bit], arrival[newest]) + isolated[newest]
            best = np.inf
            best_last = newest
            for task in range(newest, -1, -1):
                without = subset ^ (1 << task)
                if without > subset:
                    continue  # the task is not in S
                one = task_cost(
                    cost, arrival[task], isolated[task], weight[task], deadline[task], end
                )
                before = cheapest[without]
                total = max(before, one) if maximum else before + one
                if total < best:
                    best = total
                    best_last = task
            cheapest[subset] = best
            ready[subset] = end
            last[subset] = best_last
