from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.agents.training import objective
from prema_gym.agents.training.validation import FLOOR, FLOOR_WEIGHT, score
from prema_gym.errors import UnknownNameError
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.playing import play
from prema_gym.evaluation.policy import Decider
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.generate import sample_batch
from tests.agents.conftest import random_policy


def test_a_gain_is_positive_where_better_whatever_the_direction() -> None:
    # ANTT, STP, fairness, SLA, tail: half, double, equal, a tenth, double of the reference.
    own = np.array([1.0, 8.0, 0.2, 0.01, 6.0])
    reference = np.array([2.0, 4.0, 0.2, 0.1, 3.0])
    gained = objective.gains(own, reference)
    np.testing.assert_allclose(np.exp(gained), [2, 2, 1, 10, 0.5])
    assert objective.geometric_mean(gained) == pytest.approx(20 ** (1 / 5))


def test_gains_are_finite_where_metrics_are_not() -> None:
    # No violation; a task that never finished; no high-priority task at all.
    own = np.array([np.inf, 1.0, 1.0, 0.0, np.nan])
    gained = objective.gains(own, np.array([1.0, 1.0, 1.0, 0.01, np.nan]))
    assert np.isfinite(gained).all()
    assert gained[0] < 0 < gained[3]
    assert gained[4] == 0


def test_objectives_weigh_one_metric_or_all() -> None:
    assert objective.objective_names() == ("balanced", "antt", "stp", "fairness", "sla", "tail")
    assert objective.weights_of("balanced").tolist() == [0.2] * 5
    assert objective.weights_of("sla").tolist() == [0, 0, 0, 1, 0]
    with pytest.raises(UnknownNameError, match="did you mean 'fairness'"):
        objective.weights_of("fairnes")


def test_the_score_counts_losses_more_heavily() -> None:
    everything, even = np.array([1.0]), np.full(5, 0.2)
    won = np.array([[0.5, 0.1, 0.1, 0.1, 0.1]])
    lost = np.array([[0.5, -0.2, 0.1, 0.1, 0.1]])
    assert score(won, everything, even) == pytest.approx(0.9 / 5)
    assert score(lost, everything, even) == pytest.approx((0.6 - FLOOR_WEIGHT * (0.2 + FLOOR)) / 5)


def test_the_five_are_what_an_evaluation_reports(tiny: Catalog) -> None:
    policy, reference = random_policy(), baselines.make("dynamic-prema")
    batch = sample_batch(tiny, range(40))

    def five(decider: Decider) -> objective.Gains:
        return objective.measure(play(decider, tiny, batch))

    gained = objective.gains(five(policy), five(reference))
    result = evaluate(
        tiny.scenario,
        {"own": policy, "reference": reference},
        workloads=40,
        relative_to="reference",
        resamples=10,
    )
    reported = [result.policies["own"].metrics[m.name].ratio for m in objective.FIVE]
    np.testing.assert_allclose(np.exp(gained), reported, rtol=1e-12)
