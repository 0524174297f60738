"""Intervals: coverage on known distributions, ends within what is possible, a word for too few."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prema_gym.evaluation.bootstrap import Bootstrap
from prema_gym.evaluation.intervals import (
    LEAST_WORKLOADS,
    POSITIVE,
    Scale,
    enough_beyond,
    mean_ends,
    percentile_ends,
    ratio_ends,
    students_t,
)


def limits(least: float, most: float, columns: int) -> Scale:
    return Scale(np.full(columns, least), np.full(columns, most))


@pytest.mark.small
@pytest.mark.parametrize(
    ("freedom", "t"), [(4, 2.7764), (9, 2.2622), (24, 2.0639), (199, 1.9720), (10**9, 1.9600)]
)
def test_students_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert students_t(freedom) == pytest.approx(t, rel=5e-4)


@pytest.mark.small
@pytest.mark.parametrize(
    ("scale", "value"), [(limits(1, np.inf, 1), 3.5), (limits(0, 1, 1), 0.2), (POSITIVE, 7.0)]
)
def test_scales_come_back_and_rise_as_they_say(scale: Scale, value: float) -> None:
    there = scale.to(np.array([value]))
    assert scale.back(there) == pytest.approx(value)
    step = 1e-6
    risen = (scale.to(np.array([value + step])) - there) / step
    assert scale.slope(np.array([value])) == pytest.approx(risen, rel=1e-4)


def coverage(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


# Experiments are columns here. On skewed data plain percentiles cover 86, 92 and 92 %.
@pytest.mark.parametrize("workloads", [10, 25, 60])
def test_intervals_of_a_skewed_mean_cover_as_often_as_they_say(workloads: int) -> None:
    experiments = np.random.default_rng(7).exponential(size=(workloads, 600))
    bootstrap = Bootstrap(workloads, resamples=500, seed=11)
    low, high = mean_ends(experiments, limits(0, np.inf, 600), bootstrap)
    assert 0.93 <= coverage(low, high, 1.0) <= 0.985
    assert low.min() > 0.0


@pytest.mark.parametrize("workloads", [10, 25, 60])
def test_intervals_of_a_share_cover_and_stay_within_it(workloads: int) -> None:
    experiments = np.random.default_rng(3).beta(0.3, 1.2, size=(workloads, 600))  # mean 0.2
    bootstrap = Bootstrap(workloads, resamples=500, seed=11)
    low, high = mean_ends(experiments, limits(0, 1, 600), bootstrap)
    assert 0.92 <= coverage(low, high, 0.2) <= 0.985
    assert low.min() > 0.0
    assert high.max() < 1.0


@pytest.mark.parametrize("workloads", [10, 25, 60])
def test_intervals_of_a_ratio_cover(workloads: int) -> None:
    rng = np.random.default_rng(5)
    hard = rng.lognormal(0.0, 1.0, size=(workloads, 600))  # what both policies suffer from alike
    top = 3.0 * hard * rng.lognormal(0.0, 0.3, size=hard.shape)
    bottom = hard * rng.lognormal(0.0, 0.3, size=hard.shape)
    low, high = ratio_ends(top, bottom, Bootstrap(workloads, resamples=500, seed=2))
    assert 0.90 <= coverage(low, high, 3.0) <= 0.985  # plain: 85, 90, 94 %


def test_intervals_of_a_percentile_cover() -> None:
    pools = np.random.default_rng(8).exponential(size=(300, 40, 8))
    truth = -math.log(0.05)
    ends = []
    for pool in pools:
        bootstrap = Bootstrap(40, resamples=400, seed=1)
        draws = bootstrap.percentiles(pool, 95.0)
        point = float(np.percentile(pool, 95.0))
        ends.append(percentile_ends(point, draws, POSITIVE, 40))
    low, high = np.array(ends).T
    assert 0.91 <= coverage(low, high, truth) <= 0.985


@pytest.mark.small
def test_pairing_cancels_the_luck_of_the_workloads() -> None:
    base = np.random.default_rng(5).exponential(size=(50, 1)) + 0.1
    low, high = ratio_ends(base, 2 * base, Bootstrap(50))
    assert low[0] == pytest.approx(0.5)
    assert high[0] == pytest.approx(0.5)
    same = ratio_ends(base, base, Bootstrap(50))
    assert same[0][0] == same[1][0] == 1.0


@pytest.mark.small
def test_with_too_few_workloads_there_is_none() -> None:
    for workloads, known in ((LEAST_WORKLOADS - 1, False), (LEAST_WORKLOADS, True)):
        values = np.random.default_rng(1).exponential(size=(workloads, 1))
        bootstrap = Bootstrap(workloads)
        for low, high in (
            mean_ends(values, limits(0, np.inf, 1), bootstrap),
            ratio_ends(values, values, bootstrap),
            percentile_ends(1.0, bootstrap.percentiles(values, 50.0), POSITIVE, workloads),
        ):
            assert np.isfinite(low).all() == np.isfinite(high).all() == known
    # One without a value is no workload of that metric.
    values[0] = np.nan
    assert np.isnan(mean_ends(values, limits(0, np.inf, 1), Bootstrap(LEAST_WORKLOADS))[0]).all()


@pytest.mark.small
def test_a_share_that_was_always_none_may_yet_be_some() -> None:
    # With 20 workloads: a share whose mean is above 17 % is 0 in all of them in 2.5 % of cases.
    nothing, everything = np.zeros((20, 1)), np.ones((20, 1))
    low, high = mean_ends(nothing, limits(0, 1, 1), Bootstrap(20))
    assert low[0] == 0.0
    assert high[0] == pytest.approx(1 - 0.025 ** (1 / 20))
    low, high = mean_ends(everything, limits(0, 1, 1), Bootstrap(20))
    assert low[0] == pytest.approx(0.025 ** (1 / 20))
    assert high[0] == 1.0
    low, high = mean_ends(np.full((20, 1), 5.0), limits(0, np.inf, 1), Bootstrap(20))
    assert low[0] == high[0] == 5.0


@pytest.mark.small
def test_infinite_values_have_no_interval() -> None:
    values = np.ones((20, 2))
    values[3, 0] = np.inf
    low, _ = mean_ends(values, limits(0, np.inf, 2), Bootstrap(20))
    assert np.isnan(low[0])
    assert low[1] == 1.0


@pytest.mark.small
def test_a_percentile_needs_tasks_beyond_it() -> None:
    assert enough_beyond(200, 95.0)
    assert not enough_beyond(199, 95.0)
    assert not enough_beyond(999, 99.0)
