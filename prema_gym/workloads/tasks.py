"""How does a user write a workload by hand?

A list of `TaskSpec` says what a person would say (network, batch, time in ms); the catalog adds
what follows from it (profile, true and estimated time).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prema_gym.errors import PremaError, WorkloadError
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import MAX_CYCLES, TASK_FIELDS, Workload


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task as a person writes it.

    Attributes:
        network: Name of a network in the catalog's scenario.
        batch: A batch size of the scenario [inputs].
        arrival_ms: When it arrives [ms].
        priority: Priority weight, any whole number >= 1 (paper: 1, 3, 9).
        input_length: An input length of the network [time steps]; None for its middle one.
        output_length: Output steps it really takes; None for what the scheduler predicts.
        deadline_ms: When it should be done [ms, same clock as the arrival]; None for the
            scenario's rule (arrival + sla_factor × estimated time).
    """

    network: str
    batch: int = 1
    arrival_ms: float = 0.0
    priority: int = 1
    input_length: int | None = None
    output_length: int | None = None
    deadline_ms: float | None = None


def workload_from_tasks(catalog: Catalog, tasks: Sequence[TaskSpec]) -> Workload:
    """Build a workload from tasks in any order; equal arrivals keep the order given.

    Args:
        catalog: Supplies profiles, estimates and deadlines.
        tasks: At least one task.

    Raises:
        UnknownNameError: A network that the scenario does not have.
        WorkloadError: No task, or a value not allowed; the message names the task and the field.
    """
    if not tasks:
        raise WorkloadError("a workload needs at least one task")
    rows = [_row(catalog, task, f"task {i}") for i, task in enumerate(tasks)]
    rows.sort(key=lambda row: row[0])  # stable
    columns = np.array(rows, dtype=np.int64).T.copy()
    return Workload(**dict(zip(TASK_FIELDS, columns, strict=True)))


def _row(catalog: Catalog, task: TaskSpec, where: str) -> tuple[int, ...]:
    """The nine numbers of one task, in the order of TASK_FIELDS."""
    arrays = catalog.arrays
    arrival = _cycles(catalog, task.arrival_ms, f"arrival_ms of {where}")
    try:
        profile = catalog.find_profile(task.network, task.batch, task.input_length)
    except PremaError as error:
        error.args = (f"{where}: {error}",)  # the same error, with its place
        raise
    network = int(arrays.profile_network[profile])
    output = int(arrays.predicted_length[profile])
    if task.output_length is not None:
        output = _integer(task.output_length, f"output_length of {where}")
        if output != 1 and not arrays.step_cycles[profile]:
            raise WorkloadError(
                f"output_length of {where} is {output}, but {task.network!r} has no output steps"
            )
    isolated = catalog.isolated_cycles(profile, output)
    deadline = arrival + int(arrays.allowance_cycles[profile])
    if task.deadline_ms is not None:
        deadline = _cycles(catalog, task.deadline_ms, f"deadline_ms of {where}")
        if deadline < arrival:
            raise WorkloadError(f"deadline_ms of {where} is before its arrival_ms")
    return (
        arrival,
        profile,
        output,
        _integer(task.priority, f"priority of {where}"),
        int(arrays.profile_batch[profile]),
        network,
        isolated,
        int(arrays.estimated_cycles[profile]),
        deadline,
    )


def _integer(value: object, what: str) -> int:
    """A whole number from 1 to 10⁶, far above any real priority or length."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(value, bool) or not 1 <= number <= 1_000_000:
        raise WorkloadError(f"{what} must be a whole number from 1 to 1000000, got {value!r}")
    return number


def _cycles(catalog: Catalog, value: object, what: str) -> int:
    """A time in ms as cycles."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise WorkloadError(f"{what} must be a number of milliseconds, got {value!r}")
    # In ms first: what is beyond all measure has no cycles.
    if not 0 <= value <= catalog.hardware.milliseconds(MAX_CYCLES):
        raise WorkloadError(f"{what} must be from 0 to {MAX_CYCLES} cycles, got {value!r} ms")
    return catalog.hardware.cycles(value)
