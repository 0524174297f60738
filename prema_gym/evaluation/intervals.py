"""Between which ends does a figure lie? Intervals of 95 %, made to cover as often as they say.

Workloads are few and their figures skewed, so plain percentiles of a bootstrap cover far too seldom
(42 % of the time with two workloads). Here the distance of a mean from the truth is measured in its
own standard errors, on a scale on which it can lie anywhere: the logarithm of what is above the
least possible value, or the logit where there is a largest one too. How many errors it may be off
is read from the bootstrap, and is never less than Student's t allows. Ratios of two policies are
paired workload by workload. Percentiles of tasks take the wider of two intervals: expanded
percentiles of the bootstrap, and Student's t with the bootstrap's standard error.

How often they cover: ``python -m docs.generate.coverage`` (docs/fidelity.md, Intervals).

Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), ch. 12 (bootstrap-t, variance
stabilising scales); Hesterberg, The American Statistician 69(4), 2015 (expanded percentiles). That
neither is ever narrower than Student's t is ours.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from prema_gym.evaluation.bootstrap import Bootstrap
from prema_gym.metrics import FloatArray, mean_of_known, percentile

CONFIDENCE_PERCENT = 95.0

LEAST_WORKLOADS = 10
"""With fewer workloads no interval is given: one that covers then spans orders of magnitude."""

LEAST_BEYOND = 10
"""A percentile is read from tasks of which at least so many lie beyond it; of fewer it is little
more than the largest."""

_TAIL = (100.0 - CONFIDENCE_PERCENT) / 2.0

Ends = tuple[FloatArray, FloatArray]


class Scale(NamedTuple):
    """A scale without ends for quantities that have some: where a step is worth the same anywhere.

    Attributes:
        least: Smallest possible value, float64 (K,) or one for all.
        most: Largest; infinite where there is none.
    """

    least: FloatArray
    most: FloatArray

    def to(self, value: FloatArray) -> FloatArray:
        """The value on this scale; −∞ and ∞ at its ends."""
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.log(value - self.least)
            below = np.log(self.most - value)
            return np.asarray(np.where(np.isinf(self.most), above, above - below))

    def slope(self, value: FloatArray) -> FloatArray:
        """Derivative of :meth:`to`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1.0 / (value - self.least) + 1.0 / (self.most - value))

    def back(self, scaled: FloatArray) -> FloatArray:
        """Undo :meth:`to`."""
        with np.errstate(over="ignore", invalid="ignore"):
            open_ended = self.least + np.exp(scaled)
            share = 1.0 / (1.0 + np.exp(-scaled))
            # An infinite span times a share is not looked at.
            return np.where(
                np.isinf(self.most), open_ended, self.least + share * (self.most - self.least)
            )


POSITIVE = Scale(np.float64(0.0), np.float64(np.inf))  # type: ignore[arg-type]  # of ratios


def students_t(freedom: float) -> float:
    """How many standard errors 95 % of means lie within, with so many degrees of freedom.

    Right to 0.1 % from 4 on. Source: Abramowitz & Stegun (1964), 26.7.5.
    """
    z = NormalDist().inv_cdf(1.0 - _TAIL / 100.0)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def mean_ends(values: FloatArray, scale: Scale, bootstrap: Bootstrap) -> Ends:
    """Ends of the interval of the mean of each column: two of float64 (K,).

    NaN where fewer than :data:`LEAST_WORKLOADS` have a value, or one is infinite. Where all have
    the same value the interval is that value; if they all lie at an end of a scale with two, it
    reaches as far as a mean can lie without that being a surprise of less than 2.5 %.

    Args:
        values: float64 (workloads, K); NaN does not take part.
        scale: Where each column's values can lie.
        bootstrap: The resamples of the workloads.
    """
    values = np.where(np.isinf(values).any(axis=0), np.nan, values)
    known = _known(values)
    mean = mean_of_known(values.T)
    off = values - mean
    error = _error(mean_of_known((off**2).T), known)
    shift = bootstrap.means(off)
    errors = _error(bootstrap.means(off**2) - shift**2, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = scale.to(mean + shift) - scale.to(mean)
        studentised = moved / (scale.slope(mean + shift) * errors)
        low, high = _around(scale.to(mean), scale.slope(mean) * error, studentised, known)
        low, high = scale.back(low), scale.back(high)
    surprise = (scale.most - scale.least) * (1.0 - (_TAIL / 100.0) ** (1.0 / np.maximum(known, 1)))
    bounded = np.isfinite(scale.most)
    same = error == 0.0
    low = np.where(same, mean - np.where(bounded & (mean == scale.most), surprise, 0.0), low)
    high = np.where(same, mean + np.where(bounded & (mean == scale.least), surprise, 0.0), high)
    return _where_enough(low, high, known)


def ratio_ends(top: FloatArray, bottom: FloatArray, bootstrap: Bootstrap) -> Ends:
    """Ends of the interval of mean ``top`` / mean ``bottom`` of each column: two of float64 (K,).

    Args:
        top: float64 (workloads, K), not negative; what is not finite does not take part, nor does
            its partner.
        bottom: Likewise.
        bootstrap: The resamples of the workloads.
    """
    unpaired = ~(np.isfinite(top) & np.isfinite(bottom))
    top, bottom = np.where(unpaired, np.nan, top), np.where(unpaired, np.nan, bottom)
    known = _known(top)
    with np.errstate(invalid="ignore", divide="ignore"):
        over, under = mean_of_known(top.T), mean_of_known(bottom.T)
        centre = np.log(over / under)
        x, y = top / over - 1.0, bottom / under - 1.0
        error = _error(mean_of_known(((x - y) ** 2).T), known)
        a, b = bootstrap.means(x), bootstrap.means(y)
        # Variance of (1 + x)/(1 + a) − (1 + y)/(1 + b), whose mean is 0 in every resample.
        spread = (
            (bootstrap.means(x**2) - a**2) / (1.0 + a) ** 2
            - 2.0 * (bootstrap.means(x * y) - a * b) / ((1.0 + a) * (1.0 + b))
            + (bootstrap.means(y**2) - b**2) / (1.0 + b) ** 2
        )
        studentised = np.log((1.0 + a) / (1.0 + b)) / _error(spread, known)
        low, high = _around(centre, error, studentised, known)
    return _where_enough(POSITIVE.back(low), POSITIVE.back(high), known)


def percentile_ends(point: float, draws: FloatArray, scale: Scale, workloads: int) -> Ends:
    """Ends of the interval of a percentile, or of a ratio of two: two of float64 ().

    Args:
        point: What it is of all tasks.
        draws: float64 (resamples,), what it is in each resample; what is not finite is left out.
        scale: Where it can lie.
        workloads: How many there are.
    """
    finite = np.where(np.isfinite(draws), draws, np.nan)
    student = students_t(max(workloads - 1, 1))
    outside = 100.0 * NormalDist().cdf(-student * math.sqrt(workloads / max(workloads - 1, 1)))
    on_scale = scale.to(finite)
    on_scale = on_scale[np.isfinite(on_scale)]
    reach = student * (on_scale.std() if on_scale.size else np.nan)
    middle = scale.to(np.float64(point))  # type: ignore[arg-type]
    low = np.fmin(percentile(finite, outside), scale.back(middle - reach))
    high = np.fmax(percentile(finite, 100.0 - outside), scale.back(middle + reach))
    known = np.int64(workloads if math.isfinite(point) else 0)
    return _where_enough(low, high, known)  # type: ignore[arg-type]


def enough_beyond(tasks: int, percent: float) -> bool:
    """Whether a percentile of so many tasks can be read from them; see :data:`LEAST_BEYOND`."""
    return tasks * (100.0 - percent) / 100.0 >= LEAST_BEYOND


def _known(values: FloatArray) -> FloatArray:
    """How many workloads have a value, float64 (K,)."""
    return np.asarray((~np.isnan(values)).sum(axis=0), dtype=np.float64)


def _error(variance: FloatArray, known: FloatArray) -> FloatArray:
    """Standard error of a mean of ``known`` values, from their variance about it."""
    return np.asarray(np.sqrt(np.maximum(variance, 0.0) / np.maximum(known - 1.0, 1.0)))


def _around(
    centre: FloatArray, error: FloatArray, studentised: FloatArray, known: FloatArray
) -> Ends:
    """As many errors to each side as the resamples need on the other, and Student's t at least."""
    by_column = np.moveaxis(np.where(np.isfinite(studentised), studentised, np.nan), 0, -1)
    student = np.array([students_t(max(count - 1.0, 1.0)) for count in known])
    above = np.fmax(percentile(by_column, 100.0 - _TAIL), student)
    below = np.fmax(-percentile(by_column, _TAIL), student)
    return centre - above * error, centre + below * error


def _where_enough(low: FloatArray, high: FloatArray, known: FloatArray) -> Ends:
    enough = (known >= LEAST_WORKLOADS) & np.isfinite(low) & np.isfinite(high)
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)
