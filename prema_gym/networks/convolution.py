"""What do the layers cost that slide a window over a map: convolutions and pooling?

A convolution is lowered to a GEMM (M = batch · output pixels, K = window · input channels of a
group, N = output channels of a group), once per group. A depthwise convolution would fill one
column of the array, so it runs on the vector unit. Source: fidelity.md, "Time of a layer".
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from prema_gym.checks import (
    IntOrPair,
    Padding,
    require_int,
    require_padding,
    require_pair,
)
from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, VectorWork, Work


def _require_map(layer: Layer, tensor: Tensor) -> None:
    if len(tensor.shape) != 3:
        raise ConfigError(
            f"{layer.where}: input must be (channels, height, width), got {tensor.shape}"
        )


def _window_positions(
    where: str, size: int, window: int, stride: int, padding: tuple[int, int], *, ceil: bool = False
) -> int:
    """How many places a window takes along one axis of ``size`` pixels.

    Args:
        where: Who asks, for the message.
        size: Pixels of the axis.
        window: Pixels the window spans (dilation included).
        stride: Pixels between two places.
        padding: Zeros added (before, after).
        ceil: Round up instead of down, so that the last window may hang over the padded edge;
            it must still start before the end of the map.

    Raises:
        ConfigError: The window is larger than the padded axis.
    """
    before, after = padding
    room = size + before + after - window
    if room < 0:
        raise ConfigError(
            f"{where}: a window of {window} does not fit into {size} pixels padded by "
            f"{before} and {after}"
        )
    if not ceil:
        return room // stride + 1
    positions = -(-room // stride) + 1
    starts_outside = (positions - 1) * stride >= size + before
    return positions - 1 if starts_outside else positions


@dataclass(frozen=True)
class Conv2d(Layer):
    """Two-dimensional convolution (channels, h, w) → (out_channels, h', w').

    Attributes:
        input: Shape (channels, height, width).
        out_channels: Filters, >= 1.
        kernel: Window, one integer or (height, width).
        stride: Step, one integer or (height, width).
        padding: Zeros: one integer, (height, width) or (top, left, bottom, right).
        dilation: Distance of the window's taps, one integer or (height, width).
        groups: Independent groups of channels; divides both channel counts. With as many groups as
            input channels (more than one) the convolution is depthwise: vector work.
        bias: Whether each output channel has a bias.
        batch_norm: Whether a batch normalisation follows. It is folded into the filters, so it
            costs no work; its scale and shift count as parameters, as published figures do.

    Raises:
        ConfigError: A size is out of range, groups do not divide, or the window does not fit.
    """

    input: Tensor
    _: KW_ONLY
    out_channels: int
    kernel: IntOrPair
    stride: IntOrPair = 1
    padding: Padding = 0
    dilation: IntOrPair = 1
    groups: int = 1
    bias: bool = True
    batch_norm: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_map(self, self.input)
        require_int(self.where, "out_channels", self.out_channels)
        require_int(self.where, "groups", self.groups)
        # One spelling for each meaning, so that equal layers compare equal.
        for field in ("kernel", "stride", "dilation"):
            object.__setattr__(self, field, require_pair(self.where, field, getattr(self, field)))
        object.__setattr__(self, "padding", require_padding(self.where, self.padding))
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise ConfigError(
                f"{self.where}: groups={self.groups} must divide the {self.in_channels} input "
                f"and the {self.out_channels} output channels"
            )
        _ = self.output_shape  # the window fits, or this raises

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one map read."""
        return (self.input,)

    @property
    def in_channels(self) -> int:
        """Channels of the input map."""
        return self.input.shape[0]

    @property
    def is_depthwise(self) -> bool:
        """Whether each input channel has its own filters."""
        return self.groups == self.in_channels > 1

    @property
    def output_shape(self) -> Shape:
        """(out_channels, height, width) of the result."""
        _, height, width = self.input.shape
        kernel_h, kernel_w = require_pair(self.where, "kernel", self.kernel)
        stride_h, stride_w = require_pair(self.where, "stride", self.stride)
        dilation_h, dilation_w = require_pair(self.where, "dilation", self.dilation)
        top, left, bottom, right = require_padding(self.where, self.padding)
        span_h = dilation_h * (kernel_h - 1) + 1
        span_w = dilation_w * (kernel_w - 1) + 1
        return (
            self.out_channels,
            _window_positions(self.where, height, span_h, stride_h, (top, bottom)),
            _window_positions(self.where, width, span_w, stride_w, (left, right)),
        )

    @property
    def _taps(self) -> int:
        return math.prod(require_pair(self.where, "kernel", self.kernel))

    @property
    def _filter_elements(self) -> int:
        return self._taps * (self.in_channels // self.groups) * self.out_channels

    @property
    def weights(self) -> int:
        """Filters, bias, and the batch normalisation's scale and shift."""
        return self._filter_elements + self.out_channels * (int(self.bias) + 2 * self.batch_norm)

    @property
    def macs(self) -> int:
        """Output pixels × filter elements, whichever unit runs them."""
        _, height, width = self.output_shape
        return height * width * self._filter_elements

    def work(self, batch: int) -> tuple[Work, ...]:
        """A GEMM per group, or vector work if depthwise."""
        channels, height, width = self.output_shape
        pixels = self._require_batch(batch) * height * width
        if self.is_depthwise:
            # Filters are read once for the whole batch.
            read = batch * self.input.elements + self._filter_elements
            return (VectorWork(self.name, pixels * channels, self._taps, read),)
        depth = self._taps * (self.in_channels // self.groups)
        return (Gemm(self.name, pixels, depth, channels // self.groups, self.groups),)


@dataclass(frozen=True)
class Pool2d(Layer):
    """Pooling (channels, h, w) → (channels, h', w'), maximum or average.

    Vector work of one op (comparison or addition) per window element: for an average over *t*
    taps, t − 1 additions and one scaling; for a maximum, one read and t − 1 comparisons.

    Attributes:
        input: Shape (channels, height, width).
        kernel: Window, one integer or (height, width); None is the whole map (global pooling).
        stride: Step, one integer or (height, width).
        padding: As in :class:`Conv2d`, but smaller than the window.
        ceil_mode: Round the number of windows up (Caffe's rule, which AlexNet and GoogLeNet use).

    Raises:
        ConfigError: A size is out of range, or the window does not fit.
    """

    input: Tensor
    _: KW_ONLY
    kernel: IntOrPair | None = None
    stride: IntOrPair = 1
    padding: Padding = 0
    ceil_mode: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_map(self, self.input)
        whole = (self.input.shape[1], self.input.shape[2])
        kernel = whole if self.kernel is None else require_pair(self.where, "kernel", self.kernel)
        padding = require_padding(self.where, self.padding)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "stride", require_pair(self.where, "stride", self.stride))
        object.__setattr__(self, "padding", padding)
        # A window wholly inside the padding would have nothing to pool.
        if max(padding[0], padding[2]) >= kernel[0] or max(padding[1], padding[3]) >= kernel[1]:
            raise ConfigError(f"{self.where}: padding {padding} must be smaller than {kernel}")
        _ = self.output_shape  # the window fits, or this raises

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one map read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(channels, height, width) of the result."""
        channels, height, width = self.input.shape
        kernel_h, kernel_w = require_pair(self.where, "kernel", self.kernel)
        stride_h, stride_w = require_pair(self.where, "stride", self.stride)
        top, left, bottom, right = require_padding(self.where, self.padding)
        ceil = self.ceil_mode
        return (
            channels,
            _window_positions(self.where, height, kernel_h, stride_h, (top, bottom), ceil=ceil),
            _window_positions(self.where, width, kernel_w, stride_w, (left, right), ceil=ceil),
        )

    def work(self, batch: int) -> tuple[Work, ...]:
        """One op per window element; the map is read once."""
        self._require_batch(batch)
        taps = math.prod(require_pair(self.where, "kernel", self.kernel))
        elements = batch * self.output.elements
        return (VectorWork(self.name, elements, taps, batch * self.input.elements),)
