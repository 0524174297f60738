"""Is a policy better than PREMA on every draw, or only on average? Ten blocks of workloads.

Each block is a comparison of its own, on test seeds that no other block has. Policy and PREMA play
the same workloads and are shown the same estimates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.training.objective import FIVE, gains, geometric_mean, measure
from prema_gym.baselines import PREMA
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.evaluation.policy import Decider
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

SEED = 700_000_000
"""First test seed; other than those of the shipped tables and of the generalisation table."""


@dataclass(frozen=True)
class Blocks:
    """How many times better than PREMA a policy is, block by block.

    Attributes:
        ratios: float64 (blocks, 5), in the order of ``FIVE``.
        checkpoints: Checkpoints a workload, the mean of all.
    """

    ratios: NDArray[np.float64]
    checkpoints: float

    @property
    def geometric_means(self) -> NDArray[np.float64]:
        """Of the five, float64 (blocks,)."""
        return np.array([geometric_mean(np.log(ratios)) for ratios in self.ratios])


def compare_in_blocks(
    policies: Mapping[str, Decider],
    scenario: Scenario,
    estimate: str,
    *,
    blocks: int,
    workloads: int,
    seed: int = SEED,
) -> dict[str, Blocks]:
    """Compare policies with PREMA on every block.

    Args:
        policies: By name.
        scenario: What is drawn.
        estimate: What all are shown as isolated times.
        blocks: How many.
        workloads: Of each block.
        seed: First seed of the first.

    Raises:
        ConfigError: The seeds are not all test seeds.
    """
    seeds.check_test(seed, blocks * workloads)
    catalog, settings = compile_scenario(scenario), PlaySettings(estimate=estimate)
    reference = baselines.make(PREMA)
    ratios: dict[str, list[NDArray[np.float64]]] = {name: [] for name in policies}
    checkpoints: dict[str, list[float]] = {name: [] for name in policies}
    for block in range(blocks):
        first = seed + block * workloads
        batch = sample_batch(catalog, range(first, first + workloads))
        base = measure(play(reference, catalog, batch, settings))
        for name, policy in policies.items():
            outcomes = play(policy, catalog, batch, settings)
            ratios[name].append(np.exp(gains(measure(outcomes), base)))
            checkpoints[name].append(float(outcomes.checkpoints.sum()) / workloads)
    return {
        name: Blocks(np.array(ratios[name]), float(np.mean(checkpoints[name]))) for name in policies
    }


def summary(found: Blocks) -> Sequence[str]:
    """A line's cells: mean of the five, their least of all blocks, means' range, checkpoints."""
    means = found.geometric_means
    least = found.ratios.min(axis=0)
    return (
        f"{np.exp(np.log(means).mean()):.3f}",
        f"{means.min():.3f} to {means.max():.3f}",
        *(f"{value:.3f}" if value >= 1 else f"*{value:.3f}*" for value in least),
        str(int((found.ratios.min(axis=1) >= 1.0).sum())),
        f"{found.checkpoints:.1f}",
    )


HEADER = (
    "geometric mean",
    "of the blocks",
    *(f"least {metric.title}" for metric in FIVE),
    "blocks with all five ≥ 1",
    "checkpoints a workload",
)
"""Titles of what :func:`summary` gives."""
