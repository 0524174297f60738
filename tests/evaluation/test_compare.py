"""Evaluation: the loop over the real simulator, sameness of workloads, intervals, re-running."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.errors import ConfigError, UnknownNameError, WorkloadError
from prema_gym.evaluation import compare as evaluation_module
from prema_gym.evaluation.compare import (
    LEAST_LIMIT,
    Decider,
    Evaluation,
    evaluate,
    evaluate_settings,
    run_policy,
)
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.energy import energy_of_network, static_energy_mj
from prema_gym.metrics import METRICS, SLA_TARGETS
from prema_gym.simulator import (
    ESTIMATED_MS,
    MECHANISMS,
    ORDER,
    PRESENT,
    PRIORITY,
    RUNNING,
    Mechanism,
    SchedulerOptions,
    Simulator,
)
from prema_gym.views.records import to_json
from prema_gym.views.tables import evaluation_notes
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenarios import get

TINY = Scenario(
    name="tiny",
    networks=("alexnet", "mobilenet-v1"),
    batch_sizes=(1,),
    num_tasks=4,
    window_ms=2.0,
    priorities=(1, 9),
)


class Rule:
    """Runs the task with the least score; remembers nothing."""

    def __init__(
        self,
        score: Callable[[NDArray[np.float32]], Any],
        mechanisms: tuple[str, ...] = ("checkpoint",),
    ) -> None:
        self.score = score
        self.mechanisms = mechanisms
        self.asked: list[int] = []

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[NDArray[np.int64], Any]:
        self.asked.append(len(observation))
        assert deterministic
        assert len(episode_start) == len(action_masks) == len(observation)
        score = np.where(observation[..., PRESENT] > 0, self.score(observation), np.inf)
        return score.argmin(axis=-1), state


def fcfs() -> Rule:
    return Rule(lambda table: table[..., ORDER] - 100 * table[..., RUNNING])


def priority_first(mechanism: str = "checkpoint") -> Rule:
    return Rule(lambda t: 100 * -t[..., PRIORITY] + t[..., ORDER], (mechanism,))


class Counting:
    """Keeps a state: how many calls each environment has seen. Runs the first task in the table."""

    def __init__(self) -> None:
        self.calls: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[NDArray[np.int64], Any]:
        seen = np.zeros(len(observation), np.int64) if state is None else state
        seen = np.where(episode_start, 0, seen) + 1
        self.calls.append((seen, episode_start.copy()))
        return action_masks.argmax(axis=-1), seen


def simulator(batch_size: int, **keywords: Any) -> Simulator:
    return Simulator(compile_scenario(TINY), num_envs=batch_size, **keywords)


def numbers(result: Evaluation) -> str:
    """Everything measured, as text: equal texts, equal numbers."""
    return to_json(result.to_dict()["policies"])


@pytest.mark.small
def test_fcfs_follows_the_lindley_recursion() -> None:
    batch = sample_batch(compile_scenario(TINY), range(6))
    outcomes = run_policy(simulator(6), fcfs(), batch)
    free = np.zeros(6, np.int64)
    for task in range(TINY.num_tasks):
        free = np.maximum(free, batch.arrival_cycles[:, task]) + batch.isolated_cycles[:, task]
        assert outcomes.completion_cycles[:, task].tolist() == free.tolist()
    assert outcomes.elapsed_cycles.tolist() == free.tolist()
    assert outcomes.unfinished.tolist() == [0] * 6
    assert not outcomes.truncated.any()
    assert not outcomes.preemptions.any()
    assert outcomes.high_priority == 9
    assert outcomes.cycles_per_ms == 700_000


@pytest.mark.small
def test_rows_that_are_done_are_not_asked() -> None:
    batch = sample_batch(compile_scenario(TINY), range(6))
    policy = fcfs()
    outcomes = run_policy(simulator(6), policy, batch)
    assert policy.asked[0] == 6
    assert sum(policy.asked[1:]) == outcomes.decisions.sum() - 6
    assert policy.asked[-1] < 6


@pytest.mark.small
def test_a_policy_with_a_state_gets_it_back() -> None:
    policy = Counting()
    outcomes = run_policy(simulator(3), policy, sample_batch(compile_scenario(TINY), range(3)))
    assert len(policy.calls) == outcomes.decisions.max()
    for call, (seen, starts) in enumerate(policy.calls):
        assert seen.tolist() == [call + 1] * 3  # every row in every call, done or not
        assert starts.tolist() == [call == 0] * 3
    assert outcomes.unfinished.sum() == 0


@pytest.mark.small
def test_the_mechanism_reaches_the_simulator() -> None:
    batch = sample_batch(compile_scenario(TINY), range(6))
    checkpoint = run_policy(simulator(6), priority_first(), batch)
    assert checkpoint.preemptions[:, Mechanism.CHECKPOINT].sum() > 0
    assert checkpoint.preemptions[:, Mechanism.KILL].sum() == checkpoint.killed_cycles.sum() == 0
    kill = run_policy(simulator(6, mechanisms=("kill",)), priority_first("kill"), batch)
    assert kill.preemptions[:, Mechanism.KILL].sum() > 0
    assert kill.killed_cycles.sum() > 0
    assert kill.preemptions[:, Mechanism.CHECKPOINT].sum() == 0
    assert kill.energy_mj.sum() > checkpoint.energy_mj.sum()
    with pytest.raises(ConfigError, match="build the simulator with the policy's"):
        run_policy(simulator(6), priority_first("kill"), batch)


@pytest.mark.small
def test_a_policy_without_masks_is_refused() -> None:
    class Blind:
        def predict(self, observation: Any, state: Any = None) -> tuple[Any, Any]:
            raise AssertionError("must not be asked")

    with pytest.raises(ConfigError, match="takes no action_masks"):
        evaluate(TINY, {"np-fcfs": Blind()}, workloads=1)


@pytest.mark.small
def test_energy_is_that_of_the_inferences_and_of_the_time() -> None:
    catalog = compile_scenario(TINY)
    batch = sample_batch(catalog, range(2))
    outcomes = run_policy(simulator(2), fcfs(), batch)
    for row in range(2):
        work = sum(
            energy_of_network(TINY.hardware, catalog.networks[network], batch=1).dynamic_mj
            for network in batch.network[row]
        )
        static = static_energy_mj(TINY.hardware, float(outcomes.elapsed_cycles[row]))
        assert outcomes.energy_mj[row] == pytest.approx(work + static, rel=1e-12)


@pytest.mark.small
def test_energy_of_switches_counts_the_time_spent_moving() -> None:
    batch = sample_batch(compile_scenario(TINY), range(6))
    outcomes = run_policy(simulator(6), priority_first(), batch)
    plain = run_policy(simulator(6), fcfs(), batch)
    added = outcomes.energy_mj - plain.energy_mj
    hardware = TINY.hardware
    bytes_moved = outcomes.switching_cycles / hardware.clock_hz * hardware.dram_bytes_per_s
    static = np.array(
        [
            static_energy_mj(hardware, float(c))
            for c in outcomes.elapsed_cycles - plain.elapsed_cycles
        ]
    )
    # 31.2 pJ/B in memory and 12.5 pJ/B in the buffer, as documented in EnergyModel.
    assert added == pytest.approx(bytes_moved * 43.7e-9 + static, abs=1e-9)
    assert added.max() > 0


@pytest.mark.small
def test_a_run_that_hits_the_cap_says_so() -> None:
    result = evaluate(TINY, {"np-fcfs": fcfs()}, workloads=3, max_decisions=12)
    row = result.policies["np-fcfs"]
    assert row.truncated == 3
    assert row.tasks == 12
    assert 0 < row.unfinished < 12
    assert row.metrics["unfinished"].mean == row.unfinished / 3
    assert row.metrics["sla_violation"].mean >= row.unfinished / 12
    (note,) = evaluation_notes(result)
    assert f"{12 - row.unfinished} tasks finished, {row.unfinished} unfinished" in note


def test_every_policy_plays_the_same_workloads() -> None:
    class Recorder(Rule):
        def __init__(self) -> None:
            super().__init__(lambda table: table[..., ORDER] - 100 * table[..., RUNNING])
            self.tables: list[bytes] = []

        def predict(self, observation: Any, *args: Any, **keywords: Any) -> tuple[Any, Any]:
            self.tables.append(observation.tobytes())
            return super().predict(observation, *args, **keywords)

    one, two = Recorder(), Recorder()
    result = evaluate(TINY, {"np-fcfs": one, "again": two}, workloads=5, threads=2)
    assert one.tables == two.tables
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
            assert found.ratio_ci95 == (1.0, 1.0), metric.name
    assert list(twin.sla_curve) == list(SLA_TARGETS)


def test_intervals_hold_the_estimate_and_ratios_point_the_right_way() -> None:
    policies = {"np-fcfs": fcfs(), "hpf": priority_first()}
    result = evaluate(TINY, policies, workloads=40)
    base, better = result.policies["np-fcfs"].metrics, result.policies["hpf"].metrics
    for name in ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high", "makespan_ms"):
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
        policies: dict[str, Decider] = {"np-fcfs": fcfs(), "hpf": priority_first()}
        return numbers(evaluate(TINY, policies, workloads=11, threads=threads, per_workload=True))

    whole = run(1)
    monkeypatch.setattr(evaluation_module, "CHUNK", 4)
    assert run(1) == whole
    assert run(3) == whole


def test_a_report_is_repeated_from_its_own_settings() -> None:
    scenario = replace(TINY, name="endless", hardware=NPUConfig(host_link_bytes_per_s=math.inf))
    made: list[str] = []

    def make(name: str, *, mechanisms: tuple[str, ...]) -> Decider:
        made.append(name)
        assert mechanisms == ("checkpoint",)
        return {"np-fcfs": fcfs(), "hpf": priority_first()}[name]

    first = evaluate(
        scenario,
        {"np-fcfs": fcfs(), "hpf": priority_first()},
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


def test_sticky_drain_without_drains_is_refused() -> None:
    policies = {"np-fcfs": baselines.make("np-fcfs")}
    with pytest.raises(ConfigError, match="drain"):
        evaluate(TINY, policies, workloads=1, options=SchedulerOptions(sticky_drain=True))


def test_the_limit_grows_with_the_work() -> None:
    many = replace(get("paper"), name="many", num_tasks=3000, window_ms=84_000.0)
    found = evaluate(many, {"np-fcfs": baselines.make("np-fcfs")}, workloads=1)
    assert found.settings["max_decisions"] > LEAST_LIMIT
    assert found.policies["np-fcfs"].truncated == 0


@pytest.mark.parametrize(
    ("answer", "needle"),
    [
        (np.zeros(2, np.int64), "returns? .*actions, state"),
        ((np.zeros(2), None), "float64"),
        ((np.zeros(3, np.int64), None), r"shape \(3,\)"),
    ],
)
def test_an_answer_that_is_none_is_refused(answer: object, needle: str) -> None:
    class Odd:
        def predict(self, observation: object, **_: object) -> object:
            return answer

    with pytest.raises(ConfigError, match=needle.replace("returns? .*", "")):
        evaluate(TINY, {"np-fcfs": Odd()}, workloads=2)  # type: ignore[dict-item]


@pytest.mark.small
def test_oracle_shows_true_times() -> None:
    batch = sample_batch(compile_scenario(TINY), range(1))
    shown: list[float] = []

    def look(table: NDArray[np.float32]) -> Any:
        shown.extend(table[..., ESTIMATED_MS][table[..., PRESENT] > 0].tolist())
        return table[..., ORDER] - 100 * table[..., RUNNING]

    evaluate(TINY, {"np-fcfs": Rule(look)}, workloads=1, oracle=True)
    assert set(shown) <= set((batch.isolated_cycles[0] / 700_000).astype(np.float32).tolist())
    shown.clear()
    evaluate(TINY, {"np-fcfs": Rule(look)}, workloads=1)
    assert set(shown) <= set((batch.estimated_cycles[0] / 700_000).astype(np.float32).tolist())


def test_progress_is_told_from_the_calling_thread() -> None:
    calls: list[tuple[int, int]] = []

    def progress(done: int, todo: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        calls.append((done, todo))

    evaluate(TINY, {"np-fcfs": fcfs(), "hpf": priority_first()}, workloads=3, progress=progress)
    assert calls == [(3, 6), (6, 6)]


def test_a_failing_policy_ends_the_comparison() -> None:
    class Broken(Rule):
        def predict(self, *args: Any, **keywords: Any) -> tuple[Any, Any]:
            raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        evaluate(TINY, {"np-fcfs": fcfs(), "broken": Broken(lambda t: 0)}, workloads=3)


@pytest.mark.small
def test_impossible_comparisons_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'np-fcfs'"):
        evaluate(TINY, {"np-fcfs": fcfs()}, relative_to="np-fcsf")
    with pytest.raises(ConfigError, match="at least one policy"):
        evaluate(TINY, {})
    with pytest.raises(ConfigError, match="workloads must be at least 1, given 0"):
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
    again = evaluate_settings(json.loads(json.dumps(given.settings)), baselines.make)
    assert again.workload_digest == given.workload_digest
    assert numbers(again) == numbers(given)


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


def test_arguments_of_another_type_get_one_line() -> None:
    policies = {"np-fcfs": fcfs()}
    for arguments, message in (
        ({"oracle": "yes"}, "oracle must be True or False, given 'yes'"),
        ({"bounds": 1}, "bounds must be True or False, given 1"),
        ({"options": 3}, "options must be SchedulerOptions or None, given 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            evaluate(TINY, policies, workloads=1, **arguments)  # type: ignore[arg-type]
    many = replace(TINY, num_tasks=21)
    with pytest.raises(ConfigError, match="bounds are for workloads of at most 20 tasks, given 21"):
        evaluate(many, policies, workloads=1, bounds=True)
    assert evaluate(TINY.to_dict(), policies, workloads=1).scenario == TINY.name
