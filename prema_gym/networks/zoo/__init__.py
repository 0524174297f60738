"""The networks that come with the package: one module per family."""

from __future__ import annotations

from prema_gym.networks.network import Network
from prema_gym.networks.zoo.alexnet import ALEXNET
from prema_gym.networks.zoo.gnmt import RNN_MT2
from prema_gym.networks.zoo.googlenet import GOOGLENET
from prema_gym.networks.zoo.las import RNN_ASR
from prema_gym.networks.zoo.mobilenet import MOBILENET_V1
from prema_gym.networks.zoo.resnet import RESNET_50
from prema_gym.networks.zoo.rnnsearch import RNN_MT1
from prema_gym.networks.zoo.sentiment import RNN_SA
from prema_gym.networks.zoo.vgg import VGG_16

__all__ = ["ZOO"]

ZOO: tuple[Network, ...] = (
    ALEXNET,
    GOOGLENET,
    VGG_16,
    MOBILENET_V1,
    RESNET_50,
    RNN_SA,
    RNN_MT1,
    RNN_MT2,
    RNN_ASR,
)
"""In the order of a listing."""
