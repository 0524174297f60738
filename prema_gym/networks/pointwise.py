"""What do the layers cost that touch each element a few times: residuals, norms, softmax?

All of it is vector work. Ops per element count one op for each multiply-add, comparison or table
lookup that the definition needs; fusing does better nowhere, so these are minimal counts.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, get_args

from prema_gym.checks import instance, list_of, one_of, whole
from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.sizes import Size
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import VectorWork, Work

SOFTMAX_OPS = 5
"""Running maximum, subtraction, exponential, running sum, division."""

_BATCH_NORM_OPS = 1  # x · scale + shift, both known before inference
_LAYER_NORM_OPS = 4  # sum; sum of squares; (x − mean) / deviation; · scale + shift
_RMS_NORM_OPS = 3  # sum of squares; x / root; · scale
_LRN_EXTRA_OPS = 3  # after the window's sum of squares: k + α/n · sum, its power −β, times x

_OPS = {"batch": _BATCH_NORM_OPS, "layer": _LAYER_NORM_OPS, "rms": _RMS_NORM_OPS}

NormalizationKind = Literal["batch", "layer", "lrn", "rms"]


@dataclass(frozen=True)
class Elementwise(Layer):
    """Equal tensors combined element by element: a residual sum, a product, or one activation.

    Costs one op less than there are operands, and one op for a single operand (an activation that
    stands alone, not after a matrix product). All operands are read.

    Attributes:
        operands: The tensors combined, all of one shape.

    Raises:
        ConfigError: No operand, or shapes differ.
    """

    operands: Annotated[tuple[Tensor, ...], list_of(instance(Tensor, "a Tensor"), distinct=False)]

    def _check(self) -> None:
        if len({tensor.shape for tensor in self.operands}) > 1:
            shapes = ", ".join(str(tensor.shape) for tensor in self.operands)
            raise ConfigError(f"operands must have one shape, got {shapes}")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """All operands."""
        return self.operands

    @property
    def output_shape(self) -> Shape:
        """The operands' shape."""
        return self.operands[0].shape

    def work(self, batch: int) -> tuple[Work, ...]:
        """One pass over all operands."""
        elements = self._checked_batch(batch) * self.output.elements
        operands = len(self.operands)
        return (VectorWork(self.name, elements, max(operands - 1, 1), operands * elements),)


@dataclass(frozen=True)
class ChannelScale(Layer):
    """A map times one factor a channel: what squeeze-and-excitation ends with. One op an element.

    Source: Hu et al., "Squeeze-and-excitation networks", CVPR 2018.

    Attributes:
        input: Shape (channels, height, width).
        factors: Shape (channels, 1, 1).

    Raises:
        ConfigError: The input is no map, or there is not one factor for each channel.
    """

    input: Tensor
    factors: Tensor

    def _check(self) -> None:
        if len(self.input.shape) != 3 or self.factors.shape != (self.input.shape[0], 1, 1):
            raise ConfigError(
                "inputs must be (channels, height, width) and (channels, 1, 1), got "
                f"{self.input.shape} and {self.factors.shape}"
            )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The map and its factors."""
        return (self.input, self.factors)

    @property
    def output_shape(self) -> Shape:
        """The map's shape."""
        return self.input.shape

    def work(self, batch: int) -> tuple[Work, ...]:
        """One pass over the map."""
        batch = self._checked_batch(batch)
        elements = batch * self.input.elements
        return (VectorWork(self.name, elements, 1, elements + batch * self.factors.elements),)


@dataclass(frozen=True)
class Rotary(Layer):
    """Rotary positions: pairs of features turned by an angle that depends on the place.

    Two ops an element: x · cos + partner · sin. The angles are tables read along the way.

    Source: Su et al., "RoFormer", 2021.

    Attributes:
        input: Shape (length, features).

    Raises:
        ConfigError: The input is not a sequence.
    """

    input: Tensor

    def _check(self) -> None:
        if len(self.input.shape) != 2:
            raise ConfigError(f"input must be (length, features), got {self.input.shape}")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one sequence read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """The input's shape."""
        return self.input.shape

    def work(self, batch: int) -> tuple[Work, ...]:
        """One pass."""
        elements = self._checked_batch(batch) * self.input.elements
        return (VectorWork(self.name, elements, 2, elements),)


@dataclass(frozen=True)
class Maxout(Layer):
    """Largest of each run of ``pieces`` neighbouring features: (features,) → (features/pieces,).

    Source: Goodfellow et al., "Maxout Networks", ICML 2013; the output layer of RNNsearch.

    Attributes:
        input: Shape (features,).
        pieces: Features in a run, >= 2, divides the features.

    Raises:
        ConfigError: The input is not a vector or ``pieces`` does not divide it.
    """

    input: Tensor
    _: KW_ONLY
    pieces: Annotated[int, whole(2)] = 2

    def _check(self) -> None:
        if len(self.input.shape) != 1 or self.input.features % self.pieces:
            raise ConfigError(
                f"input must be a vector that {self.pieces} pieces divide, got {self.input.shape}"
            )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one vector read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(features / pieces,)."""
        return (self.input.features // self.pieces,)

    def work(self, batch: int) -> tuple[Work, ...]:
        """``pieces`` − 1 comparisons per result."""
        elements = self._checked_batch(batch) * self.output.elements
        return (VectorWork(self.name, elements, self.pieces - 1, self.pieces * elements),)


@dataclass(frozen=True)
class Normalization(Layer):
    """A normalisation that stands alone (one after a convolution is folded: see ``Conv2d``).

    Attributes:
        input: Any shape; the first axis is the channel axis of ``batch``, the last one the feature
            axis of ``layer`` and ``rms``.
        kind: ``batch`` (scale and shift per channel), ``layer`` (statistics over the features,
            then scale and shift), ``lrn`` (local response over neighbouring channels), ``rms``
            (root of the mean square over the features, then scale; Zhang and Sennrich 2019).
        window: Channels summed by ``lrn``, >= 1; AlexNet and GoogLeNet use 5.

    Raises:
        UnknownNameError: The kind is not known.
        ConfigError: The input has no axis, or the window is not positive.
    """

    input: Tensor
    _: KW_ONLY
    kind: Annotated[NormalizationKind, one_of("kind", get_args(NormalizationKind))]
    window: Size = 5

    def _check(self) -> None:
        if not self.input.shape:
            raise ConfigError("a single token cannot be normalised")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one tensor read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """The input's shape."""
        return self.input.shape

    @property
    def weights(self) -> int:
        """Scale and shift; ``lrn`` has none, ``rms`` no shift."""
        if self.kind == "lrn":
            return 0
        if self.kind == "rms":
            return self.input.features
        return 2 * (self.input.shape[0] if self.kind == "batch" else self.input.features)

    @property
    def _ops_per_element(self) -> int:
        if self.kind == "lrn":
            return self.window + _LRN_EXTRA_OPS
        return _OPS[self.kind]

    def work(self, batch: int) -> tuple[Work, ...]:
        """One pass over the tensor and the parameters."""
        elements = self._checked_batch(batch) * self.input.elements
        return (VectorWork(self.name, elements, self._ops_per_element, elements + self.weights),)


@dataclass(frozen=True)
class Softmax(Layer):
    """Softmax over the last axis.

    Attributes:
        input: Shape with at least one axis.

    Raises:
        ConfigError: The input is a single token.
    """

    input: Tensor

    def _check(self) -> None:
        if not self.input.shape:
            raise ConfigError("a single token has no softmax")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one tensor read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """The input's shape."""
        return self.input.shape

    def work(self, batch: int) -> tuple[Work, ...]:
        """Five ops per element."""
        elements = self._checked_batch(batch) * self.input.elements
        return (VectorWork(self.name, elements, SOFTMAX_OPS, elements),)
