"""ResNets: He et al., "Deep residual learning for image recognition", CVPR 2016.

Variant: as torchvision publishes them, those of bottlenecks v1.5 (the stride sits in the 3 × 3
convolution, not in the first 1 × 1). Batch normalisation follows every convolution and is folded.

    layers    18      34      50      101     152
    G MACs    1.81    3.66    4.09    7.80    11.51
    M weights 11.69   21.80   25.56   44.55   60.19
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.networks.convolution import Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Elementwise, Softmax
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.zoo.blocks import conv_bn

_WIDTHS = (64, 128, 256, 512)
_EXPANSION = 4  # output channels of a bottleneck / its width


def _bottleneck(net: LayerList, x: Tensor, name: str, width: int, stride: int) -> Tensor:
    """1 × 1, 3 × 3, 1 × 1, plus the input (projected where its shape differs)."""
    y = net.add(conv_bn(f"{name}/conv1", x, width, 1))
    y = net.add(conv_bn(f"{name}/conv2", y, width, 3, stride))
    y = net.add(conv_bn(f"{name}/conv3", y, width * _EXPANSION, 1))
    return _plus_input(net, x, y, name, stride)


def _basic(net: LayerList, x: Tensor, name: str, width: int, stride: int) -> Tensor:
    """3 × 3 twice, plus the input (projected where its shape differs)."""
    y = net.add(conv_bn(f"{name}/conv1", x, width, 3, stride))
    y = net.add(conv_bn(f"{name}/conv2", y, width, 3))
    return _plus_input(net, x, y, name, stride)


def _plus_input(net: LayerList, x: Tensor, y: Tensor, name: str, stride: int) -> Tensor:
    shortcut = x
    if y.shape != x.shape:
        shortcut = net.add(conv_bn(f"{name}/shortcut", x, y.shape[0], 1, stride))
    return net.add(Elementwise(f"{name}/add", (y, shortcut)))


@dataclass(frozen=True)
class _Build:
    """Blocks in each of the four stages; from 50 layers on they are bottlenecks."""

    blocks: tuple[int, ...]
    is_deep: bool

    def __call__(self, input_length: int) -> tuple[Phase, ...]:
        """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
        add_block = _bottleneck if self.is_deep else _basic
        net = LayerList()
        x = net.add(conv_bn("conv1", Tensor((3, 224, 224)), 64, 7, 2))
        x = net.add(Pool2d("pool1", x, kernel=3, stride=2, padding=1))
        for stage, (width, blocks) in enumerate(zip(_WIDTHS, self.blocks, strict=True), start=2):
            for index in range(1, blocks + 1):
                stride = 2 if index == 1 and stage > 2 else 1  # pool1 has reduced stage 2 already
                x = add_block(net, x, f"conv{stage}-{index}", width, stride)
        x = net.add(Pool2d("pool5", x))
        x = net.add(Linear("fc", x.flatten(), out_features=1000))
        net.add(Softmax("prob", x))
        return (net.phase(),)


def _resnet(layers: int, blocks: tuple[int, ...]) -> Network:
    is_deep = layers >= 50
    return Network(
        name=f"resnet-{layers}",
        title=f"ResNet-{layers} (v1.5)" if is_deep else f"ResNet-{layers}",
        source=f"He et al., CVPR 2016; torchvision's{' v1.5' if is_deep else ''}, 224 x 224",
        domain="vision",
        build=_Build(blocks, is_deep),
    )


RESNET_18 = _resnet(18, (2, 2, 2, 2))
RESNET_34 = _resnet(34, (3, 4, 6, 3))
RESNET_50 = _resnet(50, (3, 4, 6, 3))
RESNET_101 = _resnet(101, (3, 4, 23, 3))
RESNET_152 = _resnet(152, (3, 8, 36, 3))
