"""How does a trained run become a shipped policy? Its weights, its configuration, and a table.

A run's best weights and its configuration are copied into ``agents/pretrained`` and the table of
results is written beside them: the comparison with PREMA on test seeds, which no training or
selection has seen. A test plays the first workloads of the table again.
"""

from __future__ import annotations

import math
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from prema_gym import agents, baselines
from prema_gym.agents import seeds
from prema_gym.agents.policies.files import OurPolicy, policy_from_file
from prema_gym.agents.studies import generalisation
from prema_gym.agents.training.objective import FIVE, geometric_mean
from prema_gym.agents.training.run_folder import find_policy
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.baselines import PREMA
from prema_gym.errors import ConfigError
from prema_gym.evaluation.compare import evaluate
from prema_gym.files import read_json, write_json
from prema_gym.simulator import DEFAULT_ESTIMATE
from prema_gym.workloads import scenarios
from prema_gym.workloads.scenario import Scenario

SEED = 550_000_000
"""First test seed of a table: away from the small numbers that people type."""
WORKLOADS, FEW = 2000, 200


def compare(
    policy: OurPolicy,
    scenario: Scenario,
    *,
    workloads: int,
    seed: int = SEED,
    estimate: str = DEFAULT_ESTIMATE,
) -> dict[str, Any]:
    """The five metrics beside PREMA's on test seeds, as plain data.

    Raises:
        ConfigError: The seeds are not all test seeds.
    """
    seeds.check_test(seed, workloads)
    result = evaluate(
        scenario,
        {policy.name: policy, PREMA: baselines.make(PREMA)},
        workloads=workloads,
        seed=seed,
        relative_to=PREMA,
        estimate=estimate,
    )
    own, base = result.policies[policy.name].metrics, result.policies[PREMA].metrics
    five = {
        metric.name: {
            "mean": own[metric.name].mean,
            PREMA: base[metric.name].mean,
            "ratio": own[metric.name].ratio,
            "ratio_ci95": list(own[metric.name].ratio_ci95),
        }
        for metric in FIVE
    }
    return {
        "scenario": scenario.name,
        "estimate": estimate,
        "workloads": workloads,
        "seed": seed,
        "metrics": five,
        "geometric_mean_ratio": geometric_mean(
            [math.log(own[metric.name].ratio) for metric in FIVE]
        ),
    }


def ship(run: Path, name: str, command: str, cpu_minutes: float | None = None) -> dict[str, Any]:
    """Copy a run's best policy into the package and write its table.

    Args:
        run: The run's folder; its policy must be our network.
        name: What it is called from now on.
        command: The command that trained it.
        cpu_minutes: What that took; None: not recorded.
    """
    settings = TrainSettings.from_toml(run / "config.toml")
    source, target = find_policy(run), agents.PRETRAINED / f"{name}.npz"
    agents.PRETRAINED.mkdir(exist_ok=True)
    policy = policy_from_file(source, name)
    scenario = scenarios.get(settings.scenario)
    shutil.copyfile(source, target)
    settings.to_toml(agents.PRETRAINED / f"{name}.toml")
    return _write_table(policy, scenario, command, cpu_minutes)


def measure_again(name: str) -> dict[str, Any]:
    """Write a shipped policy's table anew, after the simulator moved; its weights stay.

    Args:
        name: The shipped policy.
    """
    settings = TrainSettings.from_toml(agents.PRETRAINED / f"{name}.toml")
    policy = policy_from_file(agents.PRETRAINED / f"{name}.npz", name)
    known = read_json(agents.PRETRAINED / f"{name}.json")
    scenario = scenarios.get(settings.scenario)
    return _write_table(policy, scenario, known["command"], known.get("cpu_minutes"))


def other_conditions(policy: OurPolicy, scenario: Scenario) -> dict[str, Any]:
    """How many times better than PREMA it is where it was not trained, as plain data."""
    ratios = {}
    for condition in generalisation.conditions(scenario):
        with suppress(ConfigError):  # a condition that this scenario cannot have
            five = generalisation.compare(policy, condition, FEW)
            ratios[condition.title] = np.exp(five).tolist()
    return {"workloads": FEW, "seed": generalisation.SEED, "ratios": ratios}


def _write_table(
    policy: OurPolicy, scenario: Scenario, command: str, cpu_minutes: float | None
) -> dict[str, Any]:
    table = {
        "policy": policy.name,
        "command": command,
        "cpu_minutes": cpu_minutes,
        "timesteps": policy.about["timesteps"],
        "digest": policy.about["digest"],
        "first": compare(policy, scenario, workloads=FEW),
        "all": compare(policy, scenario, workloads=WORKLOADS),
        "calibrated": compare(policy, scenario, workloads=WORKLOADS, estimate="calibrated"),
        "conditions": other_conditions(policy, scenario),
    }
    write_json(agents.PRETRAINED / f"{policy.name}.json", table)
    return table
