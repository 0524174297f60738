"""Bootstrap: exact against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from prema_gym.evaluation.bootstrap import Bootstrap
from prema_gym.metrics import mean_of_known


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
