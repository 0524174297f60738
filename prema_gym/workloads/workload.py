"""Which tasks arrive, when, and what does each ask for?

A workload is some whole numbers per task (`prema_gym.workloads.fields` is their table), nothing
else: everything random is already drawn. Tasks are sorted by (arrival, order of drawing); the
position is the task's identity and last tie-break. Several workloads in one array have a leading
axis B and are padded with zeros to the longest. Times are integer cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prema_gym.errors import WorkloadError
from prema_gym.workloads.fields import TASK_FIELDS, TASK_TABLE, IntArray, TaskColumns

if TYPE_CHECKING:

    class WorkloadArrays(TaskColumns, tuple[IntArray, ...]):
        """The arrays of a `WorkloadBatch` as compiled code takes them; a named tuple.

        Its fields are those of a task, int64 (B, max_tasks), and ``num_tasks``, int64 (B,).
        """

        num_tasks: IntArray
        _fields: tuple[str, ...]

        @classmethod
        def _make(cls, arrays: Iterable[IntArray]) -> WorkloadArrays: ...

        def _asdict(self) -> dict[str, IntArray]: ...

else:  # compiled code wants a named tuple, which has to list its fields: the table does
    WorkloadArrays = NamedTuple(
        "WorkloadArrays", [(name, IntArray) for name in (*TASK_FIELDS, "num_tasks")]
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload(TaskColumns):
    """The tasks of one simulation: int64 arrays of shape (num_tasks,), in order of arrival.

    Raises:
        WorkloadError: On construction, arrays of different lengths, another dtype, a value out
            of range, or tasks that are not sorted by arrival.
    """

    def __post_init__(self) -> None:
        shape = np.shape(self.arrival_cycles)
        if len(shape) != 1 or shape[0] == 0:
            raise WorkloadError(f"a workload needs arrays of shape (num_tasks >= 1,), got {shape}")
        _check(self, shape, np.ones(shape, dtype=np.bool_))

    @property
    def num_tasks(self) -> int:
        """Number of tasks."""
        return len(self.arrival_cycles)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkloadBatch(TaskColumns):
    """Several workloads side by side: int64 arrays (B, max_tasks), zero where there is no task.

    Attributes:
        num_tasks: Tasks in each row, shape (B,); the rest of the row is zero.

    Raises:
        WorkloadError: On construction, as for `Workload`.
    """

    num_tasks: IntArray

    def __post_init__(self) -> None:
        shape = np.shape(self.arrival_cycles)
        if len(shape) != 2 or 0 in shape:
            raise WorkloadError(
                f"a batch of workloads needs arrays of shape (B >= 1, max_tasks >= 1), got {shape}"
            )
        counts = self.num_tasks
        if not isinstance(counts, np.ndarray) or counts.dtype != np.int64:
            raise WorkloadError(f"num_tasks must be an int64 array, got {type(counts).__name__}")
        if counts.shape != shape[:1] or counts.min() < 1 or counts.max() > shape[1]:
            raise WorkloadError(
                f"num_tasks must hold {shape[0]} numbers from 1 to {shape[1]}, got {counts}"
            )
        _check(self, shape, np.arange(shape[1]) < counts[:, None])

    @classmethod
    def of(cls, workloads: Sequence[Workload]) -> WorkloadBatch:
        """Stack workloads, one a row, padded with zeros to the longest."""
        if not workloads:
            raise WorkloadError("a batch needs at least one workload")
        batch = empty_arrays(len(workloads), max(w.num_tasks for w in workloads))
        for row, workload in enumerate(workloads):
            batch.num_tasks[row] = workload.num_tasks
            for name in TASK_FIELDS:
                getattr(batch, name)[row, : workload.num_tasks] = getattr(workload, name)
        return cls(**batch._asdict())

    @property
    def arrays(self) -> WorkloadArrays:
        """The same arrays (not copies), as compiled code takes them."""
        return WorkloadArrays._make(getattr(self, name) for name in WorkloadArrays._fields)

    def row(self, index: int) -> Workload:
        """Workload number ``index``, copied, without padding."""
        count = int(self.num_tasks[index])
        return Workload(**{name: getattr(self, name)[index, :count].copy() for name in TASK_FIELDS})

    def rows(self, indices: Sequence[int]) -> WorkloadBatch:
        """Some of the workloads, copied."""
        chosen = list(indices)
        return WorkloadBatch(
            **{name: array[chosen] for name, array in self.arrays._asdict().items()}
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """The arrays as nested lists, for JSON."""
        return {name: array.tolist() for name, array in self.arrays._asdict().items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WorkloadBatch:
        """Undo :meth:`to_dict`."""
        return cls(**{name: np.array(values, np.int64) for name, values in data.items()})

    def __len__(self) -> int:
        return len(self.num_tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkloadBatch) and _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


def empty_arrays(num_workloads: int, max_tasks: int) -> WorkloadArrays:
    """Zeroed arrays for a batch (``num_tasks`` too), to be filled by compiled code."""
    arrays = [np.zeros((num_workloads, max_tasks), dtype=np.int64) for _ in TASK_FIELDS]
    return WorkloadArrays._make([*arrays, np.zeros(num_workloads, dtype=np.int64)])


def _equal(one: Workload | WorkloadBatch, other: Workload | WorkloadBatch) -> bool:
    """Whether every array has the same shape and values."""
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))


def _check(
    arrays: Workload | WorkloadBatch, shape: tuple[int, ...], present: npt.NDArray[np.bool_]
) -> None:
    """Raise a WorkloadError for the first array with a wrong type, shape, value or order."""
    for name, task_field in TASK_TABLE.items():
        values, least = getattr(arrays, name), task_field.least
        if not isinstance(values, np.ndarray) or values.dtype != np.int64:
            kind = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
            raise WorkloadError(f"{name} must be an int64 array, got {kind}")
        if values.shape != shape:
            raise WorkloadError(f"{name} has shape {values.shape}, arrival_cycles has {shape}")
        refuse(present & (values < least), name, values, f"must be >= {least}")
        refuse(~present & (values != 0), name, values, "must be 0 where there is no task")
    arrival = arrays.arrival_cycles
    late = np.zeros(shape, dtype=np.bool_)
    late[..., 1:] = present[..., 1:] & (arrival[..., 1:] < arrival[..., :-1])
    refuse(late, "arrival_cycles", arrival, "is before the task in front of it")
    early = present & (arrays.deadline_cycles < arrival)
    refuse(early, "deadline_cycles", arrays.deadline_cycles, "is before the task's arrival")


def refuse(wrong: npt.NDArray[np.bool_], name: str, values: IntArray, rule: str) -> None:
    """Raise a WorkloadError for the first True: which field, task and value break which rule.

    Args:
        wrong: Where the rule is broken, same shape as ``values``: (num_tasks,) or (B, max_tasks).
        name: The field.
        values: Its values.
        rule: What is expected.

    Raises:
        WorkloadError: Any element of ``wrong`` is True.
    """
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), wrong.shape)
        where = f"task {place[-1]}" if len(place) == 1 else f"workload {place[0]}, task {place[1]}"
        raise WorkloadError(f"{name} of {where} is {int(values[place])}: {rule}")
