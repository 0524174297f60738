"""What do an observation and an action look like, as Gymnasium's spaces?"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from prema_gym.simulator.observation import COLUMNS, ORDER


def observation_space(slots: int) -> spaces.Box:
    """Space of one observation table: float32 (slots, columns), bounds from the columns.

    A column without a bound has ±∞. Beside the bounds of the columns only what follows from
    ``slots`` counts, so that a policy trained on one scenario fits the environment of another.
    """
    low, high = (
        np.array([getattr(column, end) for column in COLUMNS], np.float32)
        for end in ("low", "high")
    )
    high[ORDER] = max(slots - 1, 1)  # Gymnasium's checker asks for room between the bounds
    # Gymnasium's own way to lay copies on a first axis.
    return batched(spaces.Box(low, high, dtype=np.float32), slots)


def action_space(slots: int, num_mechanisms: int) -> spaces.Discrete:
    """Space of one action: mechanism index · slots + slot."""
    return spaces.Discrete(slots * num_mechanisms)


def batched(space: spaces.Box, count: int) -> spaces.Box:
    """Space of ``count`` of them, on a first axis."""
    batch = batch_space(space, count)
    assert isinstance(batch, spaces.Box)
    # Bounds are printed once, not for every row: it then fits a screen.
    batch.low_repr, batch.high_repr = (
        "[" + " ".join(f"{bound:g}" for bound in bounds.reshape(-1, bounds.shape[-1])[0]) + "]"
        for bounds in (batch.low, batch.high)
    )
    return batch
