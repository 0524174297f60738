"""What counts as better? The five metrics of the comparison with PREMA, as logarithms of ratios.

A *gain* is log(times better than the reference on the same workloads): 0 means equal, above 0
better, whatever the metric's direction. Ratios are of means over workloads (of percentiles over
all tasks for the tail), exactly as ``prema_gym.evaluation.compare`` reports them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import UnknownNameError
from prema_gym.metrics import METRICS, Metric, Outcomes

Gains = NDArray[np.float64]

# Objective → the metric it stands for; the order is that of every array of five here.
OBJECTIVES: dict[str, str] = {
    "antt": "antt",
    "stp": "stp",
    "fairness": "fairness",
    "sla": "sla_violation",
    "tail": "p95_ntt_high",
}
FIVE: tuple[Metric, ...] = tuple(
    next(metric for metric in METRICS if metric.name == name) for name in OBJECTIVES.values()
)
BALANCED = "balanced"

LEAST, MOST = 1e-4, 1e6
"""Bounds of a metric before its logarithm is taken, far outside what is seen: a batch without a
single SLA violation is not infinitely good, nor one with an unfinished task infinitely bad."""


def objective_names() -> tuple[str, ...]:
    """Every objective one can train for."""
    return (BALANCED, *OBJECTIVES)


def weights_of(objective: str) -> Gains:
    """Weight of each of the five gains, float64 (5,), summing to 1.

    Raises:
        UnknownNameError: There is no such objective.
    """
    if objective == BALANCED:
        return np.full(len(FIVE), 1.0 / len(FIVE))
    if objective not in OBJECTIVES:
        raise UnknownNameError("objective", objective, objective_names())
    return np.array([float(name == objective) for name in OBJECTIVES])


def measure(outcomes: Outcomes) -> Gains:
    """The five metrics of a batch of workloads, float64 (5,), as evaluations report them."""
    return np.array([metric.reported(outcomes) for metric in FIVE])


def gains(own: Gains, reference: Gains) -> Gains:
    """log(times better than the reference) of each of the five, float64 (5,).

    0 where a metric is undefined, as the tail is on workloads without a high-priority task.
    """
    within = zip(FIVE, np.clip(reference, LEAST, MOST), np.clip(own, LEAST, MOST), strict=True)
    ratios = np.array([metric.times_better(base, value) for metric, base, value in within])
    return np.asarray(np.nan_to_num(np.log(ratios), nan=0.0))


def geometric_mean(five: Gains | Sequence[float]) -> float:
    """Geometric mean of the five ratios, from the gains."""
    return float(np.exp(np.mean(five)))
