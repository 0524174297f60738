"""VGG-16: Simonyan and Zisserman, "Very deep convolutional networks", ICLR 2015.

Variant: configuration D. 15.47 G MACs and 138.36 M parameters (torchvision's vgg16).
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor

_BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # (channels, convolutions)


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = Tensor((3, 224, 224))
    for block, (channels, convolutions) in enumerate(_BLOCKS, start=1):
        for index in range(1, convolutions + 1):
            name = f"conv{block}-{index}"
            x = net.add(Conv2d(name, x, out_channels=channels, kernel=3, padding=1))
        x = net.add(Pool2d(f"pool{block}", x, kernel=2, stride=2))
    x = net.add(Linear("fc6", x.flatten(), out_features=4096))
    x = net.add(Linear("fc7", x, out_features=4096))
    x = net.add(Linear("fc8", x, out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


VGG_16 = Network(
    name="vgg-16",
    title="VGG-16",
    source="Simonyan and Zisserman, ICLR 2015, configuration D, 224 x 224",
    domain="vision",
    build=build,
)
