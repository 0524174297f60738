"""ResNet-50: He et al., "Deep residual learning for image recognition", CVPR 2016.

Variant: v1.5 as torchvision publishes it (the stride sits in the 3 × 3 convolution, not in the
first 1 × 1). 4.09 G MACs and 25.56 M parameters (torchvision's resnet50). Batch normalisation
follows every convolution and is folded.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Elementwise, Softmax
from prema_gym.networks.tensor import Tensor

_STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # (width, bottlenecks)
_EXPANSION = 4  # output channels of a bottleneck / its width


def _conv(name: str, x: Tensor, channels: int, kernel: int, stride: int = 1) -> Conv2d:
    return Conv2d(
        name,
        x,
        out_channels=channels,
        kernel=kernel,
        stride=stride,
        padding=kernel // 2,
        bias=False,
        batch_norm=True,
    )


def _bottleneck(net: LayerList, x: Tensor, name: str, width: int, stride: int) -> Tensor:
    """1 × 1, 3 × 3, 1 × 1, plus the input (projected where its shape differs)."""
    channels = width * _EXPANSION
    y = net.add(_conv(f"{name}/conv1", x, width, 1))
    y = net.add(_conv(f"{name}/conv2", y, width, 3, stride))
    y = net.add(_conv(f"{name}/conv3", y, channels, 1))
    shortcut = x
    if y.shape != x.shape:
        shortcut = net.add(_conv(f"{name}/shortcut", x, channels, 1, stride))
    return net.add(Elementwise(f"{name}/add", (y, shortcut)))


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = net.add(_conv("conv1", Tensor((3, 224, 224)), 64, 7, 2))
    x = net.add(Pool2d("pool1", x, kernel=3, stride=2, padding=1))
    for stage, (width, bottlenecks) in enumerate(_STAGES, start=2):
        for index in range(1, bottlenecks + 1):
            stride = 2 if index == 1 and stage > 2 else 1  # pool1 has reduced stage 2 already
            x = _bottleneck(net, x, f"conv{stage}-{index}", width, stride)
    x = net.add(Pool2d("pool5", x))
    x = net.add(Linear("fc", x.flatten(), out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


RESNET_50 = Network(
    name="resnet-50",
    title="ResNet-50 (v1.5)",
    source="He et al., CVPR 2016; torchvision's v1.5, 224 x 224",
    domain="vision",
    build=build,
)
