from __future__ import annotations

import numpy as np
import pytest

from prema_gym.errors import WorkloadError
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.workload import Workload, WorkloadBatch, empty_arrays


def workload(arrivals: list[int], **changes: object) -> Workload:
    """A valid workload with these arrivals; ``changes`` replace whole arrays."""
    n = len(arrivals)
    columns: dict[str, object] = {name: np.ones(n, dtype=np.int64) for name in TASK_FIELDS}
    columns["arrival_cycles"] = np.array(arrivals, dtype=np.int64)
    columns["deadline_cycles"] = np.array(arrivals, dtype=np.int64) + 10
    return Workload(**(columns | changes))  # type: ignore[arg-type]


def test_a_batch_gives_back_its_workloads() -> None:
    first, second = workload([0, 5, 5]), workload([7])
    batch = WorkloadBatch.of([first, second])
    assert len(batch) == 2
    assert batch.arrival_cycles.tolist() == [[0, 5, 5], [7, 0, 0]]
    assert batch.num_tasks.tolist() == [3, 1]
    assert batch.row(0) == first
    assert batch.row(1) == second
    assert batch.row(1) != first
    assert batch == WorkloadBatch.of([first, second])


def test_absent_tasks_are_zero_in_every_array() -> None:
    batch = WorkloadBatch.of([workload([1, 2]), workload([3])])
    for name in TASK_FIELDS:
        assert getattr(batch, name)[1, 1] == 0


def test_rows_are_copies_but_arrays_are_not() -> None:
    batch = WorkloadBatch.of([workload([1, 2])])
    row = batch.row(0)
    row.arrival_cycles[0] = 99
    assert batch.arrival_cycles[0, 0] == 1
    assert batch.arrays.arrival_cycles is batch.arrival_cycles
    assert batch.arrays.num_tasks is batch.num_tasks


def test_empty_arrays_have_the_shapes_of_a_batch() -> None:
    arrays = empty_arrays(3, 5)
    assert all(getattr(arrays, name).shape == (3, 5) for name in TASK_FIELDS)
    assert arrays.num_tasks.shape == (3,)
    assert all(array.dtype == np.int64 and not array.any() for array in arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"priority": np.ones(2)}, "priority must be an int64 array, got float64"),
        ({"priority": [1, 1]}, "priority must be an int64 array, got list"),
        ({"profile": np.ones(3, dtype=np.int64)}, r"profile has shape \(3,\)"),
        ({"priority": np.array([1, 0])}, "priority of task 1 is 0: must be >= 1"),
        ({"isolated_cycles": np.array([0, 1])}, "isolated_cycles of task 0 is 0"),
        ({"arrival_cycles": np.array([5, 4])}, "arrival_cycles of task 1 is 4: is before"),
        ({"arrival_cycles": np.array([-1, 4])}, "arrival_cycles of task 0 is -1"),
        ({"deadline_cycles": np.array([3, 3])}, "deadline_cycles of task 1 is 3: is before"),
        ({"arrival_cycles": np.zeros((2, 2), dtype=np.int64)}, "num_tasks >= 1"),
    ],
)
def test_inconsistent_workloads_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(WorkloadError, match=message) as caught:
        workload([0, 4], **changes)
    assert "\n" not in str(caught.value)


def test_a_workload_needs_a_task() -> None:
    with pytest.raises(WorkloadError, match="num_tasks >= 1"):
        workload([])


def test_a_batch_needs_workloads_and_fitting_counts() -> None:
    with pytest.raises(WorkloadError, match="at least one workload"):
        WorkloadBatch.of([])
    columns = WorkloadBatch.of([workload([1, 2])]).arrays._asdict()
    with pytest.raises(WorkloadError, match="numbers from 1 to 2"):
        WorkloadBatch(**columns | {"num_tasks": np.array([3])})
    with pytest.raises(WorkloadError, match="must be 0 where there is no task"):
        WorkloadBatch(**columns | {"num_tasks": np.array([1])})
    with pytest.raises(WorkloadError, match="num_tasks must be an int64 array"):
        WorkloadBatch(**columns | {"num_tasks": [2]})  # type: ignore[arg-type]
    with pytest.raises(WorkloadError, match="workload 0, task 1"):
        WorkloadBatch(**columns | {"priority": np.array([[1, -1]])})
