"""What do the layers cost that slide a window over a map: convolutions and pooling?

A convolution is lowered to a GEMM (M = batch · output pixels, K = window · input channels of a
group, N = output channels of a group), once per group. A depthwise convolution would fill one
column of the array, so it runs on the vector unit. Source: fidelity.md, "Time of a layer".
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from prema_gym.checks import optional, whole
from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.sizes import IntOrPair, Padding, Pair, Size, as_pair, as_quad, pair_of
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, VectorWork, Work


def _check_map(tensor: Tensor) -> None:
    if len(tensor.shape) != 3:
        raise ConfigError(f"input must be (channels, height, width), got {tensor.shape}")


def _window_positions(
    size: int, window: int, stride: int, padding: tuple[int, int], *, ceil: bool = False
) -> int:
    """How many places a window takes along one axis of ``size`` pixels.

    Args:
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
            f"a window of {window} does not fit into {size} pixels padded by {before} and {after}"
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
    out_channels: Size
    kernel: Pair
    stride: Pair = 1
    padding: Padding = 0
    dilation: Pair = 1
    groups: Size = 1
    bias: bool = True
    batch_norm: bool = False

    def _check(self) -> None:
        _check_map(self.input)
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise ConfigError(
                f"groups must divide the {self.in_channels} input and the {self.out_channels} "
                f"output channels, got {self.groups}"
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
        kernel_h, kernel_w = as_pair(self.kernel)
        stride_h, stride_w = as_pair(self.stride)
        dilation_h, dilation_w = as_pair(self.dilation)
        top, left, bottom, right = as_quad(self.padding)
        span_h = dilation_h * (kernel_h - 1) + 1
        span_w = dilation_w * (kernel_w - 1) + 1
        return (
            self.out_channels,
            _window_positions(height, span_h, stride_h, (top, bottom)),
            _window_positions(width, span_w, stride_w, (left, right)),
        )

    @property
    def _taps(self) -> int:
        return math.prod(as_pair(self.kernel))

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
        batch = self._checked_batch(batch)
        pixels = batch * height * width
        if self.is_depthwise:
            # Filters are read once for the whole batch.
            read = batch * self.input.elements + self._filter_elements
            return (VectorWork(self.name, pixels * channels, self._taps, read),)
        depth = self._taps * (self.in_channels // self.groups)
        # Windows that overlap share their pixels; those that do not may leave some out.
        read = min(batch * self.input.elements // self.groups, pixels * depth)
        return (Gemm(self.name, pixels, depth, channels // self.groups, self.groups, read),)


@dataclass(frozen=True)
class UpConv2d(Layer):
    """Transposed convolution without overlap (channels, h, w) → (out_channels, h·scale, w·scale).

    Each pixel becomes scale × scale of them: a GEMM of M = batch · pixels, K = channels and
    N = out_channels · scale². Where the result goes is addressing.

    Attributes:
        input: Shape (channels, height, width).
        out_channels: Filters, >= 1.
        scale: Window and stride, one integer or (height, width).
        bias: Whether each output channel has a bias.

    Raises:
        ConfigError: The input is no map, or a size is out of range.
    """

    input: Tensor
    _: KW_ONLY
    out_channels: Size
    scale: Pair
    bias: bool = True

    def _check(self) -> None:
        _check_map(self.input)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one map read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(out_channels, height, width) of the result."""
        _, height, width = self.input.shape
        scale_h, scale_w = as_pair(self.scale)
        return self.out_channels, height * scale_h, width * scale_w

    @property
    def _columns(self) -> int:
        return self.out_channels * math.prod(as_pair(self.scale))

    @property
    def weights(self) -> int:
        """Filters and bias."""
        return self.input.shape[0] * self._columns + self.out_channels * int(self.bias)

    def work(self, batch: int) -> tuple[Work, ...]:
        """One GEMM."""
        channels, height, width = self.input.shape
        rows = self._checked_batch(batch) * height * width
        return (Gemm(self.name, rows, channels, self._columns),)


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
    kernel: Annotated[IntOrPair | None, optional(pair_of(whole()))] = None
    stride: Pair = 1
    padding: Padding = 0
    ceil_mode: bool = False

    def _check(self) -> None:
        _check_map(self.input)
        height, width = self._window
        object.__setattr__(self, "kernel", (height, width))
        top, left, bottom, right = as_quad(self.padding)
        # A window wholly inside the padding would have nothing to pool.
        if max(top, bottom) >= height or max(left, right) >= width:
            raise ConfigError(
                f"padding must be smaller than the kernel, got {self.padding} and {self.kernel}"
            )
        _ = self.output_shape  # the window fits, or this raises

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one map read."""
        return (self.input,)

    @property
    def _window(self) -> tuple[int, int]:
        _, height, width = self.input.shape
        return (height, width) if self.kernel is None else as_pair(self.kernel)

    @property
    def output_shape(self) -> Shape:
        """(channels, height, width) of the result."""
        channels, height, width = self.input.shape
        kernel_h, kernel_w = self._window
        stride_h, stride_w = as_pair(self.stride)
        top, left, bottom, right = as_quad(self.padding)
        ceil = self.ceil_mode
        return (
            channels,
            _window_positions(height, kernel_h, stride_h, (top, bottom), ceil=ceil),
            _window_positions(width, kernel_w, stride_w, (left, right), ceil=ceil),
        )

    def work(self, batch: int) -> tuple[Work, ...]:
        """One op per window element; the map is read once."""
        batch = self._checked_batch(batch)
        taps = math.prod(self._window)
        elements = batch * self.output.elements
        return (VectorWork(self.name, elements, taps, batch * self.input.elements),)
