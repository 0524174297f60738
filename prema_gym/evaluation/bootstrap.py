"""What might a number have been on other workloads? Bootstrap over whole workloads.

A workload is the unit of chance: its tasks share arrivals and a machine, so tasks are never
resampled on their own. Every policy is resampled with the *same* draws, which makes ratios between
policies paired: the luck of a hard workload cancels. ``intervals.py`` makes intervals of it.

Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), ch. 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.metrics import FloatArray, IntArray, interpolate

RESAMPLES = 1000
"""Resamples behind an interval: its ends then move by a few percent of its width between seeds."""

_BLOCK_ELEMENTS = 2_000_000
"""Resamples are handled in blocks of this many numbers, so that memory stays in the megabytes."""


class Bootstrap:
    """The resamples of one set of workloads, used for every metric and every policy.

    Attributes:
        counts: uint8 (resamples, workloads), how often each workload was drawn. A count above 255
            would need a workload to be drawn more than 255 times where once is expected.
    """

    def __init__(self, workloads: int, *, resamples: int = RESAMPLES, seed: int = 0) -> None:
        """Draw the resamples.

        Args:
            workloads: Number of workloads, at least 1.
            resamples: Number of resamples, at least 1.
            seed: Seed of the draws; the same seed gives the same intervals.
        """
        # A child of the seed: the workload drawn from the seed itself takes other numbers.
        rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        self.counts: NDArray[np.uint8] = np.empty((resamples, workloads), dtype=np.uint8)
        for row in self.counts:
            drawn = rng.integers(0, workloads, size=workloads)
            row[:] = np.bincount(drawn, minlength=workloads)

    @property
    def resamples(self) -> int:
        """Number of resamples."""
        return int(self.counts.shape[0])

    @property
    def workloads(self) -> int:
        """Number of workloads in each resample."""
        return int(self.counts.shape[1])

    def means(self, values: FloatArray) -> FloatArray:
        """Mean over workloads of each column, in every resample.

        Args:
            values: float64 (workloads, columns); NaN does not take part, ∞ makes a mean ∞.

        Returns:
            float64 (resamples, columns), NaN where a resample drew no value.
        """
        finite = np.isfinite(values)
        total = np.empty((self.resamples, values.shape[1]))
        drawn, infinite = np.empty_like(total), np.zeros_like(total)
        any_infinite = bool(np.isinf(values).any())
        for rows in self._blocks(self.workloads):
            counts = self.counts[rows].astype(np.float64)
            total[rows] = counts @ np.where(finite, values, 0.0)
            drawn[rows] = counts @ finite.astype(np.float64)
            if any_infinite:
                infinite[rows] = counts @ np.isinf(values).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / drawn
        return np.where(infinite > 0, np.inf, mean)

    def percentiles(self, pool: FloatArray, percent: float) -> FloatArray:
        """Percentile over the tasks of all workloads together, in every resample.

        Args:
            pool: float64 (workloads, tasks); NaN does not take part.
            percent: In [0, 100]; same method as :func:`prema_gym.metrics.percentile`.

        Returns:
            float64 (resamples,), NaN where a resample drew no task.
        """
        rows_of, columns_of = np.nonzero(~np.isnan(pool))
        values = pool[rows_of, columns_of]
        drawn = self.counts @ np.bincount(rows_of, minlength=self.workloads)
        if values.size == 0:
            return np.full(self.resamples, np.nan)
        order = np.argsort(-values, kind="stable")
        values, owner = values[order], rows_of[order]
        rank = np.maximum(drawn - 1, 0) * (percent / 100.0)
        low = np.floor(rank).astype(np.int64)
        high = np.minimum(low + 1, np.maximum(drawn - 1, 0))
        # Counted from the largest value down, so that a high percentile touches few tasks.
        below = self._from_top(values, owner, drawn - low)
        above = self._from_top(values, owner, drawn - high)
        return np.where(drawn > 0, interpolate(below, above, rank - low), np.nan)

    def _from_top(self, values: FloatArray, owner: IntArray, depth: IntArray) -> FloatArray:
        """The ``depth``-th largest drawn value of every resample: float64 (resamples,).

        Args:
            values: float64 (tasks,), descending.
            owner: int64 (tasks,), the workload of each; drawn k times, it brings k copies.
            depth: int64 (resamples,), from 1; beyond the last drawn value gives the smallest.
        """
        out = np.empty(self.resamples)
        # A resample holds about as many copies of the largest values as there are of them; twice
        # the depth is nearly always enough.
        width = min(2 * int(depth.max()) + 1, values.size)
        for rows in self._blocks(width):
            reached = np.cumsum(self.counts[rows][:, owner[:width]], axis=1, dtype=np.int32)
            wide = width
            while wide < values.size and np.any(reached[:, -1] < depth[rows]):
                wide = min(2 * wide, values.size)
                reached = np.cumsum(self.counts[rows][:, owner[:wide]], axis=1, dtype=np.int32)
            index = (reached < depth[rows, None]).sum(axis=1)
            out[rows] = values[np.minimum(index, values.size - 1)]
        return out

    def _blocks(self, width: int) -> list[slice]:
        """Slices of resamples such that a block of ``width`` numbers each stays small."""
        size = max(1, _BLOCK_ELEMENTS // max(width, 1))
        return [slice(start, start + size) for start in range(0, self.resamples, size)]
