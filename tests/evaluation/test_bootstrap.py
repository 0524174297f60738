"""Bootstrap: exact against brute force, coverage on a known distribution, paired ratios."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from prema_gym.evaluation.bootstrap import Bootstrap, interval
from prema_gym.metrics import mean_of_known, times_better


@pytest.mark.small
def test_every_resample_draws_as_many_workloads_as_there_are() -> None:
    draws = Bootstrap(7, resamples=50, seed=1)
    assert draws.counts.shape == (50, 7)
    assert np.all(draws.counts.sum(axis=1) == 7)
    assert np.array_equal(draws.counts, Bootstrap(7, resamples=50, seed=1).counts)
    assert not np.array_equal(draws.counts, Bootstrap(7, resamples=50, seed=2).counts)


pools = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.one_of(st.floats(1, 100), st.just(np.nan), st.just(np.inf)),
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(pools, st.sampled_from([0.0, 50.0, 95.0, 99.0, 100.0]))
def test_resampled_statistics_equal_those_of_repeated_workloads(
    pool: np.ndarray, percent: float
) -> None:
    draws = Bootstrap(len(pool), resamples=8, seed=3)
    means, percentiles = draws.means(pool), draws.percentiles(pool, percent)
    for i, counts in enumerate(draws.counts):
        repeated = np.repeat(pool, counts, axis=0)
        np.testing.assert_allclose(means[i], mean_of_known(repeated.T), rtol=1e-12)
        values = np.sort(repeated[~np.isnan(repeated)])
        if values.size == 0:
            assert np.isnan(percentiles[i])
            continue
        rank = (values.size - 1) * percent / 100
        low, high = values[int(rank)], values[min(int(rank) + 1, values.size - 1)]
        expected = low if rank == int(rank) or low == high else low + (rank % 1) * (high - low)
        assert percentiles[i] == pytest.approx(expected, rel=1e-9)


def test_blocks_do_not_change_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    pool = rng.exponential(size=(40, 8))
    draws = Bootstrap(40, resamples=100)
    whole = draws.means(pool), draws.percentiles(pool, 95.0)
    monkeypatch.setattr("prema_gym.evaluation.bootstrap._BLOCK_ELEMENTS", 1000)
    np.testing.assert_allclose(draws.means(pool), whole[0], rtol=1e-13)
    assert np.array_equal(draws.percentiles(pool, 95.0), whole[1])


def test_interval_covers_the_known_mean_as_often_as_it_says() -> None:
    # 400 experiments of 60 exponential workloads of mean 1. The percentile interval covers slightly
    # less than its nominal 95 % on skewed data: 90 … 98 % must hold the true mean.
    rng = np.random.default_rng(7)
    experiments = rng.exponential(size=(60, 400))
    low, high = interval(Bootstrap(60, resamples=500, seed=11).means(experiments))
    coverage = np.mean((low <= 1.0) & (high >= 1.0))
    assert 0.90 <= coverage <= 0.98
    # … and its width is that of the normal interval, 2 · 1.96 · σ/√n.
    assert np.mean(high - low) == pytest.approx(2 * 1.96 / np.sqrt(60), rel=0.1)


def test_pairing_cancels_the_luck_of_the_workloads() -> None:
    rng = np.random.default_rng(5)
    base = rng.exponential(size=(50, 1)) + 0.1
    draws = Bootstrap(50)
    twice = times_better(draws.means(2 * base), draws.means(base), "higher")
    low, high = interval(twice)
    assert low[0] == high[0] == 0.5
    same = interval(times_better(draws.means(base), draws.means(base), "lower"))
    assert same[0][0] == same[1][0] == 1.0
