"""Which tables are tasks drawn from, and how often does that give each task?

The law of drawing: a task's network, batch size, input length and output length are chosen one
after the other, each by a look-up at an equally likely place of a table. `generate` looks up; the
averages over a scenario (`accuracy`) take :func:`task_probabilities`. Both read the same tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prema_gym.workloads.fields import IntArray

FloatArray = npt.NDArray[np.float64]

# Entries of CatalogArrays.process.
ARRIVAL = 0  # position in `arrivals.ARRIVALS`
WINDOW_CYCLES = 1
BURST_SIZE = 2

# Columns of CatalogArrays.trace_asked: what a request of a trace asks for; -1: it is drawn.
ASKED_NETWORK = 0
ASKED_BATCH = 1  # position in batch_sizes
ASKED_PRIORITY = 2
ASKED_INPUT = 3  # [time steps]; the nearest input length is played
ASKED_OUTPUT = 4  # [output steps]
ASKED_ALLOWANCE = 5  # from arrival to deadline [cycles]
NUM_ASKED = 6
NOT_ASKED = -1  # number of a request that asks for nothing


class CatalogArrays(NamedTuple):
    """A catalog as compiled code takes it: read-only int64 arrays.

    Profiles are numbered by network, then batch size, then input length, so the profile of a
    network, batch and input-length position is ``first_profile[network, batch] + position``.
    """

    process: IntArray  # (3,): ARRIVAL, WINDOW_CYCLES, BURST_SIZE
    trace_cycles: IntArray  # (num_requests,) since the first request, increasing; (1,): no trace
    trace_asked: IntArray  # (num_requests, NUM_ASKED); (0, NUM_ASKED): nothing beside arrivals
    batch_sizes: IntArray  # (num_batches,) [inputs]
    priorities: IntArray  # (num_priorities,), each as often as its share
    network_draws: IntArray  # (shares,) networks, each as often as its share
    batch_draws: IntArray  # (shares,) positions in batch_sizes, likewise
    first_profile: IntArray  # (num_networks, num_batches)
    num_lengths: IntArray  # (num_networks,): input lengths of each network
    profile_network: IntArray  # (num_profiles,)
    profile_batch: IntArray  # (num_profiles,) [inputs]
    input_length: IntArray  # (num_profiles,) [time steps]
    output_lengths: IntArray  # (num_profiles, NUM_RATIOS), equally likely [output steps]
    fixed_cycles: IntArray  # (num_profiles,) true time outside the output steps
    step_cycles: IntArray  # (num_profiles,) true time of one output step
    predicted_length: IntArray  # (num_profiles,) expected output length [output steps]
    estimated_cycles: IntArray  # (num_profiles,) Algorithm 1 at the predicted length
    allowance_cycles: IntArray  # (num_profiles,) from arrival to deadline


def draws(values: IntArray, shares: tuple[int, ...] | None) -> IntArray:
    """A table to draw from: every place of it is as likely as the others.

    Args:
        values: What is drawn, int64 (n,).
        shares: How often each is, whole numbers (n,); None: equally often.

    Returns:
        int64, each value as often as its share: (sum of shares,), or (n,).
    """
    return values if shares is None else np.repeat(values, shares)


def task_probabilities(arrays: CatalogArrays) -> FloatArray:
    """How likely a drawn task is each of those there are.

    Args:
        arrays: The tables.

    Returns:
        float64 (num_profiles, NUM_RATIOS): task [p, r] has profile p and the output length
        ``output_lengths[p, r]``. They add up to 1.
    """
    num_networks, num_batches = arrays.first_profile.shape
    ways = np.outer(
        np.bincount(arrays.network_draws, minlength=num_networks),
        np.bincount(arrays.batch_draws, minlength=num_batches),
    )
    # Whole numbers up to the one division, so that equal shares give what no shares do.
    places = arrays.network_draws.size * arrays.batch_draws.size * arrays.output_lengths.shape[1]
    shares = ways / (places * arrays.num_lengths[:, None])
    per_profile = np.repeat(shares.ravel(), np.repeat(arrays.num_lengths, num_batches))
    return np.broadcast_to(per_profile[:, None], arrays.output_lengths.shape)
