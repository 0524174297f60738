"""What does one time step of a recurrent layer cost?

A cell's gates are a GEMM on the concatenated input and previous state, M = batch: at batch 1
every weight is loaded to be used once. The gates' nonlinearities are applied while the product
drains, like any activation; what follows is vector work. Unrolling over time is the phase's job
(:class:`prema_gym.networks.network.Phase`); a bidirectional layer is two cells.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.sizes import Size
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, VectorWork, Work


@dataclass(frozen=True)
class _Cell(Layer):
    """What both cells share: a vector in, the new hidden state out."""

    input: Tensor
    _: KW_ONLY
    hidden: Size
    bias: bool = True

    def _check(self) -> None:
        if len(self.input.shape) != 1:
            raise ConfigError(f"input must be one step's (features,), got {self.input.shape}")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The step's input; the state is the cell's own."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(hidden,)."""
        return (self.hidden,)

    @property
    def _depth(self) -> int:
        return self.input.features + self.hidden

    def _gate_weights(self, gates: int) -> int:
        return gates * self.hidden * (self._depth + int(self.bias))


@dataclass(frozen=True)
class LSTMCell(_Cell):
    """Long short-term memory, one step.

    One GEMM of M = batch, K = features + hidden, N = 4 · hidden gives input, forget and output
    gate and candidate; then c ← f·c + i·g and h = o·tanh(c): four ops for the two results of a
    unit, reading the four gate values and the old c.

    Attributes:
        input: Shape (features,).
        hidden: Units, >= 1.
        bias: Whether each gate has a bias.

    Source:
        Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000); no peepholes.
    """

    @property
    def weights(self) -> int:
        """Four gates."""
        return self._gate_weights(4)

    def work(self, batch: int) -> tuple[Work, ...]:
        """The gates' GEMM, then the new states."""
        batch = self._checked_batch(batch)
        units = batch * self.hidden
        return (
            Gemm(f"{self.name}/gates", batch, self._depth, 4 * self.hidden),
            VectorWork(f"{self.name}/state", 2 * units, 2, 5 * units),
        )


@dataclass(frozen=True)
class GRUCell(_Cell):
    """Gated recurrent unit, one step.

    The candidate needs the reset state, so there are two GEMMs, of N = 2 · hidden for the reset and
    update gates and N = hidden for the candidate, both with K = features + hidden; between them
    r·h (one op), after them h ← n + z·(h − n) (two ops).

    Attributes:
        input: Shape (features,).
        hidden: Units, >= 1.
        bias: Whether each gate has a bias.

    Source:
        Cho et al., EMNLP 2014 (reset before the product). Same MACs as the later variant.
    """

    @property
    def weights(self) -> int:
        """Two gates and the candidate."""
        return self._gate_weights(3)

    def work(self, batch: int) -> tuple[Work, ...]:
        """Gates, reset state, candidate, new state."""
        batch = self._checked_batch(batch)
        units = batch * self.hidden
        return (
            Gemm(f"{self.name}/gates", batch, self._depth, 2 * self.hidden),
            VectorWork(f"{self.name}/reset", units, 1, 2 * units),
            Gemm(f"{self.name}/candidate", batch, self._depth, self.hidden),
            VectorWork(f"{self.name}/state", units, 2, 3 * units),
        )


@dataclass(frozen=True)
class RNNCell(_Cell):
    """A plain recurrent unit, one step.

    One GEMM of M = batch, K = features + hidden, N = hidden; its nonlinearity is applied while the
    product drains, and there is nothing else.

    Attributes:
        input: Shape (features,).
        hidden: Units, >= 1.
        bias: Whether each unit has a bias.

    Source:
        Elman, "Finding structure in time", 1990.
    """

    @property
    def weights(self) -> int:
        """One matrix."""
        return self._gate_weights(1)

    def work(self, batch: int) -> tuple[Work, ...]:
        """The product."""
        return (Gemm(f"{self.name}/gates", self._checked_batch(batch), self._depth, self.hidden),)
