"""How sure are we of a number from a long run, whose requests wait for each other?

Neighbours in a queue are alike, so an interval that takes them for independent is far too narrow.
Batch means: the run is cut into long batches, all but independent of each other; a ratio of sums
(a mean, a share) varies as its batches do, and a percentile as the share of requests beyond it
does, read back through the distribution. Where that share is too uncertain an end is unknown (NaN).
Batches of several runs stand side by side. Source: Law, Simulation Modeling and Analysis, ch. 9.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from prema_gym.metrics.formulas import FloatArray, IntArray
from prema_gym.metrics.tally import bin_edges

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A value and the ends of its 95 % interval; NaN where unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan


def ratio(tops: FloatArray, bottoms: FloatArray, most: float = math.inf) -> Estimate:
    """Σ tops / Σ bottoms over batches, with an interval from how the batches differ.

    Args:
        tops: float64 (batches,), none below 0.
        bottoms: float64 (batches,).
        most: The largest ratio there can be, 1 for a share: no end lies above, nor any below 0.
    """
    total = float(bottoms.sum())
    if total <= 0:
        return Estimate(math.nan)
    value = float(tops.sum()) / total
    half = _half_width(tops, bottoms, value)
    if math.isnan(half):
        return Estimate(value)
    return Estimate(value, max(value - half, 0.0), min(value + half, most))


def share_of(counts: FloatArray, of: FloatArray) -> Estimate:
    """The same of things that are counted among others: from 0 to 1."""
    return ratio(counts, of, most=1.0)


def _half_width(tops: FloatArray, bottoms: FloatArray, value: float) -> float:
    """Half the width of a ratio's interval; NaN with fewer than two batches."""
    batches = int((bottoms > 0).sum())
    if batches < 2:
        return math.nan
    residual = tops - value * bottoms
    spread = math.sqrt(float((residual**2).sum()) * batches / (batches - 1))
    from scipy.special import stdtrit  # here: metrics load without SciPy

    quantile = float(stdtrit(batches - 1, 0.5 + CONFIDENCE / 2))
    return quantile * spread / float(bottoms.sum())


def percentile_of(histogram: IntArray, percent: float) -> Estimate:
    """A percentile of a distribution kept as histograms, one a batch.

    Args:
        histogram: (batches, NUM_BINS) of cycles.
        percent: In (0, 100).

    Returns:
        Cycles.
    """
    per_batch = histogram.sum(axis=1).astype(np.float64)
    count = float(per_batch.sum())
    if count == 0:
        return Estimate(math.nan)
    total = np.cumsum(histogram.sum(axis=0, dtype=np.int64))
    share = percent / 100.0
    value = _quantile(total, share)
    edges = bin_edges()[0]
    place = int(np.searchsorted(edges, value, side="right")) - 1
    beyond = histogram[:, place + 1 :].sum(axis=1).astype(np.float64)
    half = _half_width(beyond, per_batch, float(beyond.sum()) / count)
    # No narrower than independent requests would make it: a batch may hold no request beyond.
    half = max(half, 1.96 * math.sqrt(share * (1 - share) / count))
    low, high = share - half, share + half
    return Estimate(
        value,
        _quantile(total, low) if low > 0 else math.nan,
        _quantile(total, high) if high < 1 - 0.5 / count else math.nan,
    )


def _quantile(total: IntArray, share: float) -> float:
    """Quantile from cumulative counts, interpolated inside its bin [cycles]."""
    low, width = bin_edges()
    wanted = share * (float(total[-1]) - 1) + 0.5
    place = int(np.searchsorted(total, wanted))
    below = float(total[place - 1]) if place else 0.0
    inside = (wanted - below) / max(float(total[place]) - below, 1.0)
    # A bin one cycle wide holds one value.
    return float(low[place] + inside * (width[place] - 1))
