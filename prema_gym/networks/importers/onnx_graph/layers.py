"""What do imported graphs hold that the zoo's networks do not?

Products of two activations, as attention written out in operators has them, and layers that run for
several inputs at once because the file fixes its batch.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from prema_gym.networks.layers import Layer
from prema_gym.networks.sizes import Size
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, Work


@dataclass(frozen=True)
class Product(Layer):
    """``count`` matrix products (rows × depth)·(depth × columns), all operands computed per item.

    Attributes:
        rows: Rows of the streaming operand, >= 1.
        depth: Inner size, >= 1.
        columns: Columns of the stationary operand, >= 1.
        count: Products of this size for one item, >= 1.

    Raises:
        ConfigError: A size is not a positive integer.
    """

    _: KW_ONLY
    rows: Size
    depth: Size
    columns: Size
    count: Size = 1

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Streaming and stationary operand, from outside: a file's tensors are not followed."""
        left = Tensor((self.count, self.rows, self.depth))
        return left, Tensor((self.count, self.depth, self.columns))

    @property
    def output_shape(self) -> Shape:
        """(count, rows, columns)."""
        return self.count, self.rows, self.columns

    def work(self, batch: int) -> tuple[Work, ...]:
        """One GEMM for each product and item."""
        count = self._checked_batch(batch) * self.count
        return (Gemm(self.name, self.rows, self.depth, self.columns, count),)


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
