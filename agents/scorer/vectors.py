"""How do the arrays of a network become one vector for a search, and arrays again?"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError

W = TypeVar("W", bound=tuple[Any, ...])
"""A network's weights: a named tuple of float32 arrays."""


class Vectored(ABC, Generic[W]):
    """Sizes of a network whose weights can be laid end to end.

    Attributes:
        kind: The named tuple of its weights.
    """

    kind: ClassVar[Any]

    @property
    @abstractmethod
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """Shape of each array, in the order of ``kind``."""

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    def split(self, vector: NDArray[np.floating]) -> W:
        """Cut a vector (size,) into arrays.

        Raises:
            ConfigError: It has another length.
        """
        if vector.shape != (self.size,):
            raise ConfigError(f"this network has {self.size} parameters, got {vector.shape}")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(vector.astype(np.float32), ends)
        arrays = (
            np.ascontiguousarray(part.reshape(shape))
            for part, shape in zip(parts, self.shapes, strict=True)
        )
        made: W = self.kind(*arrays)
        return made

    def join(self, weights: tuple[Any, ...]) -> NDArray[np.float64]:
        """The vector that :meth:`split` takes apart."""
        return np.concatenate([array.reshape(-1) for array in weights]).astype(np.float64)

    def initial(self, rng: np.random.Generator) -> W:
        """Random encoders of outputs of order one, and scores of zero: it prefers nobody."""
        arrays = []
        for name, shape in zip(self.kind._fields, self.shapes, strict=True):
            spread = 1.0 / math.sqrt(shape[0]) if name in ("encode", "read") else 0.0
            arrays.append((spread * rng.standard_normal(shape)).astype(np.float32))
        made: W = self.kind(*arrays)
        return made


def check_arrays(weights: Any, shapes: Sequence[tuple[int, ...]]) -> None:  # noqa: ANN401
    """Hold a network's arrays against the shapes they should have.

    Args:
        weights: A named tuple of arrays.
        shapes: In its order.

    Raises:
        ConfigError: One has another shape, or holds a value that is not finite.
    """
    for name, array, expected in zip(weights._fields, weights, shapes, strict=True):
        if array.shape != expected:
            raise ConfigError(f"weights {name!r} have the shape {array.shape}, expected {expected}")
        if not np.isfinite(array).all():
            raise ConfigError(f"weights {name!r} hold a value that is not finite")
