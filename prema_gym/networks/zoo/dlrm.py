"""DLRM: Naumov et al., "Deep learning recommendation model", arXiv 1906.00091.

Variant: Section 5.1 of the paper, the data set of the Criteo display advertising challenge: 13
numbers through layers of 512, 256, 64 and 16; 26 categories, a vector of 16 each; the products of
all pairs of the 27 vectors; layers of 512 and 256 to one number. About 540 M parameters, nearly all
in the tables, whose sizes are the distinct values of the data set.
"""

from __future__ import annotations

from prema_gym.networks.interaction import PairwiseDot
from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.tensor import Tensor, concat

_NUMBERS = 13
_FEATURES = 16
_BOTTOM = (512, 256, 64, _FEATURES)
_TOP = (512, 256, 1)
_ROWS = (
    *(1460, 583, 10_131_227, 2_202_608, 305, 24, 12_517, 633, 3, 93_145, 5683, 8_351_593, 3194),
    *(27, 14_992, 5_461_306, 10, 5652, 2173, 4, 7_046_547, 18, 15, 286_181, 105, 142_572),
)


def _layers(net: LayerList, x: Tensor, name: str, widths: tuple[int, ...]) -> Tensor:
    for index, width in enumerate(widths, start=1):
        x = net.add(Linear(f"{name}{index}", x, out_features=width))
    return x


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase; one user and one advertisement, so ``input_length`` is ignored."""
    net = LayerList()
    dense = _layers(net, Tensor((_NUMBERS,)), "bottom", _BOTTOM)
    vectors = [
        net.add(Embedding(f"table{index}", Tensor(()), vocabulary=rows, features=_FEATURES))
        for index, rows in enumerate(_ROWS, start=1)
    ]
    pairs = net.add(PairwiseDot("pairs", (dense, *vectors)))
    _layers(net, concat(dense, pairs), "top", _TOP)
    return (net.phase(),)


DLRM = Network(
    name="dlrm",
    title="DLRM (Criteo Kaggle)",
    source="Naumov et al., arXiv 1906.00091, Section 5.1",
    domain="recommendation",
    build=build,
    input_unit="query",
)
