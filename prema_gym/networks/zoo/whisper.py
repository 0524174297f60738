"""Whisper tiny: Radford et al., "Robust speech recognition via large-scale weak supervision", 2022.

The multilingual model of the authors' release: 80 mel bands, four blocks on each side, 384 wide,
51 865 tokens, of which the output product has the embedding's table. 37.76 M parameters, the
encoder's fixed sinusoids (576 000) included, as the release holds them; its list of models says
39 M. Every window of 30 s is padded to 3 000 frames, so the encoder always costs the same.

A step of the decoder reads its cache at the length that a transcript of 2 · 56 tokens has half way
(112: 30 s at 15 characters a second, four characters a token). Greedy decoding (no beam): ours.
"""

from __future__ import annotations

from prema_gym.networks.convolution import Conv2d
from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import LayerList, Network, Phase
from prema_gym.networks.pointwise import Elementwise, Softmax
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.zoo.transformer import (
    BlockShape,
    Cache,
    attention,
    block,
    feed_forward,
    keys_and_values,
    learned_positions,
    norm,
)

_FEATURES = 384
_BLOCKS = 4
_FRAMES = 3000
_BANDS = 80
_TOKENS = 51_865
_LONGEST = 448  # tokens
_AHEAD = 56
_SHAPE = BlockShape(heads=6, key_heads=6, hidden=1536, key_bias=False)


def _encoder() -> tuple[Phase, list[tuple[Tensor, Tensor]]]:
    """The whole window, and the keys and values that each block of the decoder looks back at."""
    net = LayerList()
    x = Tensor((_BANDS, 1, _FRAMES))
    kernel, padding = (1, 3), (0, 1)
    x = net.add(Conv2d("conv1", x, out_channels=_FEATURES, kernel=kernel, padding=padding))
    x = net.add(
        Conv2d("conv2", x, out_channels=_FEATURES, kernel=kernel, stride=(1, 2), padding=padding)
    )
    x = x.sequence()
    x = learned_positions(net, x, "encoder-positions", x.shape[0])
    for index in range(1, _BLOCKS + 1):
        x = block(net, x, f"encoder{index}", _SHAPE)
    x = norm(net, x, "encoder-norm", _SHAPE)
    memories = [
        keys_and_values(net, x, f"decoder{index}/cross", _SHAPE) for index in range(1, _BLOCKS + 1)
    ]
    return net.phase(), memories


def _decoder(memories: list[tuple[Tensor, Tensor]]) -> Phase:
    """One token."""
    net = LayerList()
    x = net.add(Embedding("token", Tensor((1,)), vocabulary=_TOKENS, features=_FEATURES))
    x = learned_positions(net, x, "decoder-positions", _LONGEST)
    for index, memory in enumerate(memories, start=1):
        name = f"decoder{index}"
        y = norm(net, x, f"{name}/norm1", _SHAPE)
        y = attention(net, y, f"{name}/attention", _SHAPE, cache=Cache(ahead=_AHEAD))
        x = net.add(Elementwise(f"{name}/add1", (x, y)))
        y = norm(net, x, f"{name}/norm2", _SHAPE)
        y = attention(net, y, f"{name}/cross", _SHAPE, over=memory)
        x = net.add(Elementwise(f"{name}/add2", (x, y)))
        y = norm(net, x, f"{name}/norm3", _SHAPE)
        y = feed_forward(net, y, f"{name}/mlp", _SHAPE)
        x = net.add(Elementwise(f"{name}/add3", (x, y)))
    x = norm(net, x, "decoder-norm", _SHAPE)
    x = net.add(Linear("output-tokens", x, out_features=_TOKENS, bias=False, tied=True))
    net.add(Softmax("prob", x))
    return net.phase("output")


def build(input_length: int) -> tuple[Phase, ...]:
    """The encoder once, the decoder per token; a window is a window, whatever its length."""
    encoder, memories = _encoder()
    return encoder, _decoder(memories)


WHISPER_TINY = Network(
    name="whisper-tiny",
    title="Whisper tiny (speech)",
    source="Radford et al., arXiv 2212.04356; the multilingual release",
    domain="speech",
    build=build,
    input_unit="window of 30 s",
    input_lengths=(1, 1),
)
