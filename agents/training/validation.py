"""How good is a policy by now? Five gains over PREMA on workloads kept aside for selection."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.training.objective import (
    FIVE,
    Gains,
    gains,
    geometric_mean,
    measure,
    weights_of,
)
from prema_gym.baselines import PREMA
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.evaluation.policy import Decider
from prema_gym.simulator import DEFAULT_ESTIMATE, DEFAULT_SLOTS
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

FLOOR, FLOOR_WEIGHT = 0.02, 20.0
"""A gain below the floor counts so much more than one above, when checkpoints are compared: 2 %
is about what some hundred workloads can tell from nothing, and what is missing from that in one
place (of five metrics in four scenarios) weighs as much as the same gained in all of them."""

MAX_DECISIONS = 20_000
"""Cut for a policy that never settles: some 30 times what a workload of eight tasks takes."""


@dataclass(frozen=True)
class Validation:
    """One look at a policy.

    Attributes:
        values: The five metrics on the first scenario, float64 (5,).
        gains: Gains over the reference, float64 (scenarios, 5).
        score: What checkpoints are compared by; higher is better.
        decisions_per_s: Decisions a second while it was played, simulation included.
    """

    values: Gains
    gains: NDArray[np.float64]
    score: float
    decisions_per_s: float

    def row(self) -> dict[str, float]:
        """Flat numbers for a CSV or a log: the metrics and ratios on the first scenario."""
        row = {metric.name: float(v) for metric, v in zip(FIVE, self.values, strict=True)}
        ratios = np.exp(self.gains[0])
        row |= {f"{m.name}_ratio": float(r) for m, r in zip(FIVE, ratios, strict=True)}
        row["geometric_mean_ratio"] = geometric_mean(self.gains[0])
        row["least_ratio_anywhere"] = float(np.exp(self.gains.min()))
        row["score"] = self.score
        row["decisions_per_s"] = self.decisions_per_s
        return row


class Validator:
    """The validation workloads of one or more scenarios, and what the reference makes of them."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        *,
        weights: Sequence[float] = (1.0,),
        workloads: int = 200,
        first: int = 0,
        objective: str = "balanced",
        slots: int = DEFAULT_SLOTS,
        estimates: Sequence[str] | None = None,
    ) -> None:
        """Draw the workloads and play the reference on them.

        Args:
            scenarios: The first is the one reported; all count for the score.
            weights: Weight of each scenario in the score.
            workloads: Workloads of each.
            first: Validation workloads to pass over, so that a later look sees others.
            objective: What the score is about.
            slots: Rows of the table.
            estimates: What is shown as isolated times in each scenario; None: Algorithm 1's.
        """
        shown = [DEFAULT_ESTIMATE] * len(scenarios) if estimates is None else estimates
        self._weights = np.asarray(weights, dtype=np.float64) / sum(weights)
        self._metrics = weights_of(objective)
        self._play_settings = [
            PlaySettings(slots=slots, max_decisions=MAX_DECISIONS, estimate=estimate)
            for estimate in shown
        ]
        self._catalogs = [compile_scenario(scenario) for scenario in scenarios]
        drawn = seeds.validation_workloads(workloads, first).tolist()
        self._batches = [sample_batch(catalog, drawn) for catalog in self._catalogs]
        reference = baselines.make(PREMA)
        self.reference = [self._play(reference, k)[0] for k in range(len(self._catalogs))]

    def __call__(self, policy: Decider) -> Validation:
        """Play a policy on every scenario."""
        start = time.perf_counter()
        played = [self._play(policy, k) for k in range(len(self._catalogs))]
        took = time.perf_counter() - start
        gained = np.array(
            [gains(own, base) for (own, _), base in zip(played, self.reference, strict=True)]
        )
        return Validation(
            values=played[0][0],
            gains=gained,
            score=score(gained, self._weights, self._metrics),
            decisions_per_s=sum(decisions for _, decisions in played) / took,
        )

    def _play(self, policy: Decider, k: int) -> tuple[Gains, int]:
        outcomes = play(policy, self._catalogs[k], self._batches[k], self._play_settings[k])
        return measure(outcomes), int(outcomes.decisions.sum())


def score(
    gained: NDArray[np.float64], of_scenarios: NDArray[np.float64], of_metrics: NDArray[np.float64]
) -> float:
    """Weighted gain over scenarios (first axis) and metrics, with the floor."""
    worth = gained - FLOOR_WEIGHT * np.maximum(FLOOR - gained, 0.0)
    return float(of_scenarios @ worth @ of_metrics)


def describe(timesteps: int, seen: Validation, best: bool) -> str:
    """One line about a validation: how many times better than the reference on each metric."""
    row = seen.row()
    names = ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high", "geometric_mean")
    short = ("ANTT", "STP", "fairness", "SLA", "p95 high", "mean")
    ratios = ", ".join(
        f"{label} {row[f'{name}_ratio']:.3f}×" for label, name in zip(short, names, strict=True)
    )
    mark = " (best so far)" if best else ""
    return (
        f"{timesteps:>12,} steps: {ratios}; least anywhere {row['least_ratio_anywhere']:.3f}×{mark}"
    )
