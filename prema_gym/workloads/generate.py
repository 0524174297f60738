"""How is a workload drawn from a scenario, the same from the same seed everywhere?

All randomness is one array of uniform numbers from one NumPy generator, six per task, whatever the
scenario. A compiled function without randomness turns it into tasks by table look-up. So the
workload of a seed does not depend on the policy, on how many are drawn at once, or on whether the
code is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prema_gym.compiled.bit_generator import next_double
from prema_gym.compiled.jit import in_place
from prema_gym.compiled.straight import straight_line
from prema_gym.errors import WorkloadError
from prema_gym.workloads.arrival_times import draw_arrivals, sort_stable, trace_start
from prema_gym.workloads.asked import asked_or, nearest_profile
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.tables import (
    ASKED_ALLOWANCE,
    ASKED_BATCH,
    ASKED_INPUT,
    ASKED_NETWORK,
    ASKED_OUTPUT,
    ASKED_PRIORITY,
    NOT_ASKED,
    CatalogArrays,
)
from prema_gym.workloads.workload import Workload, WorkloadArrays, WorkloadBatch, empty_arrays

# What each of a task's six uniform numbers decides.
U_ARRIVAL, U_NETWORK, U_BATCH, U_PRIORITY, U_INPUT, U_RATIO = range(6)
NUM_UNIFORMS = 6


class Draft(NamedTuple):
    """Working space in which K workloads of N tasks are drawn."""

    uniforms: npt.NDArray[np.float64]  # (K, N, NUM_UNIFORMS) in [0, 1)
    arrivals: npt.NDArray[np.int64]  # (K, 3, N): arrivals as drawn [cycles], their order, scratch


def new_draft(num_workloads: int, num_tasks: int) -> Draft:
    """Room for so many workloads at once."""
    return Draft(
        np.empty((num_workloads, num_tasks, NUM_UNIFORMS)),
        np.empty((num_workloads, 3, num_tasks), np.int64),
    )


class Drawing(NamedTuple):
    """What compiled code needs to draw the workloads of B sub-environments, each from its own."""

    catalog: CatalogArrays
    draft: Draft
    generators: npt.NDArray[np.int64]  # (B,) `bit_generator.address_of`; (0,): workloads are given


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
    """Draw one workload; where there are ``[[streams]]``, cut it from them.

    Args:
        catalog: The compiled scenario.
        rng: Advances by six numbers per task; by what is needed where there are streams.

    Raises:
        ConfigError: A stream is a closed loop, or a trace is too short.
    """
    out = _drawn(catalog, [rng])
    return Workload(**{name: getattr(out, name)[0] for name in TASK_FIELDS})


def sample_batch(catalog: Catalog, seeds: Iterable[int]) -> WorkloadBatch:
    """Draw the workload of each seed; row i is ``sample(catalog, default_rng(seeds[i]))``.

    The workload of a seed is also what a Gymnasium environment draws after ``reset(seed=seed)``,
    whose generator is the same.
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    if not rngs:
        raise WorkloadError("a batch of workloads needs at least one seed")
    return WorkloadBatch(**_drawn(catalog, rngs)._asdict())


def _drawn(catalog: Catalog, rngs: Sequence[np.random.Generator]) -> WorkloadArrays:
    """The workload of each generator, in new arrays."""
    if catalog.scenario.streams:
        from prema_gym.workloads.cuts import cut  # here: what is cut is written by `write_task`

        return cut(catalog, rngs)
    num_workloads, num_tasks = len(rngs), catalog.scenario.num_tasks
    uniforms = np.stack([draw_uniforms(rng, num_tasks) for rng in rngs])
    out = empty_arrays(num_workloads, num_tasks)
    draft = new_draft(num_workloads, num_tasks)._replace(uniforms=uniforms)
    generate(catalog.arrays, draft, num_workloads, out)
    return out


# Zeros where there is no task.
_clear_task = straight_line(
    "clear_task", "row, task, out", "out.{field}[row, task] = 0", TASK_FIELDS
)


@in_place
def generate(arrays: CatalogArrays, draft: Draft, count: int, out: WorkloadArrays) -> None:
    """Turn uniform numbers into workloads, in place; about 0.1 µs a task.

    Args:
        arrays: The catalog's arrays; only read.
        draft: ``Draft`` with the ``uniforms`` of at least ``count`` workloads.
        count: How many.
        out: int64 arrays (any B >= count, max_tasks >= N), of which the first ``count`` rows are
            written: tasks in order of (arrival, position in ``uniforms``), then zeros; and their
            ``num_tasks``.
    """
    for row in range(count):
        _generate_one(arrays, draft, row, out)


@in_place
def draw_one(drawing: Drawing, env: int, row: int, out: WorkloadArrays) -> None:
    """Draw the next workload of an environment into one row: `draw_uniforms` and `generate`.

    Compiled only. The environment's generator is advanced without its lock.
    """
    uniforms = drawing.draft.uniforms[row]
    for task in range(uniforms.shape[0]):
        for number in range(NUM_UNIFORMS):
            uniforms[task, number] = next_double(drawing.generators[env])
    _generate_one(drawing.catalog, drawing.draft, row, out)


@in_place
def _generate_one(arrays: CatalogArrays, draft: Draft, row: int, out: WorkloadArrays) -> None:
    uniforms = draft.uniforms[row]
    arrival, order, spare = draft.arrivals[row, 0], draft.arrivals[row, 1], draft.arrivals[row, 2]
    num_tasks = uniforms.shape[0]
    draw_arrivals(arrays.process, arrays.trace_cycles, uniforms[:, U_ARRIVAL], arrival)
    sort_stable(arrival, order, spare)
    first = NOT_ASKED
    if arrays.trace_asked.shape[0] > 0:
        first = trace_start(arrays.process, arrays.trace_cycles, uniforms[:, U_ARRIVAL])
    for task in range(num_tasks):
        draw = order[task]
        request = NOT_ASKED if first == NOT_ASKED else first + draw
        write_task(arrays, uniforms[draw], arrival[draw], request, row, task, out)
    for task in range(num_tasks, out.profile.shape[1]):
        _clear_task(row, task, out)
    out.num_tasks[row] = num_tasks


@in_place
def write_task(
    arrays: CatalogArrays,
    uniforms: npt.NDArray[np.float64],
    arrival: int,
    request: int,
    row: int,
    task: int,
    out: WorkloadArrays,
) -> None:
    """Write one task from its six uniform numbers, and from what a trace's request asks for.

    A uniform number below 1 times a whole number n, rounded to double, stays below n, so every
    index is in range.

    Args:
        arrays: The tables.
        uniforms: float64 (NUM_UNIFORMS,).
        arrival: When it arrives [cycles].
        request: Number of its request in the trace, or ``NOT_ASKED``.
        row: Workload in ``out``.
        task: Place in it.
        out: Where to.
    """
    network = arrays.network_draws[int(uniforms[U_NETWORK] * arrays.network_draws.shape[0])]
    network = asked_or(arrays, request, ASKED_NETWORK, network)
    batch = arrays.batch_draws[int(uniforms[U_BATCH] * arrays.batch_draws.shape[0])]
    batch = asked_or(arrays, request, ASKED_BATCH, batch)
    first = arrays.first_profile[network, batch]
    count = arrays.num_lengths[network]
    profile = first + int(uniforms[U_INPUT] * count)
    asked = asked_or(arrays, request, ASKED_INPUT, NOT_ASKED)
    if asked != NOT_ASKED:
        profile = nearest_profile(arrays, first, count, asked)
    outputs = arrays.output_lengths[profile]
    length = outputs[int(uniforms[U_RATIO] * outputs.shape[0])]
    if arrays.step_cycles[profile] > 0:
        length = asked_or(arrays, request, ASKED_OUTPUT, length)
    priority = arrays.priorities[int(uniforms[U_PRIORITY] * arrays.priorities.shape[0])]
    allowance = asked_or(arrays, request, ASKED_ALLOWANCE, arrays.allowance_cycles[profile])
    out.arrival_cycles[row, task] = arrival
    out.profile[row, task] = profile
    out.output_length[row, task] = length
    out.priority[row, task] = asked_or(arrays, request, ASKED_PRIORITY, priority)
    out.batch_size[row, task] = arrays.batch_sizes[batch]
    out.network[row, task] = network
    out.isolated_cycles[row, task] = (
        arrays.fixed_cycles[profile] + arrays.step_cycles[profile] * length
    )
    out.estimated_cycles[row, task] = arrays.estimated_cycles[profile]
    out.deadline_cycles[row, task] = arrival + allowance
