"""What is each metric? Formulas over a table of normalised turnaround times.

The one intermediate is the table of normalised turnaround times ``ntt``: float64, tasks on the last
axis, NaN where there is no task (padding) and ∞ where a task never finished. All functions are pure
and work on any number of leading axes. Times are integer NPU cycles.

Unfinished tasks must not flatter a policy: they violate every SLA target and every deadline, add
nothing to the throughput, hold fairness at 0 and sit at ∞ in the percentiles. Only a mean of NTT
cannot hold them: it is over the finished tasks, and the count of unfinished ones stands beside it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

UNFINISHED = -1
"""Completion time of a task that never finished."""

SLA_TARGETS: tuple[int, ...] = tuple(range(2, 21))
"""NTT targets n of the SLA curve (fidelity.md, Metrics: n = 2 … 20)."""


def ntt(
    arrival_cycles: ArrayLike,
    completion_cycles: ArrayLike,
    isolated_cycles: ArrayLike,
    present: ArrayLike | None = None,
) -> FloatArray:
    """Normalised turnaround time: (completion − arrival) / isolated time.

    Args:
        arrival_cycles: int64 (…, N) [cycles].
        completion_cycles: int64 (…, N) [cycles]; :data:`UNFINISHED` where the task never finished.
        isolated_cycles: int64 (…, N) [cycles, > 0 where a task is present], time when run alone.
        present: bool (…, N), False on padding; all present by default.

    Returns:
        float64 (…, N), at least 1 for a finished task, ∞ for an unfinished one, NaN on padding.

    Source:
        fidelity.md, Metrics (turnaround/isolated time); Eyerman & Eeckhout, IEEE Micro 28(3), 2008.
    """
    arrival = np.asarray(arrival_cycles, dtype=np.int64)
    completion = np.asarray(completion_cycles, dtype=np.int64)
    isolated = np.asarray(isolated_cycles, dtype=np.int64)
    here = np.ones(arrival.shape, dtype=bool) if present is None else np.asarray(present, bool)
    # Padding may hold any number, also 0: divide by 1 there, the result is overwritten.
    slowdown = (completion - arrival) / np.where(here, isolated, 1)
    slowdown = np.where(completion == UNFINISHED, np.inf, slowdown)
    return np.where(here, slowdown, np.nan)


def sum_in_order(values: FloatArray) -> FloatArray:
    """Sum over the last axis from the first to the last: float64 (…,).

    ``np.sum`` groups its additions by the length of the axis, so that padding with zeros would
    change the last digits.
    """
    return np.asarray(np.cumsum(values, axis=-1)[..., -1], dtype=np.float64)


def _mean(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean over the last axis, NaN where all weight is 0; ``values`` must be finite."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sum_in_order(values * weight) / sum_in_order(weight), dtype=np.float64)


def mean_of_known(values: FloatArray) -> FloatArray:
    """Mean over the last axis of what is not NaN, ∞ taking part: float64 (…,), or NaN."""
    known = ~np.isnan(values)
    return _mean(np.where(known, values, 0.0), known.astype(np.float64))


def mean_of_finished(values: FloatArray) -> FloatArray:
    """Mean over the finished tasks, where a table like ``ntt`` is finite: float64 (…,), or NaN."""
    finished = np.isfinite(values)
    return _mean(np.where(finished, values, 0.0), finished.astype(np.float64))


def antt(ntt: FloatArray) -> FloatArray:
    """Average NTT of the finished tasks: float64 (…,), NaN where none finished. Lower is better.

    Source: fidelity.md, Metrics.
    """
    return mean_of_finished(ntt)


def priority_antt(ntt: FloatArray, priority: ArrayLike) -> FloatArray:
    """Σ π·NTT / Σ π over the finished tasks: float64 (…,), NaN where none finished.

    Source: ours, because ANTT gives a high-priority task no more say than a low one.
    """
    finished = np.isfinite(ntt)
    weight = np.where(finished, np.asarray(priority, dtype=np.float64), 0.0)
    return _mean(np.where(finished, ntt, 0.0), weight)


def stp(ntt: FloatArray) -> FloatArray:
    """System throughput Σ 1/NTT: float64 (…,), at most the number of tasks. Higher is better.

    An unfinished task adds 0. Source: fidelity.md, Metrics.
    """
    return sum_in_order(np.nan_to_num(1.0 / ntt, nan=0.0))


def fairness(ntt: FloatArray, priority: ArrayLike) -> FloatArray:
    """Fairness min PP / max PP, with PP_i = (1/NTT_i) / (π_i / Σπ): float64 (…,), in [0, 1].

    1 means that every task progressed in proportion to its priority. 0 where some task never
    finished, NaN where none did. Source: fidelity.md, Metrics.
    """
    weight = np.asarray(priority, dtype=np.float64)
    here = ~np.isnan(ntt)
    share = weight / sum_in_order(np.where(here, weight, 0.0))[..., None]
    # On padding the priority may be 0; those entries are overwritten.
    with np.errstate(invalid="ignore", divide="ignore"):
        progress = (1.0 / ntt) / share
        least = np.where(here, progress, np.inf).min(axis=-1)
        most = np.where(here, progress, -np.inf).max(axis=-1)
        return np.asarray(least / most, dtype=np.float64)


def sla_curve(ntt: FloatArray, targets: ArrayLike = SLA_TARGETS) -> FloatArray:
    """Share of tasks whose NTT exceeds each target: float64 (…, targets). Lower is better.

    Unfinished tasks violate every target. Source: fidelity.md, Metrics.
    """
    goals = np.asarray(targets, dtype=np.float64)
    here = (~np.isnan(ntt)).sum(axis=-1)[..., None]
    # NaN > n is False, so padding never counts.
    violations = (ntt[..., None, :] > goals[:, None]).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(violations / here, dtype=np.float64)


def sla_violation(ntt: FloatArray) -> FloatArray:
    """Mean of the SLA curve over n = 2 … 20: float64 (…,). Lower is better. Source: fidelity.md."""
    return np.asarray(sla_curve(ntt).mean(axis=-1), dtype=np.float64)


def percentile(ntt: FloatArray, percent: float) -> FloatArray:
    """Percentile of the present tasks: float64 (…,), NaN where there is none, ∞ if it falls there.

    Method: linear interpolation between order statistics at rank (n − 1)·percent/100 from 0 (type 7
    of Hyndman & Fan, NumPy's default), with ∞ allowed as a value.

    Args:
        ntt: float64 (…, N); NaN marks what does not take part.
        percent: In [0, 100].
    """
    ordered = np.sort(ntt, axis=-1)  # NaN goes last, ∞ just before
    count = (~np.isnan(ntt)).sum(axis=-1)
    rank = np.maximum(count - 1, 0) * (percent / 100.0)
    low = np.floor(rank).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    take = np.take_along_axis
    below = take(ordered, low[..., None], axis=-1)[..., 0]
    above = take(ordered, high[..., None], axis=-1)[..., 0]
    return interpolate(below, above, rank - low)


def interpolate(below: FloatArray, above: FloatArray, fraction: FloatArray) -> FloatArray:
    """``below + fraction·(above − below)`` elementwise, where either end may be ∞."""
    with np.errstate(invalid="ignore"):
        between = below + fraction * (above - below)
    return np.where((fraction == 0.0) | (below == above), below, between)


Better = Literal["lower", "higher"] | None
"""Which direction of a quantity is better; None: neither."""


def times_better(base: FloatArray, value: FloatArray, better: Better) -> FloatArray:
    """How many times better ``value`` is than ``base``: above 1 is better, whatever the metric.

    Args:
        base: float64, any shape.
        value: float64, same shape.
        better: Direction of the metric; None gives NaN, since neither direction is better.

    Returns:
        base/value where lower is better, value/base where higher is; NaN for 0/0, ∞ for x/0.
    """
    if better is None:
        return np.full(np.shape(base), np.nan)
    top, bottom = (base, value) if better == "lower" else (value, base)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.asarray(top) / np.asarray(bottom), dtype=np.float64)


def missed_deadlines(
    completion_cycles: ArrayLike, deadline_cycles: ArrayLike, present: ArrayLike
) -> IntArray:
    """Number of tasks that finished after their deadline or never: int64 (…,).

    Args:
        completion_cycles: int64 (…, N) [cycles]; :data:`UNFINISHED` where the task never finished.
        deadline_cycles: int64 (…, N) [cycles].
        present: bool (…, N), False on padding.
    """
    completion = np.asarray(completion_cycles, dtype=np.int64)
    late = (completion > np.asarray(deadline_cycles)) | (completion == UNFINISHED)
    return np.asarray((late & np.asarray(present, bool)).sum(axis=-1), dtype=np.int64)
