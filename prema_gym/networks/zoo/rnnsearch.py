"""RNN-MT1, the smaller translator: RNNsearch-50, Bahdanau et al., ICLR 2015.

PREMA names two translators but public sources give no shapes. Our choice for the first: the paper
that introduced attention, of moderate size (shapes from its appendix): words embedded in 620
features, a bidirectional GRU encoder and a GRU decoder of 1 000 units, additive attention of
width 1 000, a maxout layer of 500, a vocabulary of 30 000. Greedy decoding (no beam), also our
choice: one sequence per item of the batch.
"""

from __future__ import annotations

from prema_gym.networks.attention import Attention
from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Maxout, Softmax
from prema_gym.networks.recurrent import GRUCell
from prema_gym.networks.tensor import Tensor, concat

_VOCABULARY = 30_000
_EMBEDDING = 620
_UNITS = 1000
_ALIGNMENT = 1000
_MAXOUT = 500


def build(input_length: int) -> tuple[Phase, ...]:
    """Encoder per source word; keys and first state, once; decoder per target word."""
    encoder = LayerList()
    word = encoder.add(
        Embedding("source-embedding", Tensor(()), vocabulary=_VOCABULARY, features=_EMBEDDING)
    )
    forward = encoder.add(GRUCell("encoder-forward", word, hidden=_UNITS))
    backward = encoder.add(GRUCell("encoder-backward", word, hidden=_UNITS))
    annotations = concat(forward, backward).over_time(input_length)

    bridge = LayerList()
    keys = bridge.add(Linear("attention-keys", annotations, out_features=_ALIGNMENT, bias=False))
    bridge.add(Linear("first-state", backward, out_features=_UNITS))

    decoder = LayerList()
    state = Tensor.before("decoder", (_UNITS,))
    word = decoder.add(
        Embedding("target-embedding", Tensor(()), vocabulary=_VOCABULARY, features=_EMBEDDING)
    )
    query = decoder.add(Linear("attention-query", state, out_features=_ALIGNMENT, bias=False))
    context = decoder.add(Attention("attention", query, keys, annotations, kind="additive"))
    x = decoder.add(Linear("output-hidden", concat(state, word, context), out_features=2 * _MAXOUT))
    x = decoder.add(Maxout("output-maxout", x))
    x = decoder.add(Linear("output-words", x, out_features=_VOCABULARY))
    decoder.add(Softmax("prob", x))
    decoder.add(GRUCell("decoder", concat(word, context), hidden=_UNITS))
    return (encoder.phase(input_length), bridge.phase(), decoder.phase("output"))


RNN_MT1 = Network(
    name="rnn-mt1",
    title="RNN-MT1 (translation, RNNsearch-50)",
    source="Bahdanau et al., ICLR 2015 (shapes: our choice, PREMA's are not public)",
    domain="translation",
    build=build,
    input_unit="word",
    input_lengths=(1, 50),  # RNNsearch-50 is trained on sentences of up to 50 words
)
