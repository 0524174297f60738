"""MobileNet v1: Howard et al., "MobileNets: efficient CNNs for mobile vision", arXiv 1704.04861.

Variant: width 1.0, 224 × 224. 569 M MACs and 4.2 M parameters (Table 8 of the paper). Batch
normalisation follows every convolution and is folded.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor

_BLOCKS = (  # (output channels, stride of the depthwise convolution), Table 1 of the paper
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
)


def _conv(name: str, x: Tensor, channels: int, kernel: int, stride: int, groups: int = 1) -> Conv2d:
    return Conv2d(
        name,
        x,
        out_channels=channels,
        kernel=kernel,
        stride=stride,
        padding=kernel // 2,
        groups=groups,
        bias=False,
        batch_norm=True,
    )


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = net.add(_conv("conv1", Tensor((3, 224, 224)), 32, 3, stride=2))
    for index, (channels, stride) in enumerate(_BLOCKS, start=2):
        width = x.shape[0]
        x = net.add(_conv(f"conv{index}/depthwise", x, width, 3, stride=stride, groups=width))
        x = net.add(_conv(f"conv{index}/pointwise", x, channels, 1, stride=1))
    x = net.add(Pool2d("pool", x))
    x = net.add(Linear("classifier", x.flatten(), out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


MOBILENET_V1 = Network(
    name="mobilenet-v1",
    title="MobileNet v1 (1.0, 224)",
    source="Howard et al., arXiv 1704.04861, width 1.0, 224 x 224",
    domain="vision",
    build=build,
)
