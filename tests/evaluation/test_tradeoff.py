"""Policies beside the front: on it, below it, and the question that it answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.bounds import Front, fronts
from prema_gym.evaluation.clairvoyant import Clairvoyant
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.optima import fairest_values
from prema_gym.evaluation.playing import play
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
    catalog = compile_scenario(scenarios.get("paper"))
    batch = sample_batch(catalog, range(20))
    found = tradeoff(result, batch, threads=1)
    bound = fairest_values(batch)
    # Workload by workload a front holds exactly at the levels it is known at: who is as fair as one
    # of them has its ANTT at least.
    tasks = (batch.arrival_cycles, batch.isolated_cycles, batch.num_tasks, batch.priority)
    by_workload = fronts(*tasks, threads=1)
    for index, front in enumerate(by_workload):
        for policy in result.policies.values():
            reached = front.fairness <= policy.per_workload["fairness"][index]
            assert policy.per_workload["antt"][index] >= front.antt[reached][-1]
    # In the means a workload counts with a level, a fiftieth of its bound below the next one.
    for antt, fairness in found.points.values():
        assert fairness <= found.fairness_at(antt) + bound.mean() / 50
    # The optimum lies at the front's end but for switching: nobody completes later by more than all
    # saving and restoring of its workload, and the tiles that ran to their ends before.
    played = play(Clairvoyant("antt"), catalog, batch)
    tile_cycles = catalog.scenario.hardware.fill_cycles + catalog.scenario.hardware.tile_rows
    late_cycles = played.switching_cycles + played.preemptions.sum(axis=1) * tile_cycles
    late = late_cycles * (1 / batch.isolated_cycles).mean(axis=1)
    least = np.array([front.antt[0] for front in by_workload])
    optimum = result.policies["optimum"].per_workload["antt"]
    assert (optimum <= least + late).all()
    assert late.mean() < 0.01
    assert result.optimum["fairness"] == pytest.approx(bound.mean())
    for policy in result.policies.values():
        assert (policy.per_workload["fairness"] <= bound).all()
        assert 0 < policy.regret["fairness"] < 1
