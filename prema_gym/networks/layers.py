"""What is a layer? A name, the tensors it reads and writes, and the work it asks of the machine.

The rules shared by all layers:

- An activation function (ReLU, sigmoid, tanh) and a bias are applied while a matrix product's
  result drains from the accumulator, so they add no work. Source: ours, as in published systolic
  accelerators, whose activation unit stands between accumulator and buffer.
- ``weights`` counts parameters as the trained model publishes them (with bias); what a GEMM loads
  is :attr:`~prema_gym.networks.work.Gemm.weight_elements`.
- ``macs`` counts multiply-accumulates of products and convolutions at batch 1, as papers do;
  pooling, element-wise and normalisation work is not counted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

from prema_gym.checks import check_fields, instance, whole
from prema_gym.errors import ConfigError, located
from prema_gym.networks.sizes import Name, Size
from prema_gym.networks.tensor import Producer, Shape, Tensor
from prema_gym.networks.work import Gemm, VectorWork, Work

__all__ = ["Embedding", "Gemm", "Layer", "Linear", "VectorWork", "Work"]


_INPUT = instance(Tensor, "a Tensor (wrap a shape as Tensor((…,)))")
_BATCH = whole()


@dataclass(frozen=True)
class Layer(ABC):
    """Base of all layers: immutable, hashable and picklable.

    A layer is checked when it is made: its fields, its inputs, and then what it adds to
    :meth:`_check`; messages begin with what and who it is.

    Attributes:
        name: Unique within its network.
    """

    name: Name

    def __post_init__(self) -> None:
        with located(self.where):
            check_fields(self)
            for tensor in self.inputs:
                _INPUT.check("an input", tensor)
            self._check()

    def _check(self) -> None:  # noqa: B027 - most layers have nothing to add
        """Raise ConfigError if the fields, each right for itself, do not fit together."""

    @property
    def where(self) -> str:
        """How error messages call this layer."""
        return f"{type(self).__name__} {self.name!r}"

    @property
    @abstractmethod
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the layer reads, parameters left out."""

    @property
    @abstractmethod
    def output_shape(self) -> Shape:
        """Shape of the result for one item of the batch."""

    @abstractmethod
    def work(self, batch: int) -> tuple[Work, ...]:
        """The work of one execution for ``batch`` items, in the order it runs.

        Raises:
            ConfigError: ``batch`` is not a positive integer.
        """

    @property
    def output(self) -> Tensor:
        """The result, as the next layer's input."""
        return Tensor(self.output_shape, (Producer(self.name, self.output_shape),))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one execution at batch 1."""
        return sum(work.macs for work in self.work(1) if isinstance(work, Gemm))

    @property
    def weights(self) -> int:
        """Number of trained parameters."""
        return 0

    def cache_elements(self, steps: int) -> int:
        """What it keeps in memory for one item after ``steps`` executions: keys and values.

        It lies in the machine's memory from step to step, so no checkpoint holds it; weights and
        results are not counted here.
        """
        return 0

    def _checked_batch(self, batch: int) -> int:
        with located(self.where):
            return int(_BATCH.check("batch", batch))


@dataclass(frozen=True)
class Linear(Layer):
    """Fully connected: (features,) → (out_features,), or the same at each place of a sequence.

    GEMM of M = batch · places, K = features, N = out_features.

    Attributes:
        input: Shape (features,) or (length, features).
        out_features: Width of the result, >= 1.
        bias: Whether each output has a bias (a parameter, but no work).
        tied: Whether its matrix is an embedding's table, which counts its parameters.

    Raises:
        ConfigError: The input is a map (flatten it first) or a size is not positive.
    """

    input: Tensor
    _: KW_ONLY
    out_features: Size
    bias: bool = True
    tied: bool = False

    def _check(self) -> None:
        if len(self.input.shape) not in (1, 2):
            raise ConfigError(
                "input must be (features,) or (length, features), "
                f"got {self.input.shape}; flatten a map first"
            )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one tensor read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(out_features,) or (length, out_features)."""
        return (*self.input.shape[:-1], self.out_features)

    @property
    def weights(self) -> int:
        """Matrix and bias."""
        return self.out_features * (self.input.features * (not self.tied) + int(self.bias))

    def work(self, batch: int) -> tuple[Work, ...]:
        """One GEMM."""
        places = math.prod(self.input.shape[:-1])
        rows = self._checked_batch(batch) * places
        return (Gemm(self.name, rows, self.input.features, self.out_features),)


@dataclass(frozen=True)
class Embedding(Layer):
    """Table look-up: one token ``()`` → (features,), or (length,) tokens → (length, features).

    The rows found are copied through the vector unit: one op and one read per element.

    Attributes:
        input: Shape () or (length,).
        vocabulary: Rows of the table, >= 1.
        features: Width of a row, >= 1.

    Raises:
        ConfigError: The input is not tokens or a size is not positive.
    """

    input: Tensor
    _: KW_ONLY
    vocabulary: Size
    features: Size

    def _check(self) -> None:
        if len(self.input.shape) > 1:
            raise ConfigError(
                f"input must be one token () or tokens (length,), got {self.input.shape}"
            )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tokens."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """One row for each token."""
        return (*self.input.shape, self.features)

    @property
    def weights(self) -> int:
        """The whole table."""
        return self.vocabulary * self.features

    def work(self, batch: int) -> tuple[Work, ...]:
        """One copy of the rows found."""
        elements = self._checked_batch(batch) * self.output.elements
        return (VectorWork(self.name, elements, 1, elements),)
