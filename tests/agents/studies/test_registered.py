"""The table of registered scenarios says what long runs and workloads of test seeds say."""

from __future__ import annotations

import pytest

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.studies.registered import MEASURES, SEED, measured, table
from prema_gym.baselines import PREMA
from prema_gym.errors import ConfigError
from prema_gym.workloads import scenarios

WORSE = {"np-fcfs": baselines.make("np-fcfs")}


def test_a_stream_is_played_as_long_runs_and_a_loss_is_in_italics() -> None:
    text = table(WORSE, ["edge-camera"], requests=300, workloads=2)
    head, _, prema, fcfs = text.splitlines()
    assert head.count("|") == 3 + len(MEASURES)
    assert prema.startswith(f"| `edge-camera` | `{PREMA}` |")
    assert "*" not in prema
    found = measured(WORSE, scenarios.get("edge-camera"), requests=300, workloads=2)
    assert (
        f"*{found['np-fcfs']['antt']:.4g}*" in fcfs
    )  # cameras with deadlines: no preemption loses


def test_the_rest_is_played_as_workloads_of_test_seeds() -> None:
    policies = {PREMA: baselines.make(PREMA), **WORSE}
    found = measured(policies, scenarios.get("paper"), requests=1, workloads=6)
    assert set(found[PREMA]) == set(MEASURES)
    assert found["np-fcfs"]["antt"] > found[PREMA]["antt"] >= 1
    with pytest.raises(ConfigError):
        seeds.check_test(SEED, 10**9)
