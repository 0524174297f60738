"""The networks that come with the package, by name: one module per family."""

from __future__ import annotations

from prema_gym.errors import UnknownNameError
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

__all__ = ["get", "names"]

_NETWORKS = {
    network.name: network
    for network in (
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
}


def names() -> tuple[str, ...]:
    """Names of all networks, in the order of a listing."""
    return tuple(_NETWORKS)


def get(name: str) -> Network:
    """The network called ``name``.

    Raises:
        UnknownNameError: No network has that name; the message gives the nearest one.
    """
    if name not in _NETWORKS:
        raise UnknownNameError("network", name, _NETWORKS)
    return _NETWORKS[name]
