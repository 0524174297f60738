"""What does it cost to multiply features with each other, as recommenders do?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from prema_gym.checks import instance, list_of
from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, Work


@dataclass(frozen=True)
class PairwiseDot(Layer):
    """The dot product of each two of n vectors: n × (features,) → (n · (n − 1) / 2,).

    The array multiplies all vectors with all, (n × features)·(features × n) for each item of the
    batch; half of the square is kept.

    Source: Naumov et al., arXiv 1906.00091.

    Attributes:
        vectors: At least two, all of one length.

    Raises:
        ConfigError: Fewer, or their shapes differ or are no vectors.
    """

    vectors: Annotated[tuple[Tensor, ...], list_of(instance(Tensor, "a Tensor"), distinct=False)]

    def _check(self) -> None:
        shapes = {tensor.shape for tensor in self.vectors}
        if len(self.vectors) < 2 or len(shapes) > 1 or len(min(shapes)) != 1:
            listed = ", ".join(str(tensor.shape) for tensor in self.vectors)
            raise ConfigError(f"vectors must be at least two of one length, got {listed}")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """All vectors."""
        return self.vectors

    @property
    def output_shape(self) -> Shape:
        """(pairs,)."""
        count = len(self.vectors)
        return (count * (count - 1) // 2,)

    def work(self, batch: int) -> tuple[Work, ...]:
        """One square product for each item."""
        count = len(self.vectors)
        batch = self._checked_batch(batch)
        return (Gemm(self.name, count, self.vectors[0].features, count, batch),)
