"""What do an observation and an action look like, as Gymnasium's spaces?"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from prema_gym.simulator.observation import COLUMNS


def observation_space(slots: int) -> spaces.Box:
    """Space of one observation table: float32 (slots, columns), bounds from the columns.

    Where a column has no bound the largest finite number stands for it: values are always finite,
    and Gymnasium's checker asks for finite bounds.
    """
    most = np.finfo(np.float32).max
    low, high = (
        np.clip([getattr(column, end) for column in COLUMNS], -most, most).astype(np.float32)
        for end in ("low", "high")
    )
    return spaces.Box(
        np.tile(low, (slots, 1)), np.tile(high, (slots, 1)), (slots, len(COLUMNS)), np.float32
    )


def action_space(slots: int, num_mechanisms: int) -> spaces.Discrete:
    """Space of one action: mechanism index · slots + slot."""
    return spaces.Discrete(slots * num_mechanisms)
