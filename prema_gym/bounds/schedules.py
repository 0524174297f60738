"""When does each task complete if tasks run in a fixed order of priority?

The preemptive list schedule: at every moment the task of highest priority among those that have
arrived runs; switching is free. P-SPT, WSPT and EDF are such schedules, and so is an optimum for
every objective of this package. Times are integer cycles.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds.inputs import integer_array, task_times
from prema_gym.compiled.jit import kernel
from prema_gym.errors import WorkloadError


@kernel
def run_list(
    order: NDArray[np.int64],
    arrival: NDArray[np.int64],
    isolated: NDArray[np.int64],
    completion: NDArray[np.int64],
    interrupted: NDArray[np.float64],
) -> None:
    """Play the preemptive list schedule of ``order`` in O(n log n).

    Reads order int64 (n,) (task indices, highest priority first), arrival and isolated int64 (n,).
    Writes completion int64 (n,) [cycles] and interrupted float64 (n,) [cycles]: the sum, over the
    task's interruptions, of their length × the share of the task done before. Then
    completion − interrupted = M + p/2 with M the mean busy time (the centre of gravity of the
    pieces): for a task in one piece M = C − p/2, and a gap moves the share before it forward by its
    length. In this form nothing is squared, so nothing overflows and little is rounded.
    """
    num_tasks = len(order)
    by_arrival = np.argsort(arrival, kind="mergesort")  # stable: ties by index
    rank = np.empty(num_tasks, np.int64)
    for place in range(num_tasks):
        rank[order[place]] = place
    left = isolated.copy()
    stopped = np.zeros(num_tasks, np.int64)  # when a task begun last stopped running
    interrupted[:] = 0.0
    present = [rank[0] for _ in range(0)]  # a heap of ranks; its top runs
    arrived = 0
    now = np.int64(0)
    completed = 0
    while completed < num_tasks:
        if len(present) == 0:
            now = max(now, arrival[by_arrival[arrived]])
        while arrived < num_tasks and arrival[by_arrival[arrived]] <= now:
            heapq.heappush(present, rank[by_arrival[arrived]])
            arrived += 1
        task = order[present[0]]
        until = now + left[task]
        if arrived < num_tasks:
            until = min(until, arrival[by_arrival[arrived]])
        done = isolated[task] - left[task]
        if done > 0:
            interrupted[task] += float(now - stopped[task]) * (done / isolated[task])
        left[task] -= until - now
        stopped[task] = until
        now = until
        if left[task] == 0:
            heapq.heappop(present)
            completion[task] = now
            completed += 1


def decode(order: ArrayLike, arrival: ArrayLike, isolated: ArrayLike) -> NDArray[np.int64]:
    """Completion times of the preemptive list schedule of a priority order.

    Args:
        order: Task indices, highest priority first, integers (num_tasks,), each exactly once.
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].

    Returns:
        Completion of each task, by task index, int64 (num_tasks,) [cycles].

    Raises:
        WorkloadError: if the arrays are not a set of tasks, or ``order`` not an order of them.
    """
    arrival_cycles, isolated_cycles = task_times(arrival, isolated)
    priority = integer_array("order", order, arrival_cycles.shape)
    if not np.array_equal(np.sort(priority), np.arange(len(priority))):
        raise WorkloadError("order must name every task index exactly once")
    completion = np.empty_like(arrival_cycles)
    run_list(priority, arrival_cycles, isolated_cycles, completion, np.empty(len(priority)))
    return completion
