"""U-Net: Ronneberger, Fischer and Brox, "U-Net", MICCAI 2015.

Variant: Figure 1 of the paper: 572 × 572 grey images, convolutions without padding, so that a
388 × 388 map of two classes is left; ups are transposed convolutions of 2 × 2 taps with stride 2,
each a product of a pixel with all its taps. 31.03 M parameters (what re-implementations of that
figure report: 31 030 593 with one class), 150.4 G MACs.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d, Pool2d, UpConv2d
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor, concat

_WIDTHS = (64, 128, 256, 512, 1024)
_CLASSES = 2


def _twice(net: LayerList, x: Tensor, name: str, channels: int) -> Tensor:
    """3 × 3 twice; each loses a pixel at every edge."""
    x = net.add(Conv2d(f"{name}/conv1", x, out_channels=channels, kernel=3))
    return net.add(Conv2d(f"{name}/conv2", x, out_channels=channels, kernel=3))


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; the input is one 572 × 572 image, so ``input_length`` is ignored."""
    net = LayerList()
    x = Tensor((1, 572, 572))
    kept: list[Tensor] = []
    for level, width in enumerate(_WIDTHS, start=1):
        if kept:
            x = net.add(Pool2d(f"down{level}/pool", x, kernel=2, stride=2))
        x = _twice(net, x, f"down{level}", width)
        kept.append(x)
    for level in range(len(_WIDTHS) - 1, 0, -1):
        width = _WIDTHS[level - 1]
        x = net.add(UpConv2d(f"up{level}/conv", x, out_channels=width, scale=2))
        x = concat(kept[level - 1].crop(*x.shape[1:]), x)
        x = _twice(net, x, f"up{level}", width)
    x = net.add(Conv2d("classes", x, out_channels=_CLASSES, kernel=1))
    net.add(Softmax("prob", x))
    return (net.phase(),)


UNET = Network(
    name="unet",
    title="U-Net (572)",
    source="Ronneberger et al., MICCAI 2015, Figure 1, 572 x 572",
    domain="vision",
    build=build,
)
