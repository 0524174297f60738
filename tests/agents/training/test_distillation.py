"""Imitation of the planner, and an evolution strategy on the network that it gives: tiny runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("cma")

from prema_gym import agents
from prema_gym.agents.policies.balancer_policy import BalancerPolicy
from prema_gym.agents.scorer.balancer_shape import BalancerShape
from prema_gym.agents.training import distillation
from prema_gym.agents.training import run as training
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.evolution.course import BOTH
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError
from prema_gym.workloads import scenarios
from tests.agents.training.runs import small, weights_of

SHAPE = BalancerShape(hidden=2, readers=2)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROUNDS", 2), ("WORKLOADS", 16), ("STEPS", 150)):
        monkeypatch.setattr(distillation, name, value)


@pytest.mark.heavy
def test_it_learns_what_the_planner_does_the_same_from_the_same_seed(
    quick: None, tiny_toml: Path
) -> None:
    scenario = scenarios.get(str(tiny_toml))
    lines: list[str] = []
    first = distillation.distil("replan", scenario, SHAPE, 3, say=lines.append)
    again = distillation.distil("replan", scenario, SHAPE, 3)
    other = distillation.distil("replan", scenario, SHAPE, 4)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.line, other.line)
    shares = [float(line.split(" in ")[1].split(" %")[0]) for line in lines]
    assert len(shares) == 2
    assert shares[-1] > 75, "a table holds two to four tasks: chance agrees in less than half"


def test_only_the_planner_teaches() -> None:
    with pytest.raises(ConfigError, match="imitates 'replan', not 'np-fcfs'"):
        distillation.distil("np-fcfs", scenarios.get("paper"), SHAPE, 0)
    balancer = EvolutionConfig(network="balancer")
    assert TrainSettings(init_from="replan", evolution=balancer).init_from == "replan"
    with pytest.raises(ConfigError, match="imitation of 'replan', got 'dynamic-prema'"):
        TrainSettings(init_from="dynamic-prema", evolution=balancer)
    with pytest.raises(ConfigError, match="imitation of 'dynamic-prema', got 'replan'"):
        TrainSettings(init_from="replan")


def test_every_leg_can_be_played_and_their_shares_add_up() -> None:
    paper = scenarios.get("paper")
    assert sum(leg.share for leg in BOTH) == pytest.approx(1)
    assert sum(leg.weight for leg in BOTH) == pytest.approx(1)
    together = [leg.scenario(paper, 0.5) for leg in BOTH if leg.window == 0.0]
    assert [scenario.window_ms for scenario in together] == [0.0]


@pytest.mark.heavy
def test_a_balancer_is_bred_stopped_and_gone_on_with_to_the_bit(
    quick: None, tiny_toml: Path, tmp_path: Path
) -> None:
    evolution = EvolutionConfig(
        network="balancer", course="both", hidden=2, readers=2, population=4
    )
    settings = replace(small("es", tiny_toml), init_from="replan", evolution=evolution, num_envs=24)
    training.train(tmp_path / "whole", settings)
    policy = agents.load(tmp_path / "whole")
    assert isinstance(policy, BalancerPolicy)
    assert policy.shape == SHAPE
    training.train(tmp_path / "parts", replace(settings, timesteps=1))
    training.resume(tmp_path / "parts", settings.timesteps)
    assert np.array_equal(weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts"))
