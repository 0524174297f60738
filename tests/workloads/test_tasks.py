from __future__ import annotations

import math
from dataclasses import replace

import pytest

from prema_gym.errors import ConfigError, UnknownNameError, WorkloadError
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
        ({"input_length": 7}, WorkloadError, "task 1: input length 7"),
        ({"output_length": 2}, WorkloadError, "task 1: .* 'mobilenet-v1' has no output steps"),
        ({"arrival_ms": 1e30}, WorkloadError, "task 1: arrival_ms must be at most .* cycles"),
        ({"arrival_ms": 1e300}, WorkloadError, "task 1: arrival_ms must be at most .* cycles"),
        ({"deadline_ms": 1e30}, WorkloadError, "task 1: deadline_ms must be at most .* cycles"),
        (
            {"arrival_ms": 2.0, "deadline_ms": 1.0},
            WorkloadError,
            "task 1: deadline_ms is before its arrival",
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": 3}, "network must be a non-empty text, got 3"),
        ({"batch": True}, "batch must be a whole number of at least 1, got True"),
        ({"output_length": 0}, "output_length must be a whole number from 1 to 1000000, or None"),
        ({"output_length": True}, "output_length must be a whole number"),
        ({"priority": 0}, "priority must be a whole number from 1 to 1000000, got 0"),
        ({"priority": 1.5}, "priority must be a whole number"),
        ({"arrival_ms": -1}, "arrival_ms must be a finite number of at least 0, got -1"),
        ({"arrival_ms": math.nan}, "arrival_ms must be a finite number"),
        ({"arrival_ms": "0"}, "arrival_ms must be a finite number"),
        ({"arrival_ms": math.inf}, "arrival_ms must be a finite number"),
        ({"deadline_ms": 10**400}, "deadline_ms must be a finite number"),
    ],
)
def test_values_that_no_scenario_allows_are_refused_at_once(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(MOBILENET, **changes)  # type: ignore[arg-type]


def test_a_workload_needs_a_task(catalog: Catalog) -> None:
    with pytest.raises(WorkloadError, match="at least one task"):
        workload_from_tasks(catalog, [])
