"""How well do the estimates match the true isolated times?

Figures are exact expectations over the tasks that a scenario draws, each with its probability
(`Catalog.probabilities`), not a sample. The estimate includes what the scheduler does not know: it
uses the predicted output length, the truth the drawn one.

Source: the claim "98 % correlation" (fidelity.md, S); the weighting is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prema_gym.errors import UnknownNameError
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.rates import mean_isolated_cycles
from prema_gym.workloads.tables import FloatArray


@dataclass(frozen=True, kw_only=True)
class EstimateAccuracy:
    """Estimate against truth over a scenario's tasks.

    Attributes:
        correlation: Pearson's coefficient of estimate and true isolated time; None if either is
            the same for every task.
        mean_relative_error: Mean of |estimate − truth| / truth.
        max_relative_error: The largest |estimate − truth| / truth.
        bias: Mean of (estimate − truth) / truth: below 0 if tasks take longer than expected.
    """

    correlation: float | None
    mean_relative_error: float
    max_relative_error: float
    bias: float


def estimate_accuracy(catalog: Catalog, network: str | None = None) -> EstimateAccuracy:
    """Compare estimate and truth over every task that a scenario can draw.

    Args:
        catalog: The compiled scenario.
        network: Only this network's tasks; None for all.

    Raises:
        UnknownNameError: The scenario does not have the network.
    """
    names = catalog.scenario.networks
    if network is not None and network not in names:
        raise UnknownNameError("network", network, names, f"scenario {catalog.scenario.name!r}")
    truth, weight = _isolated_times(catalog)
    guess = catalog.arrays.estimated_cycles.astype(np.float64)[:, None]
    if network is not None:
        chosen = catalog.arrays.profile_network == names.index(network)
        truth, weight, guess = truth[chosen], weight[chosen], guess[chosen]
    weight = weight / weight.sum()
    error = (guess - truth) / truth
    return EstimateAccuracy(
        correlation=_pearson(np.broadcast_to(guess, truth.shape), truth, weight),
        mean_relative_error=float((weight * np.abs(error)).sum()),
        max_relative_error=float(np.abs(error).max()),
        bias=float((weight * error).sum()),
    )


def mean_isolated_ms(catalog: Catalog) -> float:
    """Expected true isolated time of one drawn task [ms]."""
    return catalog.hardware.milliseconds(mean_isolated_cycles(catalog.arrays))


def expected_quanta(catalog: Catalog) -> float:
    """Scheduling quanta that the work of one drawn workload fills."""
    scenario = catalog.scenario
    return scenario.num_tasks * mean_isolated_ms(catalog) / scenario.quantum_ms


def _isolated_times(catalog: Catalog) -> tuple[FloatArray, FloatArray]:
    """True isolated cycles and probability of every task: float64 (num_profiles, NUM_RATIOS)."""
    arrays = catalog.arrays
    truth = arrays.fixed_cycles[:, None] + arrays.step_cycles[:, None] * arrays.output_lengths
    return truth.astype(np.float64), catalog.probabilities


def _pearson(x: FloatArray, y: FloatArray, weight: FloatArray) -> float | None:
    """Pearson's coefficient under probabilities ``weight``, None if x or y does not vary."""
    dx = x - (weight * x).sum()
    dy = y - (weight * y).sum()
    spread = float((weight * dx * dx).sum() * (weight * dy * dy).sum())
    # Rounding leaves a constant a spread of some 10⁻³² of its square, never exactly 0.
    if spread <= 1e-24 * float((weight * x * x).sum() * (weight * y * y).sum()):
        return None
    return float((weight * dx * dy).sum() / np.sqrt(spread))
