"""AlexNet: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep CNNs", NIPS 2012.

Variant: the original with two groups of filters and local response normalisation, as Caffe
publishes it (bvlc_alexnet: normalisation before pooling, 227 × 227 input), since PREMA's network
list dates from that time. 724 M MACs and 60.97 M parameters (Sze et al., Proc. IEEE 2017,
Table II: 724 M, 61 M).
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Normalization, Softmax
from prema_gym.networks.tensor import Tensor


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 227 × 227 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = net.add(Conv2d("conv1", Tensor((3, 227, 227)), out_channels=96, kernel=11, stride=4))
    x = net.add(Normalization("norm1", x, kind="lrn"))
    x = net.add(Pool2d("pool1", x, kernel=3, stride=2))
    x = net.add(Conv2d("conv2", x, out_channels=256, kernel=5, padding=2, groups=2))
    x = net.add(Normalization("norm2", x, kind="lrn"))
    x = net.add(Pool2d("pool2", x, kernel=3, stride=2))
    x = net.add(Conv2d("conv3", x, out_channels=384, kernel=3, padding=1))
    x = net.add(Conv2d("conv4", x, out_channels=384, kernel=3, padding=1, groups=2))
    x = net.add(Conv2d("conv5", x, out_channels=256, kernel=3, padding=1, groups=2))
    x = net.add(Pool2d("pool5", x, kernel=3, stride=2))
    x = net.add(Linear("fc6", x.flatten(), out_features=4096))
    x = net.add(Linear("fc7", x, out_features=4096))
    x = net.add(Linear("fc8", x, out_features=1000))
    net.add(Softmax("prob", x))
    return (net.phase(),)


ALEXNET = Network(
    name="alexnet",
    title="AlexNet",
    source="Krizhevsky et al., NIPS 2012; Caffe's two-group variant, 227 x 227",
    domain="vision",
    build=build,
)
