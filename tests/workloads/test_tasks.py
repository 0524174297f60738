from __future__ import annotations

import math
from dataclasses import replace

import pytest

from prema_gym.errors import UnknownNameError, WorkloadError
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.tasks import TaskSpec, workload_from_tasks

MOBILENET = TaskSpec(network="mobilenet-v1")


@pytest.mark.small
def test_tasks_get_what_follows_from_the_catalog(catalog: Catalog) -> None:
    tasks = [
        TaskSpec(network="rnn-mt1", batch=4, arrival_ms=1.5, priority=9, input_length=12),
        TaskSpec(network="rnn-mt1", arrival_ms=0.5, input_length=4, output_length=40),
        TaskSpec(network="mobilenet-v1", arrival_ms=0.5, priority=3, deadline_ms=2.0),
    ]
    workload = workload_from_tasks(catalog, tasks)
    arrays = catalog.arrays
    # Sorted by arrival, the order given where equal.
    assert workload.arrival_cycles.tolist() == [350_000, 350_000, 1_050_000]
    assert workload.profile.tolist() == [6, 0, 11]
    assert workload.priority.tolist() == [1, 3, 9]
    assert workload.batch_size.tolist() == [1, 1, 4]
    assert workload.network.tolist() == [2, 0, 2]
    assert workload.output_length.tolist() == [40, 1, int(arrays.predicted_length[11])]
    assert workload.isolated_cycles[0] == catalog.isolated_cycles(6, 40)
    assert workload.estimated_cycles.tolist() == arrays.estimated_cycles[[6, 0, 11]].tolist()
    assert workload.deadline_cycles[0] == 350_000 + 8 * arrays.estimated_cycles[6]
    assert workload.deadline_cycles[1] == 1_400_000


def test_omitted_lengths_are_the_middle_and_the_predicted_one(catalog: Catalog) -> None:
    workload = workload_from_tasks(catalog, [TaskSpec(network="rnn-mt1")])
    assert workload.profile.tolist() == [7]  # length 8 of 4, 8, 12
    assert workload.output_length.tolist() == [int(catalog.arrays.predicted_length[7])]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"network": "mobilenet"}, UnknownNameError, "task 1: .*did you mean 'mobilenet-v1'"),
        ({"batch": 3}, WorkloadError, "task 1: batch 3"),
        ({"batch": True}, WorkloadError, "task 1: batch True"),
        ({"input_length": 7}, WorkloadError, "task 1: input length 7"),
        ({"output_length": 2}, WorkloadError, "'mobilenet-v1' has no output steps"),
        ({"output_length": 0}, WorkloadError, "output_length of task 1 must be a whole"),
        ({"output_length": True}, WorkloadError, "output_length of task 1 must be a whole"),
        ({"priority": 0}, WorkloadError, "priority of task 1 must be a whole number"),
        ({"priority": 1.5}, WorkloadError, "priority of task 1 must be a whole number"),
        ({"arrival_ms": -1}, WorkloadError, "arrival_ms of task 1 must be from 0"),
        ({"arrival_ms": math.nan}, WorkloadError, "arrival_ms of task 1 must be a number"),
        ({"arrival_ms": "0"}, WorkloadError, "arrival_ms of task 1 must be a number"),
        ({"arrival_ms": 1e30}, WorkloadError, "arrival_ms of task 1 must be from 0"),
        ({"arrival_ms": 1e300}, WorkloadError, "arrival_ms of task 1 must be from 0"),
        ({"arrival_ms": math.inf}, WorkloadError, "arrival_ms of task 1 must be from 0"),
        ({"deadline_ms": 10**400}, WorkloadError, "deadline_ms of task 1 must be from 0"),
        (
            {"arrival_ms": 2.0, "deadline_ms": 1.0},
            WorkloadError,
            "deadline_ms of task 1 is before its arrival",
        ),
    ],
)
def test_mistakes_name_task_and_field(
    catalog: Catalog, changes: dict[str, object], error: type[Exception], message: str
) -> None:
    wrong = replace(MOBILENET, **changes)  # type: ignore[arg-type]
    with pytest.raises(error, match=message) as caught:
        workload_from_tasks(catalog, [MOBILENET, wrong])
    assert "\n" not in str(caught.value)


def test_a_workload_needs_a_task(catalog: Catalog) -> None:
    with pytest.raises(WorkloadError, match="at least one task"):
        workload_from_tasks(catalog, [])
