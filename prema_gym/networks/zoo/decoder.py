"""GPT-2 and the Llamas: a prompt is read in one go (prefill), then one token a step (decode).

Both are tasks of their own, since they ask for different things: a prefill multiplies matrices of
as many rows as the prompt has tokens, a decode step reads every weight and the whole cache for one
token. The input is the prompt's tokens in both; a decode runs once for each token of the answer.

Keys and values of all tokens so far lie in NPU memory (:meth:`Network.cache_elements`), so no
checkpoint holds them. A decode step reads those of the prompt and of half an answer of 255 tokens:
its cost grows with the prompt, and an answer of another length is charged as if each of its
steps stood in the middle of that one. Ours; exact growth needs phases that depend on the step.

Variants, with the parameters that their authors' releases hold:

- GPT-2 (small), Radford et al. 2019: 124.44 M, the output product has the embedding's table.
- Llama 3.2 1B: 1.2358 G, likewise. Llama 3.1 8B: 8.0303 G. Dubey et al., arXiv 2407.21783, Table 3,
  and the releases' configurations; grouped queries, rotary positions, gated layers.

A prefill works out the next token of the prompt's last place alone, as servers do.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.networks.layers import Embedding, Linear
from prema_gym.networks.network import Build, LayerList, Network, Phase
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.zoo.transformer import BlockShape, Cache, block, learned_positions, norm

AHEAD = 127
"""Tokens of the answer that each decode step reads besides the prompt and its own."""


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """The sizes of one decoder.

    Attributes:
        features: Width of the states between blocks.
        blocks: How many.
        vocabulary: Tokens.
        shape: Of its blocks.
        positions: Learned positions; 0: rotary ones, without parameters.
        tied: Whether the output product has the embedding's table.
    """

    features: int
    blocks: int
    vocabulary: int
    shape: BlockShape
    positions: int = 0
    tied: bool = True

    def layers(self, tokens: int, cache: Cache) -> LayerList:
        """All layers for so many tokens at once, behind a cache."""
        net = LayerList()
        x = net.add(
            Embedding(
                "token", Tensor((tokens,)), vocabulary=self.vocabulary, features=self.features
            )
        )
        if self.positions:
            x = learned_positions(net, x, "positions", self.positions)
        for index in range(1, self.blocks + 1):
            x = block(net, x, f"block{index}", self.shape, cache=cache)
        x = norm(net, x, "norm", self.shape).place()
        head = Linear("output-tokens", x, out_features=self.vocabulary, bias=False, tied=self.tied)
        net.add(Softmax("prob", net.add(head)))
        return net


@dataclass(frozen=True)
class _Prefill:
    decoder: Decoder

    def __call__(self, input_length: int) -> tuple[Phase, ...]:
        """The whole prompt, once."""
        return (self.decoder.layers(input_length, Cache()).phase(),)


@dataclass(frozen=True)
class _Decode:
    decoder: Decoder

    def __call__(self, input_length: int) -> tuple[Phase, ...]:
        """One token a step, behind a prompt of ``input_length``."""
        cache = Cache(past=input_length, ahead=AHEAD)
        return (self.decoder.layers(1, cache).phase("output"),)


def _tasks(
    name: str, title: str, source: str, longest: int, decoder: Decoder
) -> tuple[Network, Network]:
    """Prefill and decode."""
    kinds: dict[str, Build] = {"prefill": _Prefill(decoder), "decode": _Decode(decoder)}
    prefill, decode = (
        Network(
            name=f"{name}-{kind}",
            title=f"{title}, {kind}",
            source=source,
            domain="text",
            build=build,
            input_unit="token",
            input_lengths=(1, longest),
        )
        for kind, build in kinds.items()
    )
    return prefill, decode


def _llama(heads: int, width: int, hidden: int) -> BlockShape:
    return BlockShape(
        heads=heads,
        key_heads=8,
        hidden=hidden,
        width=width,
        norm="rms",
        bias=False,
        is_gated=True,
        is_rotary=True,
    )


GPT2_PREFILL, GPT2_DECODE = _tasks(
    "gpt2",
    "GPT-2 (small)",
    "Radford et al. 2019; the release of 124 M parameters",
    1024,
    Decoder(
        features=768,
        blocks=12,
        vocabulary=50_257,
        shape=BlockShape(heads=12, key_heads=12, hidden=3072),
        positions=1024,
    ),
)
LLAMA_1B_PREFILL, LLAMA_1B_DECODE = _tasks(
    "llama-1b",
    "Llama 3.2 1B",
    "Llama 3.2 release of 2024; block as in arXiv 2407.21783",
    131_072,
    Decoder(
        features=2048,
        blocks=16,
        vocabulary=128_256,
        shape=_llama(heads=32, width=64, hidden=8192),
    ),
)
LLAMA_8B_PREFILL, LLAMA_8B_DECODE = _tasks(
    "llama-8b",
    "Llama 3.1 8B",
    "Dubey et al., arXiv 2407.21783, Table 3",
    131_072,
    Decoder(
        features=4096,
        blocks=32,
        vocabulary=128_256,
        shape=_llama(heads=32, width=128, hidden=14_336),
        tied=False,
    ),
)
