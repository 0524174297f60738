"""What do imported graphs hold that the zoo's networks do not?

Products of two activations, as attention written out in operators has them; convolutions over any
number of axes; passes of the vector unit; layers that run for several inputs at once because the
file fixes its batch, and layers whose weights another one has.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.sizes import Size, SizeOrZero
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, VectorWork, Work


@dataclass(frozen=True)
class Product(Layer):
    """``count`` matrix products (rows × depth)·(depth × columns), every operand one of its own.

    Attributes:
        rows: Rows of the streaming operand, >= 1.
        depth: Inner size, >= 1.
        columns: Columns of the stationary operand, >= 1.
        count: Products of this size for one item, >= 1.
        stored: Elements of an operand that are weights, >= 0.

    Raises:
        ConfigError: A size is not a positive integer.
    """

    _: KW_ONLY
    rows: Size
    depth: Size
    columns: Size
    count: Size = 1
    stored: SizeOrZero = 0

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Streaming and stationary operand, from outside: a file's tensors are not followed."""
        left = Tensor((self.count, self.rows, self.depth))
        return left, Tensor((self.count, self.depth, self.columns))

    @property
    def output_shape(self) -> Shape:
        """(count, rows, columns)."""
        return self.count, self.rows, self.columns

    @property
    def weights(self) -> int:
        """Of an operand that is stored."""
        return self.stored

    def work(self, batch: int) -> tuple[Work, ...]:
        """One GEMM for each product and item."""
        count = self._checked_batch(batch) * self.count
        return (Gemm(self.name, self.rows, self.depth, self.columns, count),)


@dataclass(frozen=True)
class Experts(Layer):
    """One product of a mixture of experts: each token with the weights of the few that it chose.

    Which ones a token chooses is known only when the network runs: tokens are spread evenly, as
    routers are trained to. That changes no multiply-accumulate, only which weights are loaded.

    Attributes:
        tokens: Tokens of one item, >= 1.
        chosen: Experts for each of them, >= 1 and at most ``experts``.
        experts: All there are, >= 1.
        depth: Inner size, >= 1.
        columns: Width of a result, >= 1.
        bias: Parameters besides the matrices, >= 0.

    Raises:
        ConfigError: A size is not a positive integer, or more are chosen than there are.
    """

    _: KW_ONLY
    tokens: Size
    chosen: Size
    experts: Size
    depth: Size
    columns: Size
    bias: SizeOrZero = 0

    def _check(self) -> None:
        if self.chosen > self.experts:
            raise ConfigError(f"{self.chosen} of {self.experts} experts cannot be chosen")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tokens."""
        return (Tensor((self.tokens, self.depth)),)

    @property
    def output_shape(self) -> Shape:
        """(tokens, chosen, columns)."""
        return self.tokens, self.chosen, self.columns

    @property
    def weights(self) -> int:
        """Those of all experts."""
        return self.experts * self.depth * self.columns + self.bias

    def work(self, batch: int) -> tuple[Work, ...]:
        """A GEMM for each expert that is chosen; some have a row more than the others."""
        rows = self._checked_batch(batch) * self.tokens * self.chosen
        busy = min(self.experts, rows)
        each, more = divmod(rows, busy)
        sizes = ((each + 1, more), (each, busy - more))
        return tuple(
            Gemm(self.name, size, self.depth, self.columns, count) for size, count in sizes if count
        )


@dataclass(frozen=True)
class Lowered(Layer):
    """A convolution as the products that it is lowered to: one for each group of channels.

    With one channel a group (and more than one group) it is depthwise: vector work, as
    :class:`~prema_gym.networks.convolution.Conv2d` has it.

    Attributes:
        input: The map, whatever its axes.
        rows: Places of the window for one item, >= 1.
        depth: Taps of the window times input channels of a group, >= 1.
        columns: Output channels of a group, >= 1.
        groups: Groups of channels, >= 1.
        channels: Input channels of a group, >= 1.
        bias: Parameters besides the filters, >= 0.

    Raises:
        ConfigError: A size is not a positive integer.
    """

    input: Tensor
    _: KW_ONLY
    rows: Size
    depth: Size
    columns: Size
    groups: Size = 1
    channels: Size = 1
    bias: SizeOrZero = 0

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one map read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(channels, places)."""
        return self.groups * self.columns, self.rows

    @property
    def macs(self) -> int:
        """Those of all groups, whichever unit runs them."""
        return self.rows * self._filter_elements

    @property
    def weights(self) -> int:
        """Filters and bias."""
        return self._filter_elements + self.bias

    @property
    def _filter_elements(self) -> int:
        return self.groups * self.depth * self.columns

    def work(self, batch: int) -> tuple[Work, ...]:
        """A GEMM per group, or vector work if depthwise."""
        batch = self._checked_batch(batch)
        if self.channels == 1 < self.groups:
            elements = batch * self.output.elements
            read = batch * self.input.elements + self._filter_elements
            return (VectorWork(self.name, elements, self.depth, read),)
        rows = batch * self.rows
        read = min(max(batch * self.input.elements // self.groups, 1), rows * self.depth)
        return (Gemm(self.name, rows, self.depth, self.columns, self.groups, read),)


@dataclass(frozen=True)
class Pass(Layer):
    """One pass of the vector unit over a tensor.

    Attributes:
        input: All that is read for one item.
        results: Elements written for one item, >= 1.
        steps: Ops for each of them, >= 1.

    Raises:
        ConfigError: A size is not a positive integer.
    """

    input: Tensor
    _: KW_ONLY
    results: Size
    steps: Size = 1

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What is read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """(results,)."""
        return (self.results,)

    def work(self, batch: int) -> tuple[Work, ...]:
        """One pass."""
        batch = self._checked_batch(batch)
        return (
            VectorWork(self.name, batch * self.results, self.steps, batch * self.input.elements),
        )


@dataclass(frozen=True)
class Repeated(Layer):
    """A layer that runs for ``items`` inputs where its network has one.

    Attributes:
        layer: What runs; it has the same name.
        items: Inputs of the layer for one of the network, >= 1.

    Raises:
        ConfigError: ``items`` is not a positive integer.
    """

    layer: Layer
    items: Size

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The layer's own: of one item."""
        return self.layer.inputs

    @property
    def output_shape(self) -> Shape:
        """(items, the layer's result …)."""
        return self.items, *self.layer.output_shape

    @property
    def macs(self) -> int:
        """Those of all items."""
        return self.items * self.layer.macs

    @property
    def weights(self) -> int:
        """The layer's own: items share them."""
        return self.layer.weights

    def work(self, batch: int) -> tuple[Work, ...]:
        """The layer's, for a batch ``items`` times as large."""
        return self.layer.work(self._checked_batch(batch) * self.items)


@dataclass(frozen=True)
class Sharing(Layer):
    """A layer some of whose weights are those of a layer before it, and not counted again.

    Attributes:
        layer: What runs; it has the same name.
        shared: Its weights that count elsewhere, >= 0.

    Raises:
        ConfigError: ``shared`` is negative.
    """

    layer: Layer
    shared: SizeOrZero

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The layer's own."""
        return self.layer.inputs

    @property
    def output_shape(self) -> Shape:
        """The layer's own."""
        return self.layer.output_shape

    @property
    def macs(self) -> int:
        """The layer's own."""
        return self.layer.macs

    @property
    def weights(self) -> int:
        """Those that only this layer has."""
        return max(self.layer.weights - self.shared, 0)

    def work(self, batch: int) -> tuple[Work, ...]:
        """The layer's own: the weights are loaded again."""
        return self.layer.work(batch)
