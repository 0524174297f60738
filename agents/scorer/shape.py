"""How large is the scorer network, and of which arrays is it made? Plain data.

What is computed with it: ``compiled.py`` and, where gradients are needed, ``torch_scorer.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents.scorer.vectors import Vectored, check_arrays
from prema_gym.checks import check_fields, declared, whole
from prema_gym.errors import ConfigError
from prema_gym.simulator.features import NUM_FEATURES

WIDTH = whole(1, 4096)
"""What the width of a layer may be."""


class Weights(NamedTuple):
    """The network's parameters (F features, H hidden, U readers, M mechanisms), float32."""

    line: NDArray[np.float32]  # (F, M) straight line from features to scores
    encode: NDArray[np.float32]  # (F, H)
    encode_bias: NDArray[np.float32]  # (H,)
    read: NDArray[np.float32]  # (3 H + 1, U): own encoding, mean, maximum, log of the count
    read_bias: NDArray[np.float32]  # (U,)
    score: NDArray[np.float32]  # (U, M)


@dataclass(frozen=True, kw_only=True)
class ScorerShape(Vectored[Weights]):
    """Sizes of the network.

    Attributes:
        hidden: Width of a task's encoding. Small by default, since evolution strategies slow down
            with every parameter.
        readers: Width of the layer that reads a task in its context.
        mechanisms: Mechanisms it scores, as many as the simulation offers.
    """

    hidden: int = declared(4, WIDTH)
    readers: int = declared(4, WIDTH)
    mechanisms: int = declared(1, WIDTH)

    kind = Weights

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each array of :class:`Weights`, in their order."""
        f, h, u, m = NUM_FEATURES, self.hidden, self.readers, self.mechanisms
        return ((f, m), (f, h), (h,), (3 * h + 1, u), (u,), (u, m))


def shape_of(weights: Weights) -> ScorerShape:
    """Sizes of a network from its arrays.

    Raises:
        ConfigError: The arrays do not fit together.
    """
    try:
        shape = ScorerShape(
            hidden=weights.encode.shape[1],
            readers=weights.read.shape[1],
            mechanisms=weights.line.shape[1],
        )
    except IndexError:
        raise ConfigError("weights must be matrices and vectors of a scorer network") from None
    check_arrays(weights, shape.shapes)
    return shape
