"""How long are the inputs of a recurrent task, and what is drawn of its outputs?

The input length is one of a short list of equally likely lengths (the quantiles of a stated
distribution); `prema_gym.workloads.output_lengths` turns it into output lengths. A network's
defaults are below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import NormalDist
from typing import Any

from prema_gym.checks import (
    check_fields,
    declared,
    list_of,
    number,
    optional,
    plain,
    positive,
    read_record,
    stated,
    text,
    whole,
)
from prema_gym.errors import ConfigError

# Longest input and largest median ratio accepted: far beyond any use, and small enough that an
# output length never leaves 64 bits (10⁶ · 10³ · exp(2.4 · 3) · 10⁶ < 2⁶³).
MAX_LENGTH = 1_000_000
MAX_RATIO = 1_000
# exp(2.4 · 3) = 1 300: a wider spread is a mistake, not a language.
MAX_SIGMA = 3.0
# Input lengths in a default list: each stands for 5 % of the tasks. Every one needs a profile per
# batch size, so the list is short.
NUM_INPUT_LENGTHS = 20


@dataclass(frozen=True, kw_only=True)
class LengthModel:
    """Sequence lengths of one recurrent network's tasks; each field's ``help`` says what it is.

    Raises:
        ConfigError: On construction, a value outside its range.
    """

    network: str = field(metadata=stated(text(), help="one of `networks`"))
    input_lengths: tuple[int, ...] = field(
        metadata=stated(
            list_of(whole(1, MAX_LENGTH), distinct=False),
            unit="input steps",
            help="equally likely lengths, strictly increasing; each is compiled for every batch "
            "size, so keep the list short",
        )
    )
    ratio_median: float | None = declared(
        None,
        optional(positive(MAX_RATIO)),
        unit="output steps per input step",
        help="median of output/input length; needed by a network with output steps, left out for "
        "one without",
    )
    ratio_sigma: float = declared(
        0.0,
        number(0.0, MAX_SIGMA),
        help="standard deviation of the ratio's natural logarithm, 0 to 3; 0, the default for your "
        "own network, fixes the ratio",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if any(after <= before for before, after in pairwise(self.input_lengths)):
            raise ConfigError(
                f"input_lengths must be strictly increasing, got {self.input_lengths}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Every field as plain data; one that is None is left out (TOML has no None)."""
        return plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LengthModel:
        """Build a model from named values; absent ones are the named network's defaults.

        Raises:
            UnknownNameError: A key is no field; the message names the nearest one.
            ConfigError: A value is missing or not allowed.
        """
        base = default_lengths(data.get("network"))
        where = f"lengths of {data['network']!r}" if "network" in data else "lengths"
        return read_record(cls, data if base is None else {**plain(base), **data}, where)


def quantile_grid(
    *, median: float, sigma: float, longest: int = MAX_LENGTH, points: int = NUM_INPUT_LENGTHS
) -> tuple[int, ...]:
    """Whole-number quantiles of a log-normal distribution cut off above, equal ones merged.

    Args:
        median: Median length before the cut [time steps].
        sigma: Standard deviation of the length's natural logarithm, > 0.
        longest: No longer length exists; the distribution below it keeps its shape.
        points: Quantiles taken, at the middle of equal shares of what is left.
    """
    normal = NormalDist(math.log(median), sigma)
    kept = normal.cdf(math.log(longest))
    exact = (math.exp(normal.inv_cdf((i + 0.5) / points * kept)) for i in range(points))
    return tuple(sorted({max(1, round(length)) for length in exact}))


def default_lengths(network: object) -> LengthModel | None:
    """The default length model of a network, None if it has none."""
    return _DEFAULTS.get(network) if isinstance(network, str) else None


# Conversations of Azure's service: a median of 1 020 tokens in and 129 out (Patel et al.,
# "Splitwise", ISCA 2024, Figure 3), a mean of 1 155 and 211 (the trace of 2023), so √(2 · ln
# 1155/1020) = 0.5 and √(2 · ln 211/129) = 1. Eight quantiles of the prompts, in whole tiles of 128.
_PROMPTS = (512, 640, 768, 896, 1152, 1280, 1536, 2176)
# What GPT-2 can hold: 1 024 tokens, prompt and answer.
_SHORT_PROMPTS = (128, 256, 384, 512, 640)


def _chat(
    family: str, prompts: tuple[int, ...], *, ratio_sigma: float
) -> tuple[LengthModel, LengthModel]:
    """Prompts of a decoder's two tasks, and the answers of the second."""
    return (
        LengthModel(network=f"{family}-prefill", input_lengths=prompts),
        LengthModel(
            network=f"{family}-decode",
            input_lengths=prompts,
            ratio_median=129 / 1020,
            ratio_sigma=ratio_sigma,
        ),
    )


# Every figure below is a choice (fidelity.md: C), with the public figure behind it. A request is
# one sentence or one utterance. For a mean m and a median d of log-normal lengths, m = d·exp(σ²/2).
_DEFAULTS: dict[str, LengthModel] = {
    model.network: model
    for model in (
        # Sentences of film reviews (the Rotten Tomatoes set of Dai and Le 2015, the network's
        # source): 22 words on average, at most 52.
        LengthModel(
            network="rnn-sa",
            input_lengths=quantile_grid(median=20, sigma=0.45, longest=52),
        ),
        # Sentences of news (WMT newstest, about 23 words on average), at most the 50 words that the
        # network was trained on. English to French: 1.06 characters per character, and a variance
        # of 5.6 per character, so √(5.6/130) = 0.21 for a sentence of 22 words or 130 characters
        # (Gale and Church 1993).
        LengthModel(
            network="rnn-mt1",
            input_lengths=quantile_grid(median=21, sigma=0.55, longest=50),
            ratio_median=1.06,
            ratio_sigma=0.21,
        ),
        # The same sentences in word pieces, about 1.2 per word. English to German: 1.1 and 7.3 in
        # the same source, √(7.3/130) = 0.24.
        LengthModel(
            network="rnn-mt2",
            input_lengths=quantile_grid(median=25, sigma=0.55, longest=50),
            ratio_median=1.1,
            ratio_sigma=0.24,
        ),
        # Voice searches, on which Listen-Attend-Spell was trained: 2 000 hours in 3 million
        # utterances (Chan et al. 2016), 2.4 s or 240 frames on average. English is read at about
        # 15 characters a second, 0.15 a frame; speakers' rates differ by about a fifth.
        LengthModel(
            network="rnn-asr",
            input_lengths=quantile_grid(median=220, sigma=0.4),
            ratio_median=0.15,
            ratio_sigma=0.2,
        ),
        # Questions on a paragraph, as in MLPerf Inference (SQuAD): some 10 and 120 words, about
        # 1.25 word pieces each, at most the 384 that it cuts at.
        LengthModel(
            network="bert-base",
            input_lengths=quantile_grid(median=165, sigma=0.4, longest=384, points=8),
        ),
        # One window of 30 s: 15 characters a second as above, some four a token.
        LengthModel(network="whisper-tiny", input_lengths=(1,), ratio_median=112, ratio_sigma=0.2),
        *_chat("gpt2", _SHORT_PROMPTS, ratio_sigma=0.5),
        *_chat("llama-1b", _PROMPTS, ratio_sigma=1.0),
        *_chat("llama-8b", _PROMPTS, ratio_sigma=1.0),
    )
}
