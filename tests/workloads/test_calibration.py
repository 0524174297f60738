"""Calibration: the mean error of estimates, against means of what is drawn."""

from __future__ import annotations

import numpy as np

from prema_gym.workloads import compile_scenario, scenarios
from prema_gym.workloads.calibration import calibration, running_factors
from prema_gym.workloads.generate import sample_batch

CATALOG = compile_scenario(scenarios.get("paper"))


def test_the_factors_are_what_the_running_means_come_to() -> None:
    batch = sample_batch(CATALOG, range(4000))
    running = running_factors(CATALOG.arrays, batch.profile.ravel(), batch.isolated_cycles.ravel())
    assert np.allclose(running, CATALOG.table.calibration, rtol=0.03)


def test_a_running_mean_by_hand() -> None:
    arrays = CATALOG.arrays
    first = CATALOG.find_profile("alexnet", 4)
    estimated = int(arrays.estimated_cycles[first])
    factors = running_factors(
        arrays, np.array([first, first]), np.array([2 * estimated, 3 * estimated])
    )
    assert factors[first] == 2.5
    assert (np.delete(factors, first) == 1.0).all()


def test_one_factor_for_each_network_and_batch() -> None:
    factors, arrays = CATALOG.table.calibration, CATALOG.arrays
    kinds = np.stack([arrays.profile_network, arrays.profile_batch, factors.round(12)], axis=1)
    assert len(np.unique(kinds, axis=0)) == arrays.first_profile.size
    assert not factors.flags.writeable
    assert np.array_equal(factors, calibration(arrays))


def test_the_spread_of_errors_shrinks() -> None:
    batch = sample_batch(CATALOG, range(500))
    error = np.log(batch.isolated_cycles / batch.estimated_cycles)
    left = error - np.log(CATALOG.table.calibration[batch.profile])
    assert left.std() < error.std() / 3
