"""How large is the scorer network, and of which arrays is it made? Plain data.

What is computed with it: ``compiled.py`` and, where gradients are needed, ``torch_scorer.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
class ScorerShape:
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

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def shapes(self) -> Weights:
        """Shape of each array of :class:`Weights`, under its name."""
        f, h, u, m = NUM_FEATURES, self.hidden, self.readers, self.mechanisms
        shapes = ((f, m), (f, h), (h,), (3 * h + 1, u), (u,), (u, m))
        return Weights(*shapes)  # type: ignore[arg-type]  # tuples in the same order as the arrays

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    def split(self, vector: NDArray[np.floating]) -> Weights:
        """Cut a vector (size,) into arrays.

        Raises:
            ConfigError: It has another length.
        """
        if vector.shape != (self.size,):
            raise ConfigError(f"this network has {self.size} parameters, got {vector.shape}")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(vector.astype(np.float32), ends)
        return Weights(
            *(
                np.ascontiguousarray(part.reshape(shape))
                for part, shape in zip(parts, self.shapes, strict=True)
            )
        )

    def join(self, weights: Weights) -> NDArray[np.float64]:
        """The vector that :meth:`split` takes apart."""
        return np.concatenate([array.reshape(-1) for array in weights]).astype(np.float64)

    def initial(self, rng: np.random.Generator) -> Weights:
        """Random encoders of outputs of order one, and scores of zero: it prefers nobody."""
        arrays = []
        for name, shape in zip(Weights._fields, self.shapes, strict=True):
            spread = 1.0 / math.sqrt(shape[0]) if name in ("encode", "read") else 0.0
            arrays.append((spread * rng.standard_normal(shape)).astype(np.float32))
        return Weights(*arrays)


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
    for name, array, expected in zip(Weights._fields, weights, shape.shapes, strict=True):
        if array.shape != expected:
            raise ConfigError(f"weights {name!r} have the shape {array.shape}, expected {expected}")
        if not np.isfinite(array).all():
            raise ConfigError(f"weights {name!r} hold a value that is not finite")
    return shape
