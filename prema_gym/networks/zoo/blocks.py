"""What do the convolutional networks of the zoo have in common? Convolutions, and blocks of them.

The blocks add layers in order of execution and return their result. Activations drain with the
layer before them, so none is seen here.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.network import LayerList
from prema_gym.networks.pointwise import ChannelScale, Elementwise
from prema_gym.networks.tensor import Tensor


def conv_bn(
    name: str, x: Tensor, channels: int, kernel: int, stride: int = 1, groups: int = 1
) -> Conv2d:
    """A convolution that keeps the map's size (but for its stride), and a batch normalisation."""
    return Conv2d(
        name,
        x,
        out_channels=channels,
        kernel=kernel,
        stride=stride,
        padding=kernel // 2,
        groups=groups,
        bias=False,
        batch_norm=True,
    )


def squeeze_excite(net: LayerList, x: Tensor, name: str, squeezed: int) -> Tensor:
    """Each channel times a weight worked out from all of them (Hu et al., CVPR 2018)."""
    y = net.add(Pool2d(f"{name}/squeeze", x))
    y = net.add(Conv2d(f"{name}/reduce", y, out_channels=squeezed, kernel=1))
    y = net.add(Conv2d(f"{name}/expand", y, out_channels=x.shape[0], kernel=1))
    return net.add(ChannelScale(f"{name}/scale", x, y))


def inverted_residual(
    net: LayerList,
    x: Tensor,
    name: str,
    *,
    expanded: int,
    channels: int,
    kernel: int,
    stride: int,
    squeezed: int = 0,
) -> Tensor:
    """Widen, filter each channel, perhaps weigh the channels, narrow (Sandler et al., CVPR 2018).

    Args:
        net: Where the layers go.
        x: The input; added to the result where their shapes agree.
        name: Of the block.
        expanded: Channels inside; no widening where the input has as many.
        channels: Channels of the result.
        kernel: Window of the depthwise convolution.
        stride: Its step.
        squeezed: Channels of the squeeze-and-excitation; 0: none.
    """
    y = x
    if expanded != x.shape[0]:
        y = net.add(conv_bn(f"{name}/expand", y, expanded, 1))
    y = net.add(conv_bn(f"{name}/depthwise", y, expanded, kernel, stride, groups=expanded))
    if squeezed:
        y = squeeze_excite(net, y, f"{name}/se", squeezed)
    y = net.add(conv_bn(f"{name}/project", y, channels, 1))
    return net.add(Elementwise(f"{name}/add", (y, x))) if y.shape == x.shape else y
