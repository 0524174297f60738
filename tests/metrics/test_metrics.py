"""Metrics: hand-worked schedules, laws on random input, unfinished tasks and padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from prema_gym.metrics import (
    METRICS,
    SLA_TARGETS,
    UNFINISHED,
    Outcomes,
    antt,
    fairness,
    mean_of_known,
    missed_deadlines,
    ntt,
    percentile,
    priority_antt,
    sla_curve,
    sla_violation,
    stp,
    times_better,
    values_of,
)
from prema_gym.workloads.fields import TASK_FIELDS


def outcomes(
    arrival: list[list[int]],
    completion: list[list[int]],
    isolated: list[list[int]],
    priority: list[list[int]],
    *,
    deadline: list[list[int]] | None = None,
    present: list[list[bool]] | None = None,
) -> Outcomes:
    """Outcomes with 100 cycles busy, 10 of them killed, 20 switching, 80 idle."""
    shape = np.shape(arrival)
    per_workload = np.ones(shape[0], np.int64)
    tasks = {name: np.zeros(shape, np.int64) for name in TASK_FIELDS} | {
        "arrival_cycles": np.array(arrival),
        "isolated_cycles": np.array(isolated),
        "priority": np.array(priority),
        "deadline_cycles": np.full(shape, 10**9) if deadline is None else np.array(deadline),
    }
    return Outcomes(
        **tasks,
        completion_cycles=np.array(completion),
        first_run_cycles=np.array(arrival),
        checkpoints=np.zeros(shape, np.int64),
        kills=np.zeros(shape, np.int64),
        present=np.ones(shape, bool) if present is None else np.array(present),
        busy_cycles=100 * per_workload,
        killed_cycles=10 * per_workload,
        switching_cycles=20 * per_workload,
        idle_cycles=80 * per_workload,
        preemptions=np.array([[2, 3, 4]] * shape[0]),
        host_moves=0 * per_workload,
        decisions=9 * per_workload,
        illegal_actions=0 * per_workload,
        truncated=np.zeros(shape[0], bool),
        energy_mj=np.full(shape[0], 1.5),
        high_priority=9,
        cycles_per_ms=100.0,
    )


@pytest.mark.small
def test_two_equal_jobs_under_fcfs() -> None:
    slow = ntt([0, 0], [100, 200], [100, 100])
    assert slow.tolist() == [1.0, 2.0]
    assert antt(slow) == 1.5
    assert stp(slow) == 1.5
    assert fairness(slow, [3, 3]) == 0.5
    assert priority_antt(slow, [3, 3]) == 1.5
    assert sla_violation(slow) == 0.0  # NTT > 2 is strict


@pytest.mark.small
def test_a_preempted_job_keeps_its_waits() -> None:
    # Runs 0-100, is off, runs 300-400: waited 200 of 400.
    assert ntt([0], [400], [200]).tolist() == [2.0]


# Four jobs released at 0, 1, 3, 4 with times 6, 2, 5, 6: completions of A, B, C, D per policy.
WORKED_EXAMPLE = {
    "fcfs": ([6, 8, 13, 19], 236, 46, 2.2500, 2.1857, 0.1333, 2, 3.5),
    "srpt": ([8, 3, 13, 19], 237, 43, 1.7083, 2.6500, 0.0444, 1, 2.5),
    "p-spt": ([13, 3, 8, 19], 237, 43, 1.6667, 2.8615, 0.0444, 2, 2.5),
    "p-hpf": ([12, 19, 17, 10], 196, 58, 3.7000, 1.9683, 0.6667, 2, 9.0),
    "wspt": ([17, 19, 14, 10], 202, 60, 3.7583, 1.9186, 0.7333, 3, 9.0),
    "wsrpt": ([6, 19, 17, 12], 196, 54, 3.5333, 2.2183, 0.2500, 2, 9.0),
}


@pytest.mark.small
@pytest.mark.parametrize("policy", WORKED_EXAMPLE)
def test_worked_example(policy: str) -> None:
    arrival, isolated, weight = np.array([0, 1, 3, 4]), np.array([6, 2, 5, 6]), [3, 1, 3, 9]
    completion, weighted, total, mean_ntt, throughput, fair, misses, worst = WORKED_EXAMPLE[policy]
    slow = ntt(arrival, completion, isolated)
    assert np.dot(weight, completion) == weighted
    assert sum(completion) == total
    assert antt(slow) == pytest.approx(mean_ntt, abs=5e-5)
    assert stp(slow) == pytest.approx(throughput, abs=5e-5)
    assert fairness(slow, weight) == pytest.approx(fair, abs=5e-5)
    deadline = arrival + 2 * isolated
    assert missed_deadlines(completion, deadline, np.ones(4, bool)) == misses
    assert percentile(slow, 100.0) == worst


finished_ntt = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 12)), elements=st.floats(1.0, 1e4)
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(finished_ntt, st.data())
def test_laws_of_finished_tasks(slow: np.ndarray, data: st.DataObject) -> None:
    tasks = slow.shape[-1]
    priority = data.draw(hnp.arrays(np.int64, slow.shape, elements=st.sampled_from([1, 3, 9])))
    throughput, mean = stp(slow), antt(slow)
    tolerance = 1 + 1e-12
    assert np.all(mean >= 1 / tolerance)
    assert np.all((throughput > 0) & (throughput <= tasks * tolerance))
    assert np.all(mean * throughput * tolerance >= tasks)
    fair = fairness(slow, priority)
    assert np.all((fair > 0) & (fair <= 1))
    curve = sla_curve(slow)
    assert np.all((curve >= 0) & (curve <= 1))
    assert np.all(np.diff(curve, axis=-1) <= 0)  # a looser target is never missed more often
    assert np.all(priority_antt(slow, np.full_like(priority, 3)) == pytest.approx(mean))
    # Relabelling tasks changes nothing.
    assert fairness(slow[:, ::-1], priority[:, ::-1]) == pytest.approx(fair)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(finished_ntt, st.integers(0, 40), st.floats(0, 100))
def test_padding_changes_nothing(slow: np.ndarray, extra: int, percent: float) -> None:
    padding = np.full((slow.shape[0], extra), np.nan)
    padded = np.concatenate([slow, padding], axis=-1)
    priority = np.where(np.isnan(padded), 0, 3)
    for metric in (antt, stp, sla_violation):
        assert metric(padded).tolist() == metric(slow).tolist()  # to the last digit
    assert fairness(padded, priority).tolist() == fairness(slow, np.full(slow.shape, 3)).tolist()
    assert percentile(padded, percent) == pytest.approx(
        np.percentile(slow, percent, axis=-1), rel=1e-12
    )


@pytest.mark.small
def test_an_unfinished_task_does_not_flatter() -> None:
    slow = ntt([0, 0, 0], [100, 200, UNFINISHED], [100, 100, 100])
    assert slow.tolist() == [1.0, 2.0, np.inf]
    assert antt(slow) == 1.5  # over the two finished; the count of unfinished stands beside it
    assert stp(slow) == 1.5
    assert fairness(slow, [1, 1, 1]) == 0.0
    assert sla_curve(slow).tolist() == [pytest.approx(1 / 3)] * len(SLA_TARGETS)
    assert percentile(slow, 50.0) == 2.0
    assert percentile(slow, 51.0) == np.inf
    assert missed_deadlines([100, 200, -1], [100, 100, 100], [True] * 3) == 2


@pytest.mark.small
def test_nothing_finished_or_nothing_there() -> None:
    never = np.array([np.inf, np.inf])
    assert np.isnan(antt(never))
    assert np.isnan(fairness(never, [1, 9]))
    assert stp(never) == 0.0
    assert sla_violation(never) == 1.0
    nothing = np.array([np.nan, np.nan])
    assert np.isnan(percentile(nothing, 95.0))
    assert np.isnan(sla_violation(nothing))


@pytest.mark.small
def test_ntt_of_padding_divides_by_nothing() -> None:
    slow = ntt([[5, 0]], [[15, 0]], [[10, 0]], [[True, False]])
    assert slow[0, 0] == 1.0
    assert np.isnan(slow[0, 1])


@pytest.mark.small
def test_sla_curve_by_hand() -> None:
    curve = sla_curve(np.array([1.0, 2.5, 7.0, 30.0]))
    by_target = dict(zip(SLA_TARGETS, curve.tolist(), strict=True))
    assert by_target[2] == 0.75
    assert by_target[3] == 0.5
    assert by_target[6] == 0.5
    assert by_target[7] == 0.25  # NTT = 7 meets the target 7
    assert by_target[20] == 0.25
    assert sla_violation(np.array([1.0, 2.5, 7.0, 30.0])) == pytest.approx(
        (0.75 + 0.5 * 4 + 0.25 * 14) / 19
    )


@pytest.mark.small
def test_every_metric_has_a_definition_and_a_value() -> None:
    result = outcomes(
        arrival=[[0, 0], [0, 10]],
        completion=[[100, 200], [100, UNFINISHED]],
        isolated=[[100, 100], [100, 50]],
        priority=[[9, 1], [1, 3]],
        deadline=[[100, 150], [150, 100]],
    )
    values = values_of(result)
    assert [metric.name for metric in METRICS] == list(values)
    assert len(set(values)) == len(METRICS)
    for metric in METRICS:
        assert metric.formula
        assert metric.source
        assert values[metric.name].shape == (2,)
        assert values[metric.name].dtype == np.float64
    assert values["antt"].tolist() == [1.5, 1.0]
    assert values["p95_ntt_high"][0] == 1.0
    assert np.isnan(values["p95_ntt_high"][1])  # no task of the highest priority
    assert values["p95_ntt"][1] == np.inf
    assert values["latency_ms"].tolist() == [1.5, 1.0]
    assert values["p95_latency_ms"].tolist() == [pytest.approx(1.95), np.inf]
    assert values["p99_latency_ms"].tolist() == [pytest.approx(1.99), np.inf]
    assert values["deadline_miss"].tolist() == [0.5, 0.5]
    assert values["unfinished"].tolist() == [0.0, 1.0]
    assert values["makespan_ms"].tolist() == [2.0, 2.0]
    assert values["utilisation"].tolist() == [0.45, 0.45]
    assert values["overhead"].tolist() == [0.1, 0.1]
    assert values["killed"].tolist() == [0.05, 0.05]
    assert values["checkpoints"].tolist() == [2.0, 2.0]
    assert values["kills"].tolist() == [3.0, 3.0]
    assert values["drains"].tolist() == [4.0, 4.0]
    assert values["energy_mj"].tolist() == [1.5, 1.5]


@pytest.mark.small
def test_concatenation_keeps_workloads_apart() -> None:
    one = outcomes([[0, 0]], [[100, 200]], [[100, 100]], [[9, 1]])
    two = outcomes([[0, 0]], [[200, 100]], [[100, 100]], [[9, 1]])
    both = Outcomes.concatenate([one, two])
    for name, values in values_of(both).items():
        expected = [values_of(one)[name][0], values_of(two)[name][0]]
        np.testing.assert_array_equal(values, expected, err_msg=name)


@pytest.mark.small
def test_times_better_is_above_one_when_better() -> None:
    assert times_better(np.array(10.0), np.array(2.0), "lower") == 5.0
    assert times_better(np.array(2.0), np.array(10.0), "higher") == 5.0
    assert np.isnan(times_better(np.array(0.0), np.array(0.0), "lower"))
    assert times_better(np.array(3.0), np.array(0.0), "lower") == np.inf
    assert np.isnan(times_better(np.array(2.0), np.array(10.0), None))


BY_NAME = {metric.name: metric for metric in METRICS}


def two_workloads() -> Outcomes:
    """NTTs 1 and 3, then 2 beside padding; only the first workload has a task of priority 9."""
    return outcomes(
        [[0, 0], [0, 0]],
        [[100, 300], [200, 0]],
        [[100, 100], [100, 0]],
        [[9, 1], [1, 0]],
        present=[[True, True], [True, False]],
    )


def test_the_reported_value_is_the_mean_over_workloads() -> None:
    assert BY_NAME["antt"].reported(two_workloads()) == 2.0
    assert BY_NAME["stp"].reported(two_workloads()) == (1 + 1 / 3 + 1 / 2) / 2


def test_the_reported_tail_is_the_percentile_of_all_tasks_together() -> None:
    # Of 1, 2 and 3; the mean of the workloads' own percentiles would be 2.45.
    assert BY_NAME["p95_ntt"].reported(two_workloads()) == pytest.approx(2.9)


def test_a_workload_without_a_value_takes_no_part_in_what_is_reported() -> None:
    played = two_workloads()
    assert np.isnan(BY_NAME["p95_ntt_high"].values(played)[1])
    assert BY_NAME["p95_ntt_high"].reported(played) == 1.0
    assert mean_of_known(np.array([np.nan, 4.0, 6.0])) == 5.0
    assert mean_of_known(np.array([np.inf, 4.0])) == np.inf
    assert np.isnan(mean_of_known(np.array([np.nan])))


def test_a_metric_knows_which_direction_is_better() -> None:
    assert BY_NAME["antt"].times_better(4.0, 2.0) == BY_NAME["stp"].times_better(2.0, 4.0) == 2.0
    assert np.isnan(BY_NAME["decisions"].times_better(4.0, 2.0))
