"""RNN-ASR, speech to text: Chan et al., "Listen, Attend and Spell", ICASSP 2016.

The listener: 40 log-mel features per 10 ms frame, a bidirectional LSTM, then three pyramidal ones
that each read two neighbouring steps at once, 256 units per direction; so 8 frames give one state.
The speller: two LSTMs of 512 units, which see the last character and the last context; dot-product
attention; 43 outputs (26 letters, 10 digits, 4 marks, unknown, start, end).

Not in the paper, hence our choice: query and keys are one linear layer each of width 512 (as wide
as the states they compare); the last character enters as a one-hot vector; characters are read from
state and context by one linear layer; the last frame repeats where a length is odd; greedy
decoding (no beam).
"""

from __future__ import annotations

from prema_gym.networks.attention import Attention
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.recurrent import LSTMCell
from prema_gym.networks.tensor import Tensor, concat

_FRAME_FEATURES = 40
_UNITS_PER_DIRECTION = 256
_PYRAMID_LAYERS = 3
_SPELLER_UNITS = 512
_ATTENTION = 512
_CHARACTERS = 43


def _bidirectional(net: LayerList, name: str, x: Tensor) -> Tensor:
    forward = net.add(LSTMCell(f"{name}-forward", x, hidden=_UNITS_PER_DIRECTION))
    backward = net.add(LSTMCell(f"{name}-backward", x, hidden=_UNITS_PER_DIRECTION))
    return concat(forward, backward)


def _listener(input_length: int) -> tuple[list[Phase], Tensor]:
    """One phase per layer, since each needs the whole sequence below it; and the states."""
    steps = input_length
    net = LayerList()
    x = _bidirectional(net, "listener-1", Tensor((_FRAME_FEATURES,)))
    phases = [net.phase(steps)]
    for index in range(2, _PYRAMID_LAYERS + 2):
        steps = -(-steps // 2)
        net = LayerList()
        x = _bidirectional(net, f"listener-{index}", concat(x, x))  # two neighbouring steps
        phases.append(net.phase(steps))
    return phases, x.over_time(steps)


def _speller(keys: Tensor, states: Tensor) -> Phase:
    """One character."""
    net = LayerList()
    character = Tensor((_CHARACTERS,))
    context_before = Tensor.before("attention", (states.features,))
    x = net.add(LSTMCell("speller-1", concat(character, context_before), hidden=_SPELLER_UNITS))
    x = net.add(LSTMCell("speller-2", x, hidden=_SPELLER_UNITS))
    query = net.add(Linear("attention-query", x, out_features=_ATTENTION))
    context = net.add(Attention("attention", query, keys, states, kind="dot"))
    x = net.add(Linear("output-characters", concat(x, context), out_features=_CHARACTERS))
    net.add(Softmax("prob", x))
    return net.phase("output")


def build(input_length: int) -> tuple[Phase, ...]:
    """Four listener phases of 1, 1/2, 1/4, 1/8 of the frames; keys; speller per character."""
    listener, states = _listener(input_length)
    bridge = LayerList()
    keys = bridge.add(Linear("attention-keys", states, out_features=_ATTENTION))
    return (*listener, bridge.phase(), _speller(keys, states))


RNN_ASR = Network(
    name="rnn-asr",
    title="RNN-ASR (speech, Listen-Attend-Spell)",
    source="Chan et al., ICASSP 2016 (open details: our choice)",
    domain="speech",
    build=build,
    input_unit="frame of 10 ms",
    input_lengths=(8, 1600),  # one state of the listener, to 16 s of speech
)
