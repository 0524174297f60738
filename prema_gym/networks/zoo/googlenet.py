"""GoogLeNet: Szegedy et al., "Going deeper with convolutions", CVPR 2015.

Variant: Table 1 of the paper (Inception v1 with 5 × 5 branches, without the auxiliary classifiers,
which only train), local response normalisation and round-up pooling as Caffe publishes it
(bvlc_googlenet). 1.58 G MACs and 7.00 M parameters. The abstract names a budget of 1.5 G, and the
column "ops" of Table 1 adds up to 1.50 G, but two rows do not follow from their own widths: the
first convolution has 34 M for 112 × 112 × 64 results of 7 × 7 × 3 taps, which are 118 M, and
inception 5a has 54 M for what are 51 M.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Normalization, Softmax
from prema_gym.networks.tensor import Tensor, concat

_INCEPTION = {
    # block: 1×1, reduction before 3×3, 3×3, reduction before 5×5, 5×5, after the pool
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
_POOL_AFTER = ("3b", "4e")


def _inception(net: LayerList, x: Tensor, block: str) -> Tensor:
    """Four branches side by side, joined along the channels."""
    one, reduce3, three, reduce5, five, pooled = _INCEPTION[block]
    name = f"inception-{block}"
    branch1 = net.add(Conv2d(f"{name}/1x1", x, out_channels=one, kernel=1))
    branch3 = net.add(Conv2d(f"{name}/3x3-reduce", x, out_channels=reduce3, kernel=1))
    branch3 = net.add(Conv2d(f"{name}/3x3", branch3, out_channels=three, kernel=3, padding=1))
    branch5 = net.add(Conv2d(f"{name}/5x5-reduce", x, out_channels=reduce5, kernel=1))
    branch5 = net.add(Conv2d(f"{name}/5x5", branch5, out_channels=five, kernel=5, padding=2))
    branch_pool = net.add(Pool2d(f"{name}/pool", x, kernel=3, padding=1))
    branch_pool = net.add(Conv2d(f"{name}/pool-proj", branch_pool, out_channels=pooled, kernel=1))
    return concat(branch1, branch3, branch5, branch_pool)


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 224 × 224 image, so ``input_length`` is ignored."""
    net = LayerList()
    image = Tensor((3, 224, 224))
    x = net.add(Conv2d("conv1", image, out_channels=64, kernel=7, stride=2, padding=3))
    x = net.add(Pool2d("pool1", x, kernel=3, stride=2, ceil_mode=True))
    x = net.add(Normalization("norm1", x, kind="lrn"))
    x = net.add(Conv2d("conv2-reduce", x, out_channels=64, kernel=1))
    x = net.add(Conv2d("conv2", x, out_channels=192, kernel=3, padding=1))
    x = net.add(Normalization("norm2", x, kind="lrn"))
    x = net.add(Pool2d("pool2", x, kernel=3, stride=2, ceil_mode=True))
    for block in _INCEPTION:
        x = _inception(net, x, block)
        if block in _POOL_AFTER:
            x = net.add(Pool2d(f"pool{block[0]}", x, kernel=3, stride=2, ceil_mode=True))
    x = net.add(Pool2d("pool5", x))
    x = net.add(Linear("classifier", x.flatten(), out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


GOOGLENET = Network(
    name="googlenet",
    title="GoogLeNet (Inception v1)",
    source="Szegedy et al., CVPR 2015, Table 1, without auxiliary classifiers, 224 x 224",
    domain="vision",
    build=build,
)
