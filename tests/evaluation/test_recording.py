from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.errors import ConfigError
from prema_gym.evaluation import compiled
from prema_gym.evaluation.clairvoyant import Clairvoyant
from prema_gym.evaluation.playing import play
from prema_gym.evaluation.recording import record
from prema_gym.simulator import MECHANISMS, NONE, NUM_COLUMNS, Mechanism
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from tests.evaluation.helpers import TINY, fcfs, priority_first

CATALOG = compile_scenario(TINY)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mechanism", ["checkpoint", "kill"])
def test_noting_changes_nothing_and_counts_what_the_engine_counts(
    seed: int, mechanism: str
) -> None:
    workload = sample_batch(CATALOG, [seed])
    policy = priority_first(mechanism)
    recorded = record(policy, "mine", CATALOG, workload, tables=True)
    alone = play(policy, CATALOG, workload)
    assert np.array_equal(recorded.outcomes.completion_cycles, alone.completion_cycles)
    assert len(recorded.decisions) == alone.decisions[0] == len(recorded.actions)
    counted = np.zeros(len(Mechanism), int)
    for one in recorded.preemptions():
        counted[one.mechanism] += 1
    assert counted.tolist() == alone.preemptions[0].tolist()
    assert recorded.tables is not None
    assert recorded.occupants is not None
    assert recorded.tables.shape == (len(recorded.decisions), 16, NUM_COLUMNS)
    assert recorded.occupants.shape == (len(recorded.decisions), 16)


@pytest.mark.parametrize("name", ["static-prema", "kill-prema", "dynamic-prema", "static-rrb"])
def test_preemptions_of_a_long_workload_are_the_engines(name: str) -> None:
    catalog = compile_scenario(scenarios.get("paper"))
    policy = baselines.make(name, mechanisms=MECHANISMS)
    for seed in (0, 1):
        recorded = record(policy, name, catalog, sample_batch(catalog, [seed]))
        found = [int(one.mechanism) for one in recorded.preemptions()]
        for mechanism in (Mechanism.CHECKPOINT, Mechanism.KILL):
            assert found.count(mechanism) == recorded.outcomes.preemptions[0, mechanism]
        times = [one.cycles for one in recorded.preemptions()]
        assert times == sorted(times)


def test_what_is_noted_is_what_was_said() -> None:
    workload = sample_batch(CATALOG, [1])
    recorded = record(fcfs(), "first come", CATALOG, workload)
    assert recorded.policy == "first come"
    assert recorded.tables is None
    for one in recorded.decisions:
        assert one.mechanism == NONE  # nobody gives way
        assert one.chosen == (one.runner if one.runner != NONE else one.chosen)
        assert one.present >= 2  # else there is nothing to decide


def test_a_policy_that_looks_ahead_may_look() -> None:
    workload = sample_batch(CATALOG, [2])
    clairvoyant = Clairvoyant("antt")
    recorded = record(clairvoyant, "best", CATALOG, workload)
    alone = play(clairvoyant, CATALOG, workload)
    assert np.array_equal(recorded.outcomes.completion_cycles, alone.completion_cycles)


def test_one_workload_at_a_time() -> None:
    with pytest.raises(ConfigError, match="one workload is recorded at a time, got 2"):
        record(fcfs(), "mine", CATALOG, sample_batch(CATALOG, [1, 2]))


@pytest.mark.parametrize("name", ["dynamic-prema", "kill-prema", "static-rrb", "random", "np-hpf"])
def test_a_rule_in_compiled_code_leaves_the_same_record(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table that is handed to ``predict`` is noted by Python, the other way by the loop."""
    monkeypatch.setattr(compiled, "LOG_ROWS", 7)  # the log is full many times
    catalog = compile_scenario(scenarios.get("paper"))
    policy = baselines.make(name)
    for seed in (0, 1, 2):
        workload = sample_batch(catalog, [seed])
        asked = record(policy, name, catalog, workload, tables=True)
        loop = record(policy, name, catalog, workload)
        assert len(loop.decisions) > 7 or name.startswith("np-")
        assert np.array_equal(loop.actions, asked.actions)
        for one, other in zip(loop.decisions, asked.decisions, strict=True):
            assert one[:5] == other[:5]
            assert one[5:] == pytest.approx(other[5:], rel=1e-6)
        assert np.array_equal(loop.simulator.timeline(0), asked.simulator.timeline(0))
        assert np.array_equal(loop.outcomes.completion_cycles, asked.outcomes.completion_cycles)
