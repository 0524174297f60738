"""How is a workload drawn from a scenario, the same from the same seed everywhere?

All randomness is one array of uniform numbers from one NumPy generator, six per task, whatever the
scenario. A compiled function without randomness turns it into tasks by table look-up. So the
workload of a seed does not depend on the policy, on how many are drawn at once, or on whether the
code is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from prema_gym._jit import kernel
from prema_gym.errors import WorkloadError
from prema_gym.workloads.catalog import (
    ARRIVAL,
    BURST_SIZE,
    WINDOW_CYCLES,
    Catalog,
    CatalogArrays,
)
from prema_gym.workloads.lengths import NUM_RATIOS, RATIO_ONE
from prema_gym.workloads.scenario import BURST, PERIODIC, POISSON, TRACE
from prema_gym.workloads.workload import (
    TASK_FIELDS,
    Workload,
    WorkloadArrays,
    WorkloadBatch,
    empty_arrays,
)

# What each of a task's six uniform numbers decides.
U_ARRIVAL, U_NETWORK, U_BATCH, U_PRIORITY, U_INPUT, U_RATIO = range(6)
NUM_UNIFORMS = 6


def draw_uniforms(
    rng: np.random.Generator, num_tasks: int, out: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """All the randomness of one workload: float64 (num_tasks, 6) in [0, 1), one draw call.

    Args:
        rng: Advances by six numbers per task.
        num_tasks: Tasks of the workload.
        out: Contiguous array of that shape to write; None: a new one.
    """
    return rng.random((num_tasks, NUM_UNIFORMS), out=out)


def sample(catalog: Catalog, rng: np.random.Generator) -> Workload:
    """Draw one workload; advances ``rng`` by six numbers per task."""
    uniforms = draw_uniforms(rng, catalog.scenario.num_tasks)
    out = _filled(catalog, uniforms[None])
    return Workload(**{name: getattr(out, name)[0] for name in TASK_FIELDS})


def sample_batch(catalog: Catalog, seeds: Iterable[int]) -> WorkloadBatch:
    """Draw the workload of each seed; row i is ``sample(catalog, default_rng(seeds[i]))``.

    The workload of a seed is also what a Gymnasium environment draws after ``reset(seed=seed)``,
    whose generator is the same.
    """
    num_tasks = catalog.scenario.num_tasks
    uniforms = [draw_uniforms(np.random.default_rng(seed), num_tasks) for seed in seeds]
    if not uniforms:
        raise WorkloadError("a batch of workloads needs at least one seed")
    return WorkloadBatch(**_filled(catalog, np.stack(uniforms))._asdict())


def _filled(catalog: Catalog, uniforms: npt.NDArray[np.float64]) -> WorkloadArrays:
    """Turn uniforms (B, num_tasks, 6) into new arrays."""
    out = empty_arrays(*uniforms.shape[:2])
    generate(catalog.arrays, uniforms, np.arange(len(uniforms)), out)
    return out


@kernel
def generate(
    arrays: CatalogArrays,
    uniforms: npt.NDArray[np.float64],
    rows: npt.NDArray[np.int64],
    out: WorkloadArrays,
) -> None:
    """Turn uniform numbers into workloads, in place; about 0.1 µs a task.

    Args:
        arrays: The catalog's arrays; only read.
        uniforms: float64 (B, num_tasks, 6) in [0, 1), as from `draw_uniforms`.
        rows: int64 (B,), the rows of ``out`` to write, in range and distinct (not checked).
        out: int64 arrays (any B, max_tasks >= num_tasks), written in ``rows`` only: tasks in order
            of (arrival, position in ``uniforms``), then zeros; and ``out.num_tasks[rows]``.
    """
    num_tasks = uniforms.shape[1]
    arrival = np.empty(num_tasks, dtype=np.int64)
    order = np.empty(num_tasks, dtype=np.int64)
    spare = np.empty(num_tasks, dtype=np.int64)
    for source in range(rows.shape[0]):
        row = rows[source]
        _draw_arrivals(arrays.process, arrays.trace_cycles, uniforms[source], arrival)
        _sort_stable(arrival, order, spare)
        for task in range(num_tasks):
            draw = order[task]
            _write_task(arrays, uniforms[source, draw], arrival[draw], row, task, out)
        for task in range(num_tasks, out.profile.shape[1]):
            _clear_task(row, task, out)
        out.num_tasks[row] = num_tasks


@kernel
def _draw_arrivals(
    process: npt.NDArray[np.int64],
    trace: npt.NDArray[np.int64],
    uniforms: npt.NDArray[np.float64],
    arrival: npt.NDArray[np.int64],
) -> None:
    """Write the arrival [cycles] of each task, in order of drawing, not sorted.

    Rules: see `Scenario.arrival`. A burst takes its instant from its first task's number, a
    workload from a trace its first request; the trace has at least ``num_tasks`` of them.
    """
    kind = process[ARRIVAL]
    window = process[WINDOW_CYCLES]
    num_tasks = arrival.shape[0]
    start = int(uniforms[0, U_ARRIVAL] * (trace.shape[0] - num_tasks + 1)) if kind == TRACE else 0
    now = 0
    for task in range(num_tasks):
        u = uniforms[task, U_ARRIVAL]
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


@kernel
def _sort_stable(
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


@kernel
def _write_task(
    arrays: CatalogArrays,
    uniforms: npt.NDArray[np.float64],
    arrival: int,
    row: int,
    task: int,
    out: WorkloadArrays,
) -> None:
    """Write one task from its six uniform numbers.

    A uniform number below 1 times a whole number n, rounded to double, stays below n, so every
    index is in range.
    """
    network = int(uniforms[U_NETWORK] * arrays.first_profile.shape[0])
    batch = int(uniforms[U_BATCH] * arrays.batch_sizes.shape[0])
    position = int(uniforms[U_INPUT] * arrays.num_lengths[network])
    profile = arrays.first_profile[network, batch] + position
    ratio = arrays.ratios_millionths[network, int(uniforms[U_RATIO] * NUM_RATIOS)]
    # The rule of `lengths.output_length`; a test holds the two equal.
    length = max(1, (arrays.input_length[profile] * ratio + RATIO_ONE // 2) // RATIO_ONE)
    out.arrival_cycles[row, task] = arrival
    out.profile[row, task] = profile
    out.output_length[row, task] = length
    out.priority[row, task] = arrays.priorities[
        int(uniforms[U_PRIORITY] * arrays.priorities.shape[0])
    ]
    out.batch_size[row, task] = arrays.batch_sizes[batch]
    out.network[row, task] = network
    out.isolated_cycles[row, task] = (
        arrays.fixed_cycles[profile] + arrays.step_cycles[profile] * length
    )
    out.estimated_cycles[row, task] = arrays.estimated_cycles[profile]
    out.deadline_cycles[row, task] = arrival + arrays.allowance_cycles[profile]


@kernel
def _clear_task(row: int, task: int, out: WorkloadArrays) -> None:
    """Write zeros where there is no task."""
    out.arrival_cycles[row, task] = 0
    out.profile[row, task] = 0
    out.output_length[row, task] = 0
    out.priority[row, task] = 0
    out.batch_size[row, task] = 0
    out.network[row, task] = 0
    out.isolated_cycles[row, task] = 0
    out.estimated_cycles[row, task] = 0
    out.deadline_cycles[row, task] = 0
