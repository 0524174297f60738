"""RNN-MT2, the larger translator: GNMT, Wu et al., arXiv 1609.08144, as MLPerf Inference runs it.

PREMA names two translators but public sources give no shapes. Our choice for the second: the
four-layer GNMT of MLPerf Inference v0.5, the recurrent translator that hardware papers of the time
report: 1 024 units throughout, one bidirectional and three further encoder layers, four decoder
layers that all see the attention's context, additive attention, residual sums around the last two
layers of each side, 36 548 word pieces. 210 M parameters (Reddi et al., ISCA 2020, Table I); the
attention's gain and bias (1 025 of them) are left out. Greedy decoding (no beam), also our choice.
"""

from __future__ import annotations

from prema_gym.networks.attention import Attention
from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Elementwise, Softmax
from prema_gym.networks.recurrent import LSTMCell
from prema_gym.networks.tensor import Tensor, concat

_VOCABULARY = 36_548
_UNITS = 1024
_LAYERS = 4
_FIRST_RESIDUAL = 3  # counted from 1: two residual layers of four


def _encoder(input_length: int) -> tuple[Phase, Phase, Tensor]:
    """The bidirectional layer over the whole sentence, then the others; and their result."""
    both = LayerList()
    word = both.add(
        Embedding("source-embedding", Tensor(()), vocabulary=_VOCABULARY, features=_UNITS)
    )
    forward = both.add(LSTMCell("encoder-1-forward", word, hidden=_UNITS))
    backward = both.add(LSTMCell("encoder-1-backward", word, hidden=_UNITS))

    upper = LayerList()
    x = concat(forward, backward)
    for index in range(2, _LAYERS + 1):
        y = upper.add(LSTMCell(f"encoder-{index}", x, hidden=_UNITS))
        if index >= _FIRST_RESIDUAL:
            y = upper.add(Elementwise(f"encoder-{index}-residual", (x, y)))
        x = y
    return both.phase(input_length), upper.phase(input_length), x.over_time(input_length)


def _decoder(keys: Tensor, memory: Tensor) -> Phase:
    """One target word piece."""
    net = LayerList()
    context_before = Tensor.before("attention", (_UNITS,))
    word = net.add(
        Embedding("target-embedding", Tensor(()), vocabulary=_VOCABULARY, features=_UNITS)
    )
    x = net.add(LSTMCell("decoder-1", concat(word, context_before), hidden=_UNITS))
    query = net.add(Linear("attention-query", x, out_features=_UNITS, bias=False))
    context = net.add(Attention("attention", query, keys, memory, kind="additive"))
    for index in range(2, _LAYERS + 1):
        y = net.add(LSTMCell(f"decoder-{index}", concat(x, context), hidden=_UNITS))
        if index >= _FIRST_RESIDUAL:
            y = net.add(Elementwise(f"decoder-{index}-residual", (x, y)))
        x = y
    x = net.add(Linear("output-words", x, out_features=_VOCABULARY, bias=False))
    net.add(Softmax("prob", x))
    return net.phase("output")


def build(input_length: int) -> tuple[Phase, ...]:
    """Two encoder phases per source word piece; keys, once; decoder per target word piece."""
    first, upper, memory = _encoder(input_length)
    bridge = LayerList()
    keys = bridge.add(Linear("attention-keys", memory, out_features=_UNITS, bias=False))
    return (first, upper, bridge.phase(), _decoder(keys, memory))


RNN_MT2 = Network(
    name="rnn-mt2",
    title="RNN-MT2 (translation, GNMT)",
    source="Wu et al., arXiv 1609.08144; MLPerf Inference v0.5 variant (our choice)",
    domain="translation",
    build=build,
    input_unit="word piece",
    input_lengths=(1, 50),  # the variant is trained on sentences of up to 50 pieces
)
