"""How does a user write a workload by hand?

A list of `TaskSpec` says what a person would say (network, batch, time in ms); the catalog adds
what follows from it (profile, true and estimated time).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from prema_gym.checks import check_fields, declared, number, optional, stated, text, whole
from prema_gym.errors import WorkloadError, located
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import MAX_CYCLES, TASK_FIELDS, TaskColumns
from prema_gym.workloads.workload import Workload

_MOST = 1_000_000  # far above any real priority or length


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task as a person writes it; each field's ``help`` says what it is.

    Raises:
        ConfigError: On construction, a value that no scenario allows.
    """

    network: str = field(metadata=stated(text(), help="a network of the scenario"))
    batch: int = declared(1, whole(), unit="inputs", help="a batch size of the scenario")
    arrival_ms: float = declared(
        0.0,
        number(0.0),
        unit="ms",
        help="when it arrives; tasks that arrive together keep the file's order",
    )
    priority: int = declared(1, whole(1, _MOST), unit="weight", help="any whole number from 1")
    input_length: int | None = declared(
        None,
        optional(whole()),
        unit="input steps",
        help="one of the network's lengths; the middle one if left out",
    )
    output_length: int | None = declared(
        None,
        optional(whole(1, _MOST)),
        unit="output steps",
        help="what it really takes; what the scheduler expects if left out",
    )
    deadline_ms: float | None = declared(
        None,
        optional(number(0.0)),
        unit="ms",
        help="on the clock of the arrivals; by the scenario's `sla_factor` if left out",
    )

    def __post_init__(self) -> None:
        check_fields(self)


def workload_from_tasks(catalog: Catalog, tasks: Sequence[TaskSpec]) -> Workload:
    """Build a workload from tasks in any order; equal arrivals keep the order given.

    Args:
        catalog: Supplies profiles, estimates and deadlines.
        tasks: At least one task.

    Raises:
        UnknownNameError: A network that the scenario does not have.
        WorkloadError: No task, or a value that the catalog does not allow; the message names the
            task and the field.
    """
    if not tasks:
        raise WorkloadError("a workload needs at least one task")
    rows = []
    for i, task in enumerate(tasks):
        with located(f"task {i}"):
            rows.append(_row(catalog, task))
    rows.sort(key=lambda row: int(row.arrival_cycles))  # stable
    return Workload(
        **{name: np.array([getattr(row, name) for row in rows], np.int64) for name in TASK_FIELDS}
    )


def _row(catalog: Catalog, task: TaskSpec) -> TaskColumns:
    """A task's numbers, each an array without axes."""
    arrays = catalog.arrays
    arrival = _cycles(catalog, "arrival_ms", task.arrival_ms)
    profile = catalog.find_profile(task.network, task.batch, task.input_length)
    output = int(arrays.predicted_length[profile])
    if task.output_length is not None:
        output = task.output_length
        if output != 1 and not arrays.step_cycles[profile]:
            raise WorkloadError(
                f"output_length is {output}, but {task.network!r} has no output steps"
            )
    deadline = arrival + int(arrays.allowance_cycles[profile])
    if task.deadline_ms is not None:
        deadline = _cycles(catalog, "deadline_ms", task.deadline_ms)
        if deadline < arrival:
            raise WorkloadError("deadline_ms is before its arrival_ms")
    return TaskColumns(
        arrival_cycles=np.array(arrival),
        profile=np.array(profile),
        output_length=np.array(output),
        priority=np.array(task.priority),
        estimated_cycles=arrays.estimated_cycles[profile],
        deadline_cycles=np.array(deadline),
        **catalog.implied(np.int64(profile), np.int64(output)),
    )


def _cycles(catalog: Catalog, name: str, time_ms: float) -> int:
    """A time as cycles; in ms first, since what is beyond all measure has no cycles."""
    if time_ms > catalog.hardware.milliseconds(MAX_CYCLES):
        raise WorkloadError(f"{name} must be at most {MAX_CYCLES} cycles, got {time_ms} ms")
    return catalog.hardware.cycles(time_ms)
