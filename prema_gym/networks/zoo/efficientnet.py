"""EfficientNet-B0: Tan and Le, "EfficientNet: rethinking model scaling for CNNs", ICML 2019.

Variant: Table 1 of the paper, 224 × 224, as torchvision publishes it (efficientnet_b0): 0.39 G MACs
and 5.29 M parameters (Table 2 of the paper: 0.39 G, 5.3 M).
"""

from __future__ import annotations

from prema_gym.networks.convolution import Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.zoo.blocks import conv_bn, inverted_residual

_STAGES = (  # (widening, kernel, stride of the first block, output channels, blocks)
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = net.add(conv_bn("conv1", Tensor((3, 224, 224)), 32, 3, stride=2))
    for stage, (widening, kernel, first_stride, channels, blocks) in enumerate(_STAGES, start=1):
        for block in range(1, blocks + 1):
            width = x.shape[0]
            x = inverted_residual(
                net,
                x,
                f"stage{stage}-{block}",
                expanded=widening * width,
                channels=channels,
                kernel=kernel,
                stride=first_stride if block == 1 else 1,
                squeezed=width // 4,  # a quarter of the block's input, not of what is inside
            )
    x = net.add(conv_bn("conv-last", x, 1280, 1))
    x = net.add(Pool2d("pool", x))
    x = net.add(Linear("classifier", x.flatten(), out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


EFFICIENTNET_B0 = Network(
    name="efficientnet-b0",
    title="EfficientNet-B0",
    source="Tan and Le, ICML 2019, Table 1, 224 x 224",
    domain="vision",
    build=build,
)
