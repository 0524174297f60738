"""How large is the balancer network, and of which arrays is it made? Plain data.

What is computed with it: ``balancer.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents.scorer.balancer_names import NUM_INPUTS, NUM_OF_ALL, NUM_PREFERENCES
from prema_gym.agents.scorer.shape import WIDTH
from prema_gym.agents.scorer.vectors import Vectored, check_arrays
from prema_gym.checks import check_fields, declared
from prema_gym.errors import ConfigError


class BalancerWeights(NamedTuple):
    """The parameters (F inputs, P preferences, G of all, H hidden, U readers), float32."""

    line: NDArray[np.float32]  # (F,) straight line from inputs to the score
    encode: NDArray[np.float32]  # (F + P, H)
    encode_bias: NDArray[np.float32]  # (H,)
    read: NDArray[np.float32]  # (3 H + G + P, U): own encoding, mean, maximum, of all, preferences
    read_bias: NDArray[np.float32]  # (U,)
    score: NDArray[np.float32]  # (U,)


@dataclass(frozen=True, kw_only=True)
class BalancerShape(Vectored[BalancerWeights]):
    """Sizes of the network.

    Attributes:
        hidden: Width of a task's encoding.
        readers: Width of the layer that reads a task in its context.
    """

    hidden: int = declared(8, WIDTH)
    readers: int = declared(8, WIDTH)

    kind = BalancerWeights
    mechanisms: ClassVar[int] = 1  # it displaces by a checkpoint alone

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each array of :class:`BalancerWeights`, in their order."""
        f, p, g, h, u = NUM_INPUTS, NUM_PREFERENCES, NUM_OF_ALL, self.hidden, self.readers
        return ((f,), (f + p, h), (h,), (3 * h + g + p, u), (u,), (u,))


def balancer_shape_of(weights: BalancerWeights) -> BalancerShape:
    """Sizes of a network from its arrays.

    Raises:
        ConfigError: The arrays do not fit together.
    """
    try:
        shape = BalancerShape(hidden=weights.encode.shape[1], readers=weights.read.shape[1])
    except IndexError:
        raise ConfigError("weights must be matrices and vectors of a balancer network") from None
    check_arrays(weights, shape.shapes)
    return shape
