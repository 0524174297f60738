"""BERT-base: Devlin et al., "BERT: pre-training of deep bidirectional transformers", NAACL 2019.

Variant: uncased, 30 522 word pieces, up to 512 tokens, with the pooler, as its authors publish it:
109.48 M parameters. At 128 tokens 22.5 GFLOPs, two a MAC (Sun et al., MobileBERT, ACL 2020,
Table 4).
"""

from __future__ import annotations

from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Elementwise
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.zoo.transformer import BlockShape, attention, feed_forward, norm

_FEATURES = 768
_BLOCKS = 12
_TABLES = {"words": 30_522, "positions": 512, "segments": 2}
_SHAPE = BlockShape(heads=12, key_heads=12, hidden=3072)


def build(input_length: int) -> tuple[Phase, ...]:
    """One phase over all tokens; each normalisation stands behind the sum, not before it."""
    net = LayerList()
    tokens = Tensor((input_length,))
    found = [
        net.add(Embedding(name, tokens, vocabulary=rows, features=_FEATURES))
        for name, rows in _TABLES.items()
    ]
    x = net.add(Elementwise("embedding", tuple(found)))
    x = norm(net, x, "norm", _SHAPE)
    for index in range(1, _BLOCKS + 1):
        name = f"block{index}"
        y = attention(net, x, f"{name}/attention", _SHAPE)
        x = net.add(Elementwise(f"{name}/add1", (x, y)))
        x = norm(net, x, f"{name}/norm1", _SHAPE)
        y = feed_forward(net, x, f"{name}/mlp", _SHAPE)
        x = net.add(Elementwise(f"{name}/add2", (x, y)))
        x = norm(net, x, f"{name}/norm2", _SHAPE)
    net.add(Linear("pooler", x.place(), out_features=_FEATURES))  # of the first token
    return (net.phase(),)


BERT_BASE = Network(
    name="bert-base",
    title="BERT-base",
    source="Devlin et al., NAACL 2019; uncased, with pooler",
    domain="text",
    build=build,
    input_unit="token",
    input_lengths=(1, 512),
)
