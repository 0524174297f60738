"""Transformers of the zoo against published figures, decoders against a count of their steps."""

from __future__ import annotations

import pytest

from prema_gym.networks import Gemm, GroupedAttention, get
from prema_gym.networks.zoo.decoder import AHEAD


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("bert-base", 109_482_240),  # bert-base-uncased with pooler, as released
        ("whisper-tiny", 37_760_640),  # as released, sinusoids included
        (
            "gpt2-prefill",
            124_439_808,
        ),  # as released; the paper's table says 117 M, its errata 124 M
        ("gpt2-decode", 124_439_808),
        ("llama-1b-prefill", 1_235_814_400),  # as released: 1.23 B
        ("llama-1b-decode", 1_235_814_400),
        ("llama-8b-prefill", 8_030_261_248),  # as released: 8.03 B
        ("llama-8b-decode", 8_030_261_248),
    ],
)
def test_parameters_are_those_of_the_releases(name: str, weights: int) -> None:
    assert get(name).weights == weights


def test_bert_matches_published_operations() -> None:
    """Sun et al., MobileBERT, ACL 2020, Table 4: 22.5 G for 128 tokens, two a MAC."""
    assert 2 * get("bert-base").macs(input_length=128) == pytest.approx(22.5e9, rel=0.01)


def test_whisper_by_hand() -> None:
    places, width = 1500, 384
    convolutions = 3000 * 3 * 80 * width + places * 3 * width * width
    block = places * (4 * width**2 + 8 * width**2) + 2 * places**2 * width
    cross = 4 * 2 * places * width**2  # keys and values of four decoder blocks
    encoder = convolutions + 4 * block + cross
    step = 4 * (6 * width**2 + 8 * width**2 + 2 * places * width + 2 * 57 * width) + width * 51_865
    whisper = get("whisper-tiny")
    assert whisper.macs(output_length=1) == encoder + step
    assert whisper.macs(output_length=100) == encoder + 100 * step


@pytest.mark.parametrize(
    ("name", "blocks", "width", "kv_width", "mlp", "vocabulary"),
    [
        ("gpt2", 12, 768, 768, 2 * 768 * 3072, 50_257),
        ("llama-1b", 16, 2048, 512, 3 * 2048 * 8192, 128_256),
        ("llama-8b", 32, 4096, 1024, 3 * 4096 * 14_336, 128_256),
    ],
)
@pytest.mark.parametrize("prompt", [1, 128, 1000])
def test_decoders_by_hand(
    name: str, blocks: int, width: int, kv_width: int, mlp: int, vocabulary: int, prompt: int
) -> None:
    """Products with weights, 2 · queries · keys · width for attention, one row of next tokens."""
    token = blocks * (2 * width * width + 2 * width * kv_width + mlp)
    prefill = prompt * token + blocks * 2 * prompt**2 * width + width * vocabulary
    assert get(f"{name}-prefill").macs(input_length=prompt) == prefill
    step = token + blocks * 2 * (prompt + AHEAD + 1) * width + width * vocabulary
    decode = get(f"{name}-decode")
    assert decode.macs(input_length=prompt, output_length=1) == step
    assert decode.macs(input_length=prompt, output_length=50) == 50 * step


@pytest.mark.parametrize("name", ["gpt2", "llama-1b", "llama-8b"])
def test_two_operations_a_parameter_and_token(name: str) -> None:
    """The rule of thumb of scaling laws (Kaplan et al. 2020): 2 N a token, without the table."""
    network = get(f"{name}-decode")
    table = {"gpt2": 0, "llama-1b": 0, "llama-8b": 128_256 * 4096}[name]  # tied ones are read
    assert network.macs() == pytest.approx(network.weights - table, rel=0.06)


@pytest.mark.parametrize(
    ("name", "bytes_a_token"),
    # 2 · blocks · key heads · head width · 2 bytes; 128 KiB a token is the published 8B figure
    [("gpt2", 36_864), ("llama-1b", 32_768), ("llama-8b", 131_072)],
)
def test_the_cache_holds_prompt_and_answer(name: str, bytes_a_token: int) -> None:
    prefill, decode = get(f"{name}-prefill"), get(f"{name}-decode")
    assert 2 * prefill.cache_elements(input_length=300) == 300 * bytes_a_token
    assert 2 * decode.cache_elements(input_length=300, output_length=50) == 350 * bytes_a_token
    assert get("resnet-50").cache_elements() == 0


def test_a_step_reads_the_whole_cache() -> None:
    """The keys and values that a step loads are those in memory, and grow with the prompt."""
    decode = get("llama-8b-decode")
    for prompt in (128, 1024):
        (phase,) = decode.phases(prompt)
        attention = [layer for layer in phase.layers if isinstance(layer, GroupedAttention)]
        read = sum(
            work.weight_elements
            for layer in attention
            for work in layer.work(1)
            if isinstance(work, Gemm)
        )
        assert read == decode.cache_elements(input_length=prompt, output_length=AHEAD + 1)


def test_charging_the_middle_of_an_answer_is_exact_for_it_and_close_for_others() -> None:
    """Against a step for each token: contexts prompt + 1, prompt + 2, … with nothing ahead."""
    prompt, decode = 1024, get("llama-8b-decode")
    one = decode.macs(input_length=prompt) / 1

    def exact(answer: int) -> float:
        growth = decode.macs(input_length=prompt + 1) - decode.macs(input_length=prompt)
        return sum(one + growth * (token - AHEAD - 1) for token in range(1, answer + 1))

    assert exact(2 * AHEAD + 1) == one * (2 * AHEAD + 1)
    for answer in (1, 64, 512, 2048):
        assert one * answer == pytest.approx(exact(answer), rel=0.035)
