"""Policies beside the front: on it, below it, and the question that it answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.bounds import Front
from prema_gym.evaluation.clairvoyant import Clairvoyant
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.optima import fairest_values
from prema_gym.evaluation.tradeoff import Tradeoff, tradeoff
from prema_gym.views.tradeoff import answer, front_rows, policy_rows
from prema_gym.workloads import compile_scenario, sample_batch, scenarios

MADE_UP = Tradeoff(
    front=Front(fairness=np.array([0.1, 0.3]), antt=np.array([2.0, 3.0]), holding=True),
    plain=Front(fairness=np.array([0.1, 0.2]), antt=np.array([2.0, 3.0]), holding=False),
    points={"slow": (2.9, 0.15), "fair": (2.4, 0.12)},
)


def test_the_question_it_answers() -> None:
    assert MADE_UP.fairness_at(2.5) == pytest.approx(0.2)
    assert MADE_UP.antt_at(0.2, holding=False) == pytest.approx(3.0)
    assert math.isnan(MADE_UP.antt_at(0.4))
    assert answer(MADE_UP, 2.5) == (
        "ANTT at most 2.5: fairness 0.200 at best (0.150 if nobody is held back); fair comes "
        "nearest, 0.120 at 2.40"
    )
    assert answer(MADE_UP, 1.9) == "ANTT at most 1.9: no schedule; the optimum is 2.00"
    assert answer(MADE_UP, 2.1).endswith("no policy here has so little ANTT")
    assert len(policy_rows(MADE_UP) + front_rows(MADE_UP)) == 2 + 4


def test_no_policy_lies_beyond_the_front() -> None:
    names = ("static-sjf", "dynamic-prema", "static-prema", "np-fcfs")
    policies = {name: baselines.make(name) for name in names}
    result = evaluate(
        "paper",
        policies | {"optimum": Clairvoyant("antt")},
        workloads=20,
        bounds=True,
        per_workload=True,
    )
    batch = sample_batch(compile_scenario(scenarios.get("paper")), range(20))
    found = tradeoff(result, batch, threads=1)
    # The front is known at levels of fairness a fiftieth of the bound apart: between two of them
    # a workload's true front may lie higher by up to one.
    level = fairest_values(batch).mean() / 50
    for antt, fairness in found.points.values():
        assert fairness <= found.fairness_at(antt) + level
    # The clairvoyant optimum of ANTT lies on the front's end, but for the cost of switching.
    assert found.points["optimum"][0] == pytest.approx(found.front.antt[0], rel=0.01)
    bound = fairest_values(batch)
    assert result.optimum["fairness"] == pytest.approx(bound.mean())
    for policy in result.policies.values():
        assert (policy.per_workload["fairness"] <= bound).all()
        assert 0 < policy.regret["fairness"] < 1
