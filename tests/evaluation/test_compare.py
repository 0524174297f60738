"""Comparisons: sameness of workloads, intervals, limits, re-running."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.errors import ConfigError, UnknownNameError, WorkloadError
from prema_gym.evaluation import compare
from prema_gym.evaluation.compare import LEAST_LIMIT, evaluate, evaluate_settings
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.results import Evaluation
from prema_gym.hardware.config import NPUConfig
from prema_gym.metrics import METRICS, SLA_TARGETS
from prema_gym.simulator import MECHANISMS, SchedulerOptions
from prema_gym.views.comparison import notes
from prema_gym.views.records import to_json
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenarios import get
from tests.evaluation.helpers import (
    TINY,
    Answer,
    Rule,
    Tables,
    both,
    fcfs,
    first_come,
)


def numbers(result: Evaluation) -> str:
    """Everything measured, as text: equal texts, equal numbers."""
    return to_json(result.to_dict()["policies"])


@pytest.mark.small
def test_a_run_that_hits_the_cap_says_so() -> None:
    result = evaluate(TINY, {"np-fcfs": fcfs()}, workloads=3, max_decisions=12)
    row = result.policies["np-fcfs"]
    assert row.truncated == 3
    assert row.tasks == 12
    assert 0 < row.unfinished < 12
    assert row.metrics["unfinished"].mean == row.unfinished / 3
    for found in (*row.metrics.values(), *row.sla_curve.values()):
        assert found.mark == "unfinished"  # what survived is compared with nothing
        assert np.isnan([found.ratio, *found.ci95, *found.ratio_ci95]).all()
    (note,) = notes(result)
    assert f"{12 - row.unfinished} tasks finished, {row.unfinished} unfinished" in note


def test_every_policy_plays_the_same_workloads() -> None:
    seen: dict[str, list[bytes]] = {"np-fcfs": [], "again": []}

    def recorder(name: str) -> Rule:
        def look(table: Tables) -> NDArray[np.float32]:
            seen[name].append(table.tobytes())
            return first_come(table)

        return Rule(look)

    result = evaluate(TINY, {name: recorder(name) for name in seen}, workloads=5, threads=2)
    assert seen["np-fcfs"]
    assert seen["np-fcfs"] == seen["again"]
    assert (
        result.workload_digest == evaluate(TINY, {"np-fcfs": fcfs()}, workloads=5).workload_digest
    )
    other = evaluate(TINY, {"np-fcfs": fcfs()}, workloads=5, seed=1)
    assert other.workload_digest != result.workload_digest


def test_identical_policies_differ_by_a_factor_of_exactly_one() -> None:
    result = evaluate(TINY, {"np-fcfs": fcfs(), "twin": fcfs()}, workloads=20)
    twin = result.policies["twin"]
    for metric in METRICS:
        found = twin.metrics[metric.name]
        if metric.better is None or found.mean == 0.0:  # no direction, or 0/0
            assert math.isnan(found.ratio)
        else:
            assert found.ratio == 1.0, metric.name
            few = found.mark == "few tasks"
            assert found.ratio_ci95 == pytest.approx(
                (math.nan,) * 2 if few else (1.0, 1.0), nan_ok=True
            )
    assert list(twin.sla_curve) == list(SLA_TARGETS)


def test_intervals_hold_the_estimate_and_ratios_point_the_right_way() -> None:
    policies = both()
    result = evaluate(TINY, policies, workloads=40)
    base, better = result.policies["np-fcfs"].metrics, result.policies["hpf"].metrics
    assert better["p95_ntt_high"].mark == better["p99_ntt"].mark == "few tasks"
    assert np.isnan(better["p95_ntt_high"].ratio_ci95).all()
    for name in ("antt", "stp", "fairness", "sla_violation", "makespan_ms"):
        assert better[name].mark == ""
        low, high = better[name].ci95
        assert low <= better[name].mean <= high, name
        low, high = better[name].ratio_ci95
        assert low <= better[name].ratio <= high, name
    # Priority first must shorten the tail of the highest priority: fewer NTT, ratio above 1.
    assert better["p95_ntt_high"].mean < base["p95_ntt_high"].mean
    assert (
        better["p95_ntt_high"].ratio == base["p95_ntt_high"].mean / better["p95_ntt_high"].mean > 1
    )
    assert better["stp"].ratio == better["stp"].mean / base["stp"].mean
    curve = result.policies["hpf"].sla_curve
    assert np.mean([curve[n].mean for n in SLA_TARGETS]) == pytest.approx(
        better["sla_violation"].mean
    )


@pytest.mark.small
def test_one_workload_has_no_interval() -> None:
    row = evaluate(TINY, {"np-fcfs": fcfs()}, workloads=1).policies["np-fcfs"].metrics["antt"]
    assert math.isfinite(row.mean)
    assert np.isnan(row.ci95).all()
    assert row.ratio == 1.0
    assert np.isnan(row.ratio_ci95).all()
    assert row.mark == "few workloads"


@pytest.mark.small
def test_workload_i_is_that_of_seed_plus_i() -> None:
    def antt_of(seed: int, workloads: int) -> list[float]:
        result = evaluate(
            TINY, {"np-fcfs": fcfs()}, workloads=workloads, seed=seed, per_workload=True
        )
        values: list[float] = result.policies["np-fcfs"].per_workload["antt"].tolist()
        return values

    assert antt_of(5, 2) == antt_of(5, 1) + antt_of(6, 1)
    assert evaluate(TINY, {"np-fcfs": fcfs()}, workloads=1).policies["np-fcfs"].per_workload == {}


def test_chunks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(threads: int) -> str:
        return numbers(evaluate(TINY, both(), workloads=11, threads=threads, per_workload=True))

    whole = run(1)
    monkeypatch.setattr(compare, "CHUNK", 4)
    assert run(1) == whole
    assert run(3) == whole


def test_a_report_is_repeated_from_its_own_settings() -> None:
    scenario = replace(TINY, name="endless", hardware=NPUConfig(host_link_bytes_per_s=math.inf))
    made: list[str] = []

    def make(name: str, *, mechanisms: tuple[str, ...]) -> Decider:
        made.append(name)
        assert mechanisms == ("checkpoint",)
        return both()[name]

    first = evaluate(
        scenario,
        both(),
        workloads=7,
        seed=3,
        relative_to="hpf",
        oracle=True,
        slots=2,
        options=SchedulerOptions(token_wait="total"),
        max_decisions=500,
        resamples=50,
        per_workload=True,
    )
    report = json.loads(to_json(first.to_dict()))
    second = evaluate_settings(report["settings"], make)
    assert made == ["np-fcfs", "hpf"]
    assert to_json(second.to_dict()) == to_json(first.to_dict())


def test_repeating_keeps_what_the_policies_were_made_for() -> None:
    policies = {
        name: baselines.make(name, mechanisms=MECHANISMS) for name in ("np-fcfs", "dynamic-prema")
    }
    first = evaluate(get("paper"), policies, workloads=10)
    assert first.policies["dynamic-prema"].metrics["drains"].mean > 0
    second = evaluate_settings(json.loads(to_json(first.settings)), baselines.make)
    assert to_json(second.to_dict()) == to_json(first.to_dict())


def test_the_limit_grows_with_the_work() -> None:
    many = replace(get("paper"), name="many", num_tasks=3000, window_ms=84_000.0)
    found = evaluate(many, {"np-fcfs": baselines.make("np-fcfs")}, workloads=1)
    assert found.settings["max_decisions"] > LEAST_LIMIT
    assert found.policies["np-fcfs"].truncated == 0


def test_progress_is_told_from_the_calling_thread() -> None:
    calls: list[tuple[int, int]] = []

    def progress(done: int, todo: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        calls.append((done, todo))

    evaluate(TINY, both(), workloads=3, progress=progress)
    assert calls == [(3, 6), (6, 6)]


def test_a_failing_policy_ends_the_comparison() -> None:
    def broken(table: Tables) -> NDArray[np.float32]:
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        evaluate(TINY, {"np-fcfs": fcfs(), "broken": Rule(broken)}, workloads=3)


@pytest.mark.small
def test_impossible_comparisons_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'np-fcfs'"):
        evaluate(TINY, {"np-fcfs": fcfs()}, relative_to="np-fcsf")
    with pytest.raises(ConfigError, match="policies must be at least one policy by name"):
        evaluate(TINY, {})
    with pytest.raises(
        ConfigError, match="workloads must be a whole number from 1 to 100000, or None, got 0"
    ):
        evaluate(TINY, {"np-fcfs": fcfs()}, workloads=0)


def test_given_workloads_are_played_as_they_are() -> None:
    catalog = compile_scenario(TINY)
    drawn = evaluate(TINY, {"np-fcfs": fcfs()}, workloads=5, seed=9, per_workload=True)
    batch = sample_batch(catalog, range(9, 14))
    given = evaluate(TINY, {"np-fcfs": fcfs()}, workload=batch, seed=9, per_workload=True)
    assert given.workload_digest == drawn.workload_digest
    assert given.seed is None
    assert numbers(given) == numbers(drawn)
    alone = evaluate(TINY, {"np-fcfs": fcfs()}, workload=batch.row(3), per_workload=True)
    assert alone.workloads == 1
    whole, one = (e.policies["np-fcfs"].per_workload["antt"] for e in (given, alone))
    assert one[0] == whole[3]
    # The settings of the report hold the workloads themselves.
    settings = json.loads(json.dumps(given.settings))
    again = evaluate_settings(settings, lambda name, mechanisms: fcfs())
    assert again.workload_digest == given.workload_digest
    assert numbers(again) == numbers(given)
    # The shipped np-fcfs is not asked while a task runs: the same schedules, fewer decisions.
    seldom = evaluate_settings(settings, baselines.make).policies["np-fcfs"].metrics
    often = given.policies["np-fcfs"].metrics
    assert seldom["decisions"].mean < often["decisions"].mean
    for metric in METRICS:
        assert metric.name == "decisions" or seldom[metric.name].mean == pytest.approx(
            often[metric.name].mean, rel=0, abs=0, nan_ok=True
        )


def test_given_workloads_may_be_longer_than_the_scenarios() -> None:
    longer = replace(TINY, num_tasks=TINY.num_tasks + 5)
    batch = sample_batch(compile_scenario(longer), range(3))
    result = evaluate(TINY, {"np-fcfs": fcfs()}, workload=batch)
    assert result.policies["np-fcfs"].tasks == 3 * longer.num_tasks
    assert result.policies["np-fcfs"].unfinished == 0


def test_given_workloads_that_do_not_fit_are_refused() -> None:
    batch = sample_batch(compile_scenario(TINY), range(3))
    with pytest.raises(ConfigError, match="workloads is 4, but 3 are given: leave it out"):
        evaluate(TINY, {"np-fcfs": fcfs()}, workload=batch, workloads=4)
    with pytest.raises(ConfigError, match="workload must be a Workload, a WorkloadBatch or a file"):
        evaluate(TINY, {"np-fcfs": fcfs()}, workload=[batch])  # type: ignore[arg-type]
    wrong = replace(batch, isolated_cycles=batch.isolated_cycles + 1)
    with pytest.raises(WorkloadError, match="its profile says otherwise"):
        evaluate(TINY, {"np-fcfs": fcfs()}, workload=wrong)


def test_a_policy_that_learned_is_not_compared_on_what_it_learned_from() -> None:
    learned = fcfs()
    learned.test_seeds = range(100, 200)  # type: ignore[attr-defined]
    policies = {"np-fcfs": fcfs(), "learned": learned}
    assert evaluate(TINY, policies, workloads=10, seed=190).workloads == 10
    for seed in (99, 195):
        with pytest.raises(ConfigError, match="'learned' may be compared on seeds 100 to 199"):
            evaluate(TINY, policies, workloads=10, seed=seed)
    # Which seeds a given workload was drawn from nobody knows.
    batch = sample_batch(compile_scenario(TINY), range(3))
    assert evaluate(TINY, policies, workload=batch).workloads == 3


@pytest.mark.small
def test_what_is_no_setting_gets_one_line() -> None:
    policies = {"np-fcfs": fcfs()}
    with pytest.raises(ConfigError, match="scenario must be a Scenario, a name, a file or a dict"):
        evaluate(3, policies)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="threads must be a whole number of at least 1, got 0"):
        evaluate(TINY, policies, workloads=1, threads=0)
    many = replace(TINY, num_tasks=21)
    with pytest.raises(ConfigError, match="bounds are for workloads of at most 20 tasks, got 21"):
        evaluate(many, policies, workloads=1, bounds=True)
    assert evaluate(TINY.to_dict(), policies, workloads=1).scenario == TINY.name


@pytest.mark.small
def test_a_blind_policy_and_odd_answers_end_a_comparison() -> None:
    class Blind:
        def predict(self, observation: Tables, state: object = None) -> Answer:
            raise AssertionError("must not be asked")

    class Odd:
        def predict(self, observation: Tables, **_: object) -> Answer:
            return np.zeros(3, np.int64), None

    with pytest.raises(ConfigError, match="takes no action_masks"):
        evaluate(TINY, {"np-fcfs": Blind()}, workloads=1)
    with pytest.raises(ConfigError, match="2 whole numbers for 2 tables"):
        evaluate(TINY, {"np-fcfs": Odd()}, workloads=2)
