"""Which seeds may be used for what? Training, selection and the final comparison never share one.

A seed names a workload (``prema_gym.workloads.generate.sample_batch``) or the stream of an
environment. The test range starts at 0, so whatever seed a user types into an evaluation is one
that no agent was trained or selected on. This is the only place that knows the ranges, and the
functions here are the only source of seeds in this package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError

# A billion each: more than any run draws, and all below 2^32, which old generators accept.
TEST = range(0, 1_000_000_000)
VALIDATION = range(1_000_000_000, 2_000_000_000)
TRAINING = range(2_000_000_000, 4_000_000_000)

# Seeds of one run's environments are spaced by this, so that neighbouring run seeds share none.
_ENVIRONMENTS_PER_RUN = 65_536


def training_workloads(run_seed: int, round_index: int, count: int) -> NDArray[np.int64]:
    """Seeds of the workloads of one round of training, int64 (count,), fresh in every round.

    Args:
        run_seed: The run's ``--seed``, at least 0.
        round_index: Number of the round, at least 0.
        count: How many.
    """
    rng = np.random.default_rng(np.random.SeedSequence((run_seed, round_index)))
    return rng.integers(TRAINING.start, TRAINING.stop, size=count, dtype=np.int64)


def training_environment(run_seed: int) -> int:
    """First seed of a training run's environments; sub-environment i takes this + i.

    Args:
        run_seed: The run's ``--seed``.

    Raises:
        ConfigError: The seed would leave the training range.
    """
    most = len(TRAINING) // _ENVIRONMENTS_PER_RUN - 1
    if not 0 <= run_seed <= most:
        raise ConfigError(f"seed must be a whole number from 0 to {most}, got {run_seed}")
    return TRAINING.start + run_seed * _ENVIRONMENTS_PER_RUN


def validation_workloads(count: int, first: int = 0) -> NDArray[np.int64]:
    """Seeds of the workloads on which checkpoints are compared, the same for every run: (count,).

    Args:
        count: How many.
        first: How many to pass over.

    Raises:
        ConfigError: They are not in the range.
    """
    if count < 1 or not 0 <= first <= len(VALIDATION) - count:
        raise ConfigError(f"validation takes at least 1 workload, got {count} after {first}")
    start = VALIDATION.start + first
    return np.arange(start, start + count, dtype=np.int64)


def check_test(seed: int, workloads: int) -> None:
    """Refuse a final comparison on seeds that training or selection may have seen.

    Raises:
        ConfigError: A seed from ``seed`` to ``seed + workloads − 1`` is not a test seed.
    """
    if seed not in TEST or seed + workloads - 1 not in TEST:
        raise ConfigError(
            f"test seeds are 0 to {TEST.stop - 1}, got {seed} to {seed + workloads - 1}: "
            "the others belong to training and validation"
        )
