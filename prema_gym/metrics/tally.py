"""What is kept of the requests of a long run? Counts, sums and histograms, in fixed room.

Requests that count are numbered in order of arrival and fall into batches of equal size, which
give the intervals (`prema_gym.metrics.dependent`). Each adds to three groups: its network, its
priority and its stream; and to all. Latencies go into a histogram whose bins are a 128th as wide as
their place, so that a percentile is off by less than 1 %. Times are cycles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.metrics.formulas import FloatArray, IntArray
from prema_gym.simulator.rules import Record
from prema_gym.simulator.state import DROPPED, NONE

NUM_BATCHES = 20
"""Batches of a run: enough for an interval, long enough to be all but independent."""

# Columns of Tally.counts.
ARRIVED, FINISHED, MISSED, GOOD, DROPPED_COUNT, REJECTED_COUNT, LEFT, UNDECIDED = range(8)
NUM_COUNTS = 8
# Columns of Tally.sums.
LATENCY, LATENCY_SQUARED, NTT = range(3)
NUM_SUMS = 3

_FINE_BITS = 7
_FINE = 1 << _FINE_BITS
_MOST_BITS = 52
NUM_BINS = (_MOST_BITS - _FINE_BITS + 1) * _FINE
ALL = 0  # the group of all requests


class Tally(NamedTuple):
    """Arrays that compiled code adds to (K batches, G groups)."""

    counts: IntArray  # (K, G, NUM_COUNTS)
    sums: FloatArray  # (K, G, NUM_SUMS)
    histogram: NDArray[np.int32]  # (K, G, NUM_BINS) of latencies
    first_arrival: IntArray  # (K,) of each batch's first request
    in_system: FloatArray  # (1,) Σ time in the system, within the window [cycles]
    oldest: IntArray  # (1,) age of the oldest request that is left [cycles]


class Fold(NamedTuple):
    """How requests are folded into a tally."""

    warmup: int  # requests before those that count
    requests: int  # that count
    start_cycles: int  # arrival of the first that counts; a large number before it is known
    priorities: IntArray  # (P,) weights, increasing
    first_priority: int  # group of the least of them; networks' groups begin at 1
    first_stream: int  # group of stream 0


def new_tally(groups: int) -> Tally:
    """An empty tally of so many groups."""
    return Tally(
        np.zeros((NUM_BATCHES, groups, NUM_COUNTS), np.int64),
        np.zeros((NUM_BATCHES, groups, NUM_SUMS)),
        np.zeros((NUM_BATCHES, groups, NUM_BINS), np.int32),
        np.full(NUM_BATCHES, 2**62, np.int64),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


@in_place
def fold_finished(tasks: NDArray[np.void], count: int, fold: Fold, tally: Tally) -> None:
    """Add the finished, dropped and rejected requests among the loaded ones.

    Args:
        tasks: Records (N,) of one run.
        count: How many of them are loaded.
        fold: How.
        tally: Added to.
    """
    for index in range(count):
        task = tasks[index]
        if task["completion_cycles"] != NONE:
            _fold(task, task["completion_cycles"], fold, tally)


@in_place
def fold_left(tasks: NDArray[np.void], count: int, now: int, fold: Fold, tally: Tally) -> None:
    """Add the requests that are still in the system at the end.

    One whose deadline has passed has missed it; of the others nobody knows.

    Args:
        tasks: Records (N,) of one run, the finished ones folded and removed.
        count: How many of them have arrived.
        now: The end [cycles].
        fold: How.
        tally: Added to.
    """
    for index in range(count):
        task = tasks[index]
        tally.oldest[0] = max(tally.oldest[0], now - task["arrival_cycles"])
        start = max(task["arrival_cycles"], fold.start_cycles)
        tally.in_system[0] += max(now - start, 0)
        if _batch_of(task, fold) < 0:
            continue
        _count(task, fold, tally, ARRIVED)
        _count(task, fold, tally, LEFT)
        _count(task, fold, tally, MISSED if task["deadline_cycles"] < now else UNDECIDED)


@inlined
def _fold(task: Record, completion: int, fold: Fold, tally: Tally) -> None:
    if completion >= 0:
        start = max(task["arrival_cycles"], fold.start_cycles)
        tally.in_system[0] += max(completion - start, 0)
    batch = _batch_of(task, fold)
    if batch < 0:
        return
    first = tally.first_arrival[batch]
    tally.first_arrival[batch] = min(first, task["arrival_cycles"])
    _count(task, fold, tally, ARRIVED)
    if completion < 0:
        _count(task, fold, tally, MISSED)
        _count(task, fold, tally, DROPPED_COUNT if completion == DROPPED else REJECTED_COUNT)
        return
    _count(task, fold, tally, FINISHED)
    _count(task, fold, tally, GOOD if completion <= task["deadline_cycles"] else MISSED)
    latency = completion - task["arrival_cycles"]
    place = bin_of(latency)
    for kind in range(4):
        group = _group_of(task, fold, kind)
        tally.sums[batch, group, LATENCY] += latency
        tally.sums[batch, group, LATENCY_SQUARED] += float(latency) * float(latency)
        tally.sums[batch, group, NTT] += latency / task["isolated_cycles"]
        tally.histogram[batch, group, place] += 1


@inlined
def _count(task: Record, fold: Fold, tally: Tally, column: int) -> None:
    batch = _batch_of(task, fold)
    for kind in range(4):
        tally.counts[batch, _group_of(task, fold, kind), column] += 1


@inlined
def _batch_of(task: Record, fold: Fold) -> int:
    """Batch of a request; below 0 where it does not count."""
    number = task["number"] - fold.warmup
    if number < 0 or number >= fold.requests:
        return -1
    return int(number * NUM_BATCHES // fold.requests)


@inlined
def _group_of(task: Record, fold: Fold, kind: int) -> int:
    """Group of a request by kind: all, network, priority, stream."""
    if kind == 0:
        return ALL
    if kind == 1:
        return int(1 + task["network"])
    if kind == 2:
        place = 0
        while fold.priorities[place] < task["priority"]:
            place += 1
        return int(fold.first_priority + place)
    return int(fold.first_stream + task["stream"])


@inlined
def bin_of(cycles: int) -> int:
    """Bin of a time: exact below 128 cycles, a 128th of its power of two above."""
    shift = 0
    while (cycles >> shift) >= 2 * _FINE:
        shift += 1
    if shift == 0 and cycles < _FINE:
        return cycles
    return shift * _FINE + (cycles >> shift)


def bin_edges() -> tuple[FloatArray, FloatArray]:
    """Least time of each bin and its width [cycles], float64 (NUM_BINS,)."""
    place = np.arange(NUM_BINS)
    shift = np.maximum(place // _FINE - 1, 0)
    low = np.where(place < _FINE, place, (place - shift * _FINE)) * 2.0**shift
    return low, 2.0**shift
