"""What is Algorithm 1 off by, on average? One factor for each network and batch size.

Algorithm 1 overlooks vector work, latencies and edges of tiles, and by how much depends on the
network and the batch above all. A scheduler that keeps, for each of these pairs, the mean of a
finished task's true time over its estimate can correct the next one's. Here that mean is what it
comes to after many tasks: the exact expectation over what the scenario draws. So it depends on no
seed, no policy and no order, and is the same in every process. :func:`running_factors` is the mean
after a given list of tasks. PREMA had no such input (docs/fidelity.md).
"""

from __future__ import annotations

import numpy as np

from prema_gym.workloads.fields import IntArray
from prema_gym.workloads.tables import CatalogArrays, FloatArray, task_probabilities


def calibration(arrays: CatalogArrays) -> FloatArray:
    """True isolated time over Algorithm 1's, the mean over tasks of a profile's network and batch.

    Args:
        arrays: The scenario's tables.

    Returns:
        float64 (num_profiles,), above 0; equal for the input lengths of one network and batch.
    """
    group = _groups(arrays)
    truth = arrays.fixed_cycles[:, None] + arrays.step_cycles[:, None] * arrays.output_lengths
    weight = task_probabilities(arrays)
    ratio = truth / arrays.estimated_cycles[:, None]
    total = np.bincount(group, (weight * ratio).sum(axis=1))
    return np.asarray((total / np.bincount(group, weight.sum(axis=1)))[group])


def running_factors(arrays: CatalogArrays, profile: IntArray, isolated: IntArray) -> FloatArray:
    """The same from tasks that have finished; 1 where none of the network and batch has.

    Args:
        arrays: The scenario's tables.
        profile: The tasks' rows in the table of profiles, int64 (n,).
        isolated: Their true isolated times, int64 (n,) [cycles].

    Returns:
        float64 (num_profiles,).
    """
    group = _groups(arrays)
    ratio = isolated / arrays.estimated_cycles[profile]
    count = np.bincount(group[profile], minlength=group[-1] + 1)
    total = np.bincount(group[profile], ratio, minlength=group[-1] + 1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), 1.0)[group])


def _groups(arrays: CatalogArrays) -> IntArray:
    """Number each profile's network and batch, from 0, not decreasing: int64 (num_profiles,)."""
    num_batches = arrays.first_profile.shape[1]
    lengths = np.repeat(arrays.num_lengths, num_batches)
    return np.repeat(np.arange(lengths.size), lengths)
