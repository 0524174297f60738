"""When do the tasks of a workload arrive? Compiled: from uniform numbers to sorted cycles."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.workloads.arrivals import BURST, PERIODIC, POISSON, TRACE
from prema_gym.workloads.tables import ARRIVAL, BURST_SIZE, WINDOW_CYCLES


@in_place
def draw_arrivals(
    process: npt.NDArray[np.int64],
    trace: npt.NDArray[np.int64],
    uniforms: npt.NDArray[np.float64],
    arrival: npt.NDArray[np.int64],
) -> None:
    """Write the arrival [cycles] of each task, in order of drawing, not sorted.

    Rules: `arrivals.ARRIVALS`. A burst takes its instant from its first task's number, a
    workload from a trace its first request; the trace has at least ``num_tasks`` of them.
    """
    kind = process[ARRIVAL]
    window = process[WINDOW_CYCLES]
    num_tasks = arrival.shape[0]
    start = trace_start(process, trace, uniforms)
    now = 0
    for task in range(num_tasks):
        u = uniforms[task]
        if kind == PERIODIC:
            now = task * window // num_tasks
        elif kind == POISSON:
            # Inverse of the exponential distribution; u < 1 keeps it finite.
            now += int(-math.log1p(-u) * (window / num_tasks))
        elif kind == TRACE:
            now = trace[start + task] - trace[start]
        elif kind != BURST or task % process[BURST_SIZE] == 0:
            now = int(u * window)
        arrival[task] = now


@inlined
def trace_start(
    process: npt.NDArray[np.int64],
    trace: npt.NDArray[np.int64],
    uniforms: npt.NDArray[np.float64],
) -> int:
    """Number of the request with which a workload from a trace begins; 0 for other workloads."""
    if process[ARRIVAL] != TRACE:
        return 0
    return int(uniforms[0] * (trace.shape[0] - uniforms.shape[0] + 1))


@in_place
def sort_stable(
    keys: npt.NDArray[np.int64], order: npt.NDArray[np.int64], spare: npt.NDArray[np.int64]
) -> None:
    """Write the positions of ``keys`` in increasing order; equal keys keep their order.

    A bottom-up merge sort: `numpy.argsort` would add two seconds to the compilation. ``spare`` is
    working space. All three have the same length.
    """
    count = keys.shape[0]
    for position in range(count):
        order[position] = position
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            middle = min(start + width, count)
            end = min(start + 2 * width, count)
            left = start
            right = middle
            for position in range(start, end):
                if left < middle and (right >= end or keys[order[left]] <= keys[order[right]]):
                    spare[position] = order[left]
                    left += 1
                else:
                    spare[position] = order[right]
                    right += 1
        for position in range(count):
            order[position] = spare[position]
        width *= 2
