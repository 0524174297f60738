"""How long is a recurrent task's output, and what does the scheduler expect of it?

Drawing. The output length is

    max(1, round(input length × ratio)),

where the ratio is one of 64 equally likely quantiles of a log-normal distribution, kept as whole
millionths. So it is the same on every machine. A batch runs in lockstep: a task has one input and
one output length whatever its batch.

Predicting. The scheduler knows the input length, never the output length. It looks up the
geometric mean of the output lengths seen for that input length in profile runs (fidelity.md,
"Algorithm 1"). The runs come from the same distribution but from a seed of their own.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from prema_gym.workloads.lengths import LengthModel

# Quantiles in a ratio table: the middle of each 1/64 of the distribution, out to ±2.4 standard
# deviations. A power of two, so that scaling a uniform number to an index is exact.
NUM_RATIOS = 64
# Ratios are kept in millionths: finer than any effect on a length of up to 10⁵ steps.
RATIO_ONE = 1_000_000
# Seed of the profile runs. It is used with a spawn key, which NumPy places above the first 128 bits
# of a seed: no workload seed below 2¹²⁸ shares the stream.
PROFILE_SEED = 0x50524F46  # "PROF"
# Profile runs per network: about 50 for each of the 20 default lengths, which leaves the geometric
# mean an error of 0.22/√50 = 3 %, well below the spread of a single output length.
PROFILE_RUNS = 1000


@lru_cache(maxsize=256)
def ratio_table(model: LengthModel | None) -> tuple[int, ...]:
    """The 64 equally likely output/input ratios of a network [millionths].

    Rounded to whole millionths, so that the last bit of a machine's logarithm does not matter.
    All zero where the output is known to be one step (also for None, a network without a sequence):
    `output_length` then gives 1.
    """
    if model is None or model.ratio_median is None:
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
