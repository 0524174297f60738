from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prema_gym import agents
from prema_gym.agents import seeds
from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.studies import shipping
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.workloads import scenarios

# Another machine's logarithms may differ in the last digit and tip a rare decision.
SAME = 0.01
FIVE = ["antt", "stp", "fairness", "sla_violation", "p95_ntt_high"]


def table_of(name: str) -> dict[str, Any]:
    return dict(json.loads((agents.PRETRAINED / f"{name}.json").read_text()))


@pytest.mark.parametrize("name", agents.names())
def test_a_shipped_policy_does_what_its_table_says(name: str) -> None:
    table = table_of(name)
    policy = agents.load(name)
    assert isinstance(policy, LearnedPolicy)
    assert policy.about["digest"] == table["digest"]
    settings = TrainSettings.from_toml(agents.PRETRAINED / f"{name}.toml")
    first = table["first"]
    again = shipping.compare(
        policy,
        scenarios.get(settings.scenario),
        workloads=first["workloads"],
        seed=first["seed"],
    )
    for metric in FIVE:
        expected, found = first["metrics"][metric], again["metrics"][metric]
        assert found["dynamic-prema"] == pytest.approx(expected["dynamic-prema"], rel=1e-9)
        assert found["mean"] == pytest.approx(expected["mean"], rel=SAME)


@pytest.mark.parametrize("name", agents.names())
def test_tables_are_about_seeds_that_no_training_has_seen(name: str) -> None:
    for part in ("first", "all"):
        report = table_of(name)[part]
        seeds.check_test(report["seed"], report["workloads"])


def test_the_flagship_beats_prema_on_all_five_beyond_chance() -> None:
    report = table_of("learned")["all"]
    assert report["workloads"] >= 2000
    assert list(report["metrics"]) == FIVE
    for metric, value in report["metrics"].items():
        assert value["ratio_ci95"][0] > 1, metric
    assert report["geometric_mean_ratio"] >= 1.10


def test_the_masked_ppo_agent_beats_prema_on_four_of_five() -> None:
    report = table_of("learned-ppo")["all"]
    assert sum(value["ratio"] > 1 for value in report["metrics"].values()) >= 4
    assert report["geometric_mean_ratio"] >= 1.05


def test_loading_a_shipped_policy_needs_neither_torch_nor_the_network() -> None:
    code = (
        "import sys, socket\n"
        "socket.socket = None\n"
        "import numpy\nfrom prema_gym import agents\n"
        "for name in agents.names():\n"
        "    agents.load(name).predict(numpy.zeros((8, 19), numpy.float32))\n"
        "print([m for m in ('torch', 'stable_baselines3', 'cma') if m in sys.modules])\n"
    )
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
