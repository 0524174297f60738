"""MobileNets: Howard et al. 2017 (v1), Sandler et al. 2018 (v2), Howard et al. 2019 (v3).

v1, arXiv 1704.04861: width 1.0, 224 × 224. 569 M MACs and 4.2 M parameters (Table 8 of the paper).
v2, CVPR 2018, Table 2: 301 M and 3.50 M. v3, ICCV 2019, Tables 1 and 2: large 217 M and 5.48 M,
small 57 M and 2.54 M; those of v2 and v3 as torchvision publishes them (mobilenet_v2,
mobilenet_v3_large, mobilenet_v3_small). Batch normalisation follows every convolution but those of
squeeze-and-excitation and is folded.
"""

from __future__ import annotations

from typing import NamedTuple

from prema_gym.networks.convolution import Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.zoo.blocks import conv_bn, inverted_residual

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

_V2_BLOCKS = (  # (widening, output channels, blocks, stride of the first)
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class _Row(NamedTuple):
    """A row of the tables of v3."""

    kernel: int
    expanded: int
    channels: int
    has_squeeze: bool
    stride: int


_V3_LARGE = (
    _Row(3, 16, 16, False, 1),
    _Row(3, 64, 24, False, 2),
    _Row(3, 72, 24, False, 1),
    _Row(5, 72, 40, True, 2),
    _Row(5, 120, 40, True, 1),
    _Row(5, 120, 40, True, 1),
    _Row(3, 240, 80, False, 2),
    _Row(3, 200, 80, False, 1),
    _Row(3, 184, 80, False, 1),
    _Row(3, 184, 80, False, 1),
    _Row(3, 480, 112, True, 1),
    _Row(3, 672, 112, True, 1),
    _Row(5, 672, 160, True, 2),
    _Row(5, 960, 160, True, 1),
    _Row(5, 960, 160, True, 1),
)
_V3_SMALL = (
    _Row(3, 16, 16, True, 2),
    _Row(3, 72, 24, False, 2),
    _Row(3, 88, 24, False, 1),
    _Row(5, 96, 40, True, 2),
    _Row(5, 240, 40, True, 1),
    _Row(5, 240, 40, True, 1),
    _Row(5, 120, 48, True, 1),
    _Row(5, 144, 48, True, 1),
    _Row(5, 288, 96, True, 2),
    _Row(5, 576, 96, True, 1),
    _Row(5, 576, 96, True, 1),
)


def build(input_length: int) -> tuple[Phase, ...]:
    """v1. One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = net.add(conv_bn("conv1", Tensor((3, 224, 224)), 32, 3, stride=2))
    for index, (channels, stride) in enumerate(_BLOCKS, start=2):
        width = x.shape[0]
        x = net.add(conv_bn(f"conv{index}/depthwise", x, width, 3, stride=stride, groups=width))
        x = net.add(conv_bn(f"conv{index}/pointwise", x, channels, 1))
    x = net.add(Pool2d("pool", x))
    x = net.add(Linear("classifier", x.flatten(), out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


def build_v2(input_length: int) -> tuple[Phase, ...]:
    """v2. One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = net.add(conv_bn("conv1", Tensor((3, 224, 224)), 32, 3, stride=2))
    for stage, (widening, channels, blocks, first_stride) in enumerate(_V2_BLOCKS, start=1):
        for block in range(1, blocks + 1):
            x = inverted_residual(
                net,
                x,
                f"stage{stage}-{block}",
                expanded=widening * x.shape[0],
                channels=channels,
                kernel=3,
                stride=first_stride if block == 1 else 1,
            )
    x = net.add(conv_bn("conv-last", x, 1280, 1))
    x = net.add(Pool2d("pool", x))
    x = net.add(Linear("classifier", x.flatten(), out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


def _eighths(channels: int) -> int:
    """The nearest multiple of 8, or the next one where that would lose more than a tenth."""
    nearest = max(8, (channels + 4) // 8 * 8)
    return nearest + 8 if 10 * nearest < 9 * channels else nearest


def _v3(rows: tuple[_Row, ...], hidden: int) -> tuple[Phase, ...]:
    net = LayerList()
    x = net.add(conv_bn("conv1", Tensor((3, 224, 224)), 16, 3, stride=2))
    for index, row in enumerate(rows, start=1):
        x = inverted_residual(
            net,
            x,
            f"block{index}",
            expanded=row.expanded,
            channels=row.channels,
            kernel=row.kernel,
            stride=row.stride,
            squeezed=_eighths(row.expanded // 4) if row.has_squeeze else 0,
        )
    x = net.add(conv_bn("conv-last", x, 6 * x.shape[0], 1))
    x = net.add(Pool2d("pool", x))
    x = net.add(Linear("hidden", x.flatten(), out_features=hidden))
    x = net.add(Linear("classifier", x, out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


def build_v3_large(input_length: int) -> tuple[Phase, ...]:
    """v3, large. One phase; ``input_length`` is ignored."""
    return _v3(_V3_LARGE, hidden=1280)


def build_v3_small(input_length: int) -> tuple[Phase, ...]:
    """v3, small. One phase; ``input_length`` is ignored."""
    return _v3(_V3_SMALL, hidden=1024)


MOBILENET_V1 = Network(
    name="mobilenet-v1",
    title="MobileNet v1 (1.0, 224)",
    source="Howard et al., arXiv 1704.04861, width 1.0, 224 x 224",
    domain="vision",
    build=build,
)
MOBILENET_V2 = Network(
    name="mobilenet-v2",
    title="MobileNet v2 (1.0, 224)",
    source="Sandler et al., CVPR 2018, width 1.0, 224 x 224",
    domain="vision",
    build=build_v2,
)
MOBILENET_V3_LARGE = Network(
    name="mobilenet-v3-large",
    title="MobileNet v3 large (1.0, 224)",
    source="Howard et al., ICCV 2019, Table 1, 224 x 224",
    domain="vision",
    build=build_v3_large,
)
MOBILENET_V3_SMALL = Network(
    name="mobilenet-v3-small",
    title="MobileNet v3 small (1.0, 224)",
    source="Howard et al., ICCV 2019, Table 2, 224 x 224",
    domain="vision",
    build=build_v3_small,
)
