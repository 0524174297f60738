"""Which element-wise layers run on a product's results as they leave the array?

With ``vector_overlap = "pipelined"`` the vector unit works behind the array as the activation unit
does: on each row of results as it drains. An element-wise layer that directly follows a product
then loads nothing of what the product stored, and the product's own results are never stored. Its
other operands stream in meanwhile. Depthwise convolutions, pooling, softmax and normalisation stay
layers of their own: they need more than one row at a time, or were no product's results.

Source: ours (fidelity.md, "Time of a layer").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Network, Phase
from prema_gym.networks.pointwise import Elementwise
from prema_gym.networks.tensor import Producer, Shape, Tensor
from prema_gym.networks.work import Gemm, Work


@dataclass(frozen=True)
class Pipelined(Layer):
    """A product, and the element-wise layer that works on its results as they leave the array."""

    product: Layer
    follower: Elementwise

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What the product reads, and the other operands."""
        others = [one for one in self.follower.operands if not _made_by(one, self.product)]
        return (*self.product.inputs, *others)

    @property
    def output_shape(self) -> Shape:
        """That of the element-wise layer."""
        return self.follower.output_shape

    @property
    def macs(self) -> int:
        """Those of the product."""
        return self.product.macs

    @property
    def weights(self) -> int:
        """Those of the product."""
        return self.product.weights

    def work(self, batch: int) -> tuple[Work, ...]:
        """The product, with the element-wise work at its tail."""
        (gemm,) = self.product.work(batch)
        assert isinstance(gemm, Gemm)
        operands = self.follower.operands
        others = sum(not _made_by(one, self.product) for one in operands)
        return (replace(gemm, tail_ops=max(len(operands) - 1, 1), tail_inputs=others),)


def executed_phases(config: NPUConfig, network: Network, input_length: int) -> tuple[Phase, ...]:
    """The network's phases as the machine runs them.

    Args:
        config: The machine.
        network: The network.
        input_length: Input steps of a recurrent network; others ignore it.

    Raises:
        ConfigError: ``input_length`` is not a positive integer.
    """
    phases = network.phases(input_length)
    if config.vector_overlap == "none":
        return phases
    reads = {
        (made.layer, layer.name)
        for phase in phases
        for layer in phase.layers
        for tensor in layer.inputs
        for made in tensor.producers
    }
    readers = Counter(made for made, _ in reads)
    return tuple(replace(phase, layers=_joined(phase.layers, readers)) for phase in phases)


def _joined(layers: Sequence[Layer], readers: Counter[str]) -> tuple[Layer, ...]:
    """The layers, each product with the element-wise layer right behind it where there is one."""
    joined: list[Layer] = []
    for layer in layers:
        if joined and _follows(joined[-1], layer) and readers[joined[-1].name] == 1:
            assert isinstance(layer, Elementwise)
            product = joined.pop()
            joined.append(Pipelined(f"{product.name}+{layer.name}", product, layer))
        else:
            joined.append(layer)
    return tuple(joined)


def _follows(product: Layer, layer: Layer) -> bool:
    """Whether a layer works, element by element, on all results of the one product before it."""
    if not isinstance(layer, Elementwise):
        return False
    (*others, last) = product.work(1)
    return (
        not others
        and isinstance(last, Gemm)
        and last.tail_ops == 0
        and any(_made_by(operand, product) for operand in layer.operands)
        and layer.output.elements == last.output_elements
    )


def _made_by(tensor: Tensor, layer: Layer) -> bool:
    """Whether a tensor is a layer's results, all of them and nothing else."""
    return (
        tensor.producers == (Producer(layer.name, layer.output_shape),)
        and tensor.elements == layer.output.elements
    )
