"""RNN-SA, sentiment of a text: Dai and Le, "Semi-supervised sequence learning", NIPS 2015.

PREMA names the network but public sources give no shapes. Our choice: this paper's classifier of
film reviews, the standard LSTM for the task at the time: words embedded in 512 features, one LSTM
of 1 024 units, a hidden layer of 512, two classes read from the last state. The vocabulary (30 000
words) is ours; it sets only the size of the table, not the work.
"""

from __future__ import annotations

from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.recurrent import LSTMCell
from prema_gym.networks.tensor import Tensor

_VOCABULARY = 30_000
_EMBEDDING = 512
_UNITS = 1024
_HIDDEN = 512
_CLASSES = 2


def build(input_length: int) -> tuple[Phase, ...]:
    """The LSTM, once per word; then the classifier, once."""
    reader = LayerList()
    x = reader.add(Embedding("embedding", Tensor(()), vocabulary=_VOCABULARY, features=_EMBEDDING))
    state = reader.add(LSTMCell("lstm", x, hidden=_UNITS))
    classifier = LayerList()
    x = classifier.add(Linear("hidden", state, out_features=_HIDDEN))
    x = classifier.add(Linear("classes", x, out_features=_CLASSES))
    classifier.add(Softmax("prob", x))
    return (reader.phase(input_length), classifier.phase())


RNN_SA = Network(
    name="rnn-sa",
    title="RNN-SA (sentiment, LSTM)",
    source="Dai and Le, NIPS 2015 (shapes: our choice, PREMA's are not public)",
    domain="text",
    build=build,
    input_unit="word",
    input_lengths=(1, 400),  # the paper trains on 400 steps
)
