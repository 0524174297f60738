from __future__ import annotations

import numpy as np
import pytest

from prema_gym import agents, baselines
from prema_gym.errors import ConfigError
from prema_gym.evaluation.clairvoyant import Clairvoyant
from prema_gym.evaluation.partings import (
    Ported,
    decided_by,
    find_partings,
    moved_most,
)
from prema_gym.evaluation.playing import play
from prema_gym.metrics import METRICS
from prema_gym.simulator import MECHANISMS
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from tests.evaluation.helpers import TINY, fcfs, priority_first

CATALOG = compile_scenario(TINY)
METRIC = {metric.name: metric for metric in METRICS}


@pytest.mark.parametrize("metric", ["antt", "stp", "fairness"])
@pytest.mark.parametrize("mechanism", ["checkpoint", "kill"])
def test_what_is_won_adds_up_to_the_difference(metric: str, mechanism: str) -> None:
    parted = 0
    for seed in range(6):
        found = find_partings(
            (priority_first(mechanism), fcfs()), ("hpf", "fcfs"), CATALOG,
            sample_batch(CATALOG, [seed]), METRIC[metric],
        )  # fmt: skip
        first, second = found.values
        better = second - first if metric == "antt" else first - second
        assert sum(one.won for one in found.partings) == pytest.approx(better, abs=1e-12)
        parted += len(found.partings)
        if found.partings:  # B from the first parting on is B
            assert np.array_equal(found.partings[0].ntt_second, found.second.outcomes.ntt[0])
            assert np.array_equal(found.partings[-1].ntt_first, found.first.outcomes.ntt[0])
    assert parted > 0


def test_policies_that_choose_alike_do_not_part() -> None:
    found = find_partings(
        (fcfs(), fcfs()), ("a", "b"), CATALOG, sample_batch(CATALOG, [0]), METRIC["antt"]
    )
    assert found.partings == ()
    assert found.values[0] == found.values[1]


def test_one_that_looks_ahead_and_one_that_remembers_take_part() -> None:
    catalog = compile_scenario(scenarios.get("paper"))
    found = find_partings(
        (baselines.make("static-stride"), Clairvoyant("antt")), ("stride", "best"), catalog,
        sample_batch(catalog, [0]), METRIC["antt"],
    )  # fmt: skip
    total = sum(one.won for one in found.partings)
    assert total == pytest.approx(found.values[1] - found.values[0])
    assert total < 0
    assert decided_by(Clairvoyant("antt"), found.partings[0]) is None


@pytest.mark.parametrize("name", ["np-fcfs", "kill-prema", "dynamic-prema", "random"])
def test_a_policy_plays_alike_whatever_its_mechanisms_are_called(name: str) -> None:
    catalog = compile_scenario(scenarios.get("paper"))
    workload = sample_batch(catalog, range(3))
    policy = baselines.make(name)
    own, ported = play(policy, catalog, workload), play(Ported(policy), catalog, workload)
    assert np.array_equal(own.completion_cycles, ported.completion_cycles)
    assert Ported(policy).mechanisms == MECHANISMS


def test_the_column_that_decides_is_found() -> None:
    found = find_partings(
        (priority_first(), fcfs()), ("hpf", "fcfs"), CATALOG, sample_batch(CATALOG, [1]),
        METRIC["antt"],
    )  # fmt: skip
    parting = found.partings[0]
    assert decided_by(priority_first(), parting) == ["priority"]
    assert decided_by(fcfs(), parting) == []  # the order is not among what can be exchanged


def test_scores_are_moved_by_columns() -> None:
    catalog = compile_scenario(scenarios.get("paper"))
    policies = (baselines.make("dynamic-prema", mechanisms=MECHANISMS), agents.load("learned"))
    found = find_partings(
        policies, ("prema", "learned"), catalog, sample_batch(catalog, [16]), METRIC["antt"]
    )
    moved = moved_most(policies[1], found.partings[0])
    sizes = [abs(value) for _, value in moved]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0.1


def test_a_metric_without_a_better_direction_is_refused() -> None:
    with pytest.raises(ConfigError, match="'decisions' has no better direction"):
        find_partings(
            (fcfs(), fcfs()), ("a", "b"), CATALOG, sample_batch(CATALOG, [0]), METRIC["decisions"]
        )
