"""ViT-B/16: Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021.

Variant: 224 × 224 images, 196 patches and the class token, as torchvision publishes it (vit_b_16):
17.56 G MACs and 86.57 M parameters.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d
from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor, concat
from prema_gym.networks.zoo.transformer import BlockShape, block, learned_positions, norm

_FEATURES = 768
_BLOCKS = 12
_SHAPE = BlockShape(heads=12, key_heads=12, hidden=3072)


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    image = Tensor((3, 224, 224))
    patches = net.add(Conv2d("patches", image, out_channels=_FEATURES, kernel=16, stride=16))
    token = net.add(Embedding("class-token", Tensor((1,)), vocabulary=1, features=_FEATURES))
    x = concat(token, patches.sequence())
    x = learned_positions(net, x, "positions", x.shape[0])
    for index in range(1, _BLOCKS + 1):
        x = block(net, x, f"block{index}", _SHAPE)
    x = norm(net, x, "norm", _SHAPE)
    x = net.add(Linear("head", x.place(), out_features=1000))  # of the class token
    net.add(Softmax("prob", x))
    return (net.phase(),)


VIT_B_16 = Network(
    name="vit-b-16",
    title="ViT-B/16 (224)",
    source="Dosovitskiy et al., ICLR 2021; torchvision's, 224 x 224",
    domain="vision",
    build=build,
)
