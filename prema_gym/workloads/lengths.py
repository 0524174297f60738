"""How long are the sequences of a recurrent task, and what does the scheduler expect of them?

Drawing. The input length is one of a short list of equally likely lengths (the quantiles of a
stated distribution). The output length is

    max(1, round(input length × ratio)),

where the ratio is one of 64 equally likely quantiles of a log-normal distribution, kept as whole
millionths. A draw is therefore two table look-ups and one integer division: the same on every
machine. A batch runs in lockstep, so a task has one input and one output length whatever its batch.

Predicting. The scheduler knows the input length, never the output length. It looks up the
geometric mean of the output lengths seen for that input length in profile runs (fidelity.md,
"Algorithm 1"). The runs come from the same distribution but from a seed of their own.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from prema_gym.errors import ConfigError, UnknownNameError

# Quantiles in a ratio table: the middle of each 1/64 of the distribution, out to ±2.4 standard
# deviations. A power of two, so that scaling a uniform number to an index is exact.
NUM_RATIOS = 64
# Ratios are kept in millionths: finer than any effect on a length of up to 10⁵ steps.
RATIO_ONE = 1_000_000
# Longest input and largest median ratio accepted: far beyond any use, and small enough that an
# output length never leaves 64 bits (10⁶ · 10³ · exp(2.4 · 3) · 10⁶ < 2⁶³).
MAX_LENGTH = 1_000_000
MAX_RATIO = 1_000
# Input lengths in a default list: each stands for 5 % of the tasks. Every one needs a profile per
# batch size, so the list is short.
NUM_INPUT_LENGTHS = 20
# Seed of the profile runs. It is used with a spawn key, which NumPy places above the first 128 bits
# of a seed: no workload seed below 2¹²⁸ shares the stream.
PROFILE_SEED = 0x50524F46  # "PROF"
# Profile runs per network: about 50 for each of the 20 default lengths, which leaves the geometric
# mean an error of 0.22/√50 = 3 %, well below the spread of a single output length.
PROFILE_RUNS = 1000


@dataclass(frozen=True, kw_only=True)
class LengthModel:
    """Sequence lengths of one recurrent network's tasks.

    Attributes:
        network: The network it belongs to.
        input_lengths: Equally likely input lengths [time steps], strictly increasing.
        ratio_median: Median of output length / input length; None for a network whose output
            length is known to be one step (a classifier).
        ratio_sigma: Standard deviation of the ratio's natural logarithm, 0 for a fixed ratio.

    Raises:
        ConfigError: On construction, a value outside its range.
    """

    network: str
    input_lengths: tuple[int, ...]
    ratio_median: float | None = None
    ratio_sigma: float = 0.0

    def __post_init__(self) -> None:
        where = f"lengths of {self.network!r}"
        given = self.input_lengths
        if not isinstance(given, list | tuple) or not given:
            raise ConfigError(f"{where}: input_lengths must be a non-empty list, got {given!r}")
        for length in given:
            if not isinstance(length, int) or isinstance(length, bool):
                raise ConfigError(f"{where}: input length {length!r} is not a whole number")
        lengths = tuple(given)
        if min(lengths) < 1 or max(lengths) > MAX_LENGTH:
            raise ConfigError(f"{where}: input_lengths must be from 1 to {MAX_LENGTH}: {lengths}")
        if any(after <= before for before, after in pairwise(lengths)):
            raise ConfigError(f"{where}: input_lengths must be strictly increasing: {lengths}")
        object.__setattr__(self, "input_lengths", lengths)
        median = self.ratio_median
        if median is not None and not (_is_number(median) and 0 < median <= MAX_RATIO):
            raise ConfigError(
                f"{where}: ratio_median must be above 0 and at most {MAX_RATIO}, got {median!r}"
            )
        # exp(2.4 · 3) = 1 300: a wider spread is a mistake, not a language.
        if not (_is_number(self.ratio_sigma) and 0 <= self.ratio_sigma <= 3):
            raise ConfigError(f"{where}: ratio_sigma must be from 0 to 3, got {self.ratio_sigma!r}")

    def to_dict(self) -> dict[str, Any]:
        """Every field as plain data; one that is None is left out (TOML has no None)."""
        data = asdict(self) | {"input_lengths": list(self.input_lengths)}
        return {name: value for name, value in data.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "lengths") -> LengthModel:
        """Build a model from named values; absent ones are the named network's defaults.

        Raises:
            UnknownNameError: A key is no field; the message names the nearest one.
            ConfigError: A value is missing or not allowed.
        """
        known = [f.name for f in fields(cls)]
        for key in data:
            if key not in known:
                raise UnknownNameError("field", str(key), known, where)
        if "network" not in data:
            raise ConfigError(f"{where}: each entry must name its network")
        base = default_lengths(str(data["network"]))
        if base is None and "input_lengths" not in data:
            raise ConfigError(f"{where}: {data['network']!r} has no default: give input_lengths")
        try:
            return cls(**data) if base is None else replace(base, **data)
        except ConfigError as error:
            error.args = (f"{where}: {error}",)  # the same error, with what it came from
            raise


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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


@lru_cache(maxsize=256)
def ratio_table(model: LengthModel) -> tuple[int, ...]:
    """The 64 equally likely output/input ratios of a network [millionths].

    Rounded to whole millionths, so that the last bit of a machine's logarithm does not matter.
    All zero for a known output length: `output_length` then gives 1.
    """
    if model.ratio_median is None:
        return (0,) * NUM_RATIOS
    normal = NormalDist(0.0, 1.0)
    return tuple(
        round(
            RATIO_ONE
            * model.ratio_median
            * math.exp(model.ratio_sigma * normal.inv_cdf((i + 0.5) / NUM_RATIOS))
        )
        for i in range(NUM_RATIOS)
    )


def output_length(input_length: int, ratio_millionths: int) -> int:
    """max(1, round(input length × ratio)), halves upwards, in whole numbers [output steps]."""
    return max(1, (input_length * ratio_millionths + RATIO_ONE // 2) // RATIO_ONE)


@dataclass(frozen=True)
class OutputLengthTable:
    """What profile runs taught about a network's output lengths.

    Attributes:
        input_lengths: Input lengths seen [time steps], increasing.
        geometric_means: Geometric mean of the output lengths seen for each [output steps].
    """

    input_lengths: tuple[int, ...]
    geometric_means: tuple[float, ...]

    def predict(self, input_length: int) -> int:
        """Expected output length [output steps, >= 1].

        Linear between two seen lengths; beyond the ends, as for the nearest seen length.
        """
        return max(
            1, round(float(np.interp(input_length, self.input_lengths, self.geometric_means)))
        )


@lru_cache(maxsize=256)
def learn_output_lengths(model: LengthModel, runs: int = PROFILE_RUNS) -> OutputLengthTable:
    """Run ``runs`` profile runs of a network and tabulate what came out.

    Args:
        model: The network's length model; its name is part of the seed, so a network's table
            does not depend on which others are in the scenario.
        runs: Profile runs.

    Source:
        fidelity.md, "Algorithm 1" (S: table from profiles, geometric mean); number of runs: ours.
    """
    sequence = np.random.SeedSequence(PROFILE_SEED, spawn_key=(zlib.crc32(model.network.encode()),))
    uniforms = np.random.default_rng(sequence).random((runs, 2))
    ratios = ratio_table(model)
    logs: dict[int, list[float]] = {}
    for length_draw, ratio_draw in uniforms.tolist():
        length = model.input_lengths[int(length_draw * len(model.input_lengths))]
        observed = output_length(length, ratios[int(ratio_draw * NUM_RATIOS)])
        logs.setdefault(length, []).append(math.log(observed))
    seen = sorted(logs)
    return OutputLengthTable(
        tuple(seen), tuple(math.exp(math.fsum(logs[n]) / len(logs[n])) for n in seen)
    )


def default_lengths(network: str) -> LengthModel | None:
    """The default length model of a network, None if it has none."""
    return _DEFAULTS.get(network)


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
    )
}
