"""Which numbers make a task? One table, from which arrays, files and the engine's record follow.

`Workload`, `WorkloadBatch`, `WorkloadArrays`, the keys of a workload file, what a catalog holds a
batch against, the engine's record, and the compiled loops that copy and clear tasks read this
table. What else a new field needs is its value: where a task is drawn
(`prema_gym.workloads.generate`) and where one is written by hand (`prema_gym.workloads.tasks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

# No task may arrive later, take longer or be allowed longer: sums of two stay within int64.
MAX_CYCLES = 2**62

Setter = Literal["workload", "profile", "scheduler", "scenario"]
"""Who says what a field's value is: the workload's author (a draw, or a person); the task's profile
and output length; the scheduler's estimate; the scenario's rule, or the author."""


@dataclass(frozen=True)
class TaskField:
    """What holds for one number of a task; all are int64.

    Attributes:
        least: Its smallest value. Times and sizes of zero cycles or inputs do not exist.
        unit: Of its value; empty for numbers of things.
        set_by: Who says what it is.
        meaning: What it is, in a line.
    """

    least: int
    unit: str
    set_by: Setter
    meaning: str


def _column(least: int, unit: str, set_by: Setter, meaning: str) -> Mapping[str, Any]:
    return {"task": TaskField(least, unit, set_by, meaning)}


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskColumns:
    """The tasks' numbers, each an int64 array of the same shape: this is the table."""

    arrival_cycles: IntArray = field(
        metadata=_column(0, "cycles", "workload", "when the task arrives")
    )
    profile: IntArray = field(
        metadata=_column(
            0, "", "workload", "row in the catalog's profiles: network, batch and input length"
        )
    )
    output_length: IntArray = field(
        metadata=_column(
            1, "output steps", "workload", "what it takes; 1 for a network without output steps"
        )
    )
    priority: IntArray = field(
        metadata=_column(1, "weight", "workload", "larger is more urgent (paper: 1, 3, 9)")
    )
    batch_size: IntArray = field(
        metadata=_column(1, "inputs", "profile", "inputs that it works on at once")
    )
    network: IntArray = field(
        metadata=_column(0, "", "profile", "position of its network in the catalog")
    )
    isolated_cycles: IntArray = field(
        metadata=_column(
            1, "cycles", "profile", "true time when run alone, which no scheduler may see"
        )
    )
    estimated_cycles: IntArray = field(
        metadata=_column(1, "cycles", "scheduler", "what the scheduler expects (Algorithm 1)")
    )
    deadline_cycles: IntArray = field(
        metadata=_column(0, "cycles", "scenario", "when it should be done, on the arrivals' clock")
    )


TASK_TABLE: Mapping[str, TaskField] = {
    column.name: column.metadata["task"] for column in fields(TaskColumns)
}
TASK_FIELDS: tuple[str, ...] = tuple(TASK_TABLE)


def fields_set_by(setter: Setter) -> tuple[str, ...]:
    """Names of the fields of which one says what they are."""
    return tuple(name for name, row in TASK_TABLE.items() if row.set_by == setter)


def fields_in(unit: str) -> tuple[str, ...]:
    """Names of the fields with a unit."""
    return tuple(name for name, row in TASK_TABLE.items() if row.unit == unit)
