"""How are contexts and preemption latencies spread over the course of a task?

Exact, not sampled: every tile counts with its duration, and within a tile of d cycles the time to
its end is uniform between 0 and d. Unit of time: cycles. Source: the statistics are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import kernel
from prema_gym.hardware.layout import (
    DRAM_BYTES,
    END_SEGMENT,
    FIRST_CYCLES,
    FIRST_SEGMENT,
    GROUP_CYCLES,
    GROUPS,
    INNER_CYCLES,
    OUTPUT_BYTES,
    OUTPUT_STEPS,
    PARTIAL_BYTES,
    REPEAT,
    SWITCH_CYCLES,
    TILES,
    UNSTORED_BYTES,
)
from prema_gym.hardware.profile import Profile
from prema_gym.hardware.transfers import dram_cycles, host_cycles

# The share of instants that the "p95" columns cover.
_P95 = 0.95


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How one quantity is spread over the course of a network."""

    min: float
    mean: float
    p95: float
    max: float

    def scaled(self, factor: float) -> Spread:
        """The same spread in another unit."""
        return Spread(
            min=self.min * factor,
            mean=self.mean * factor,
            p95=self.p95 * factor,
            max=self.max * factor,
        )


def preemption_spread(profile: Profile, *, output_length: int = 1) -> tuple[Spread, Spread]:
    """Spread of context bytes and of preemption latency in cycles, for one profile.

    Returns:
        ``(context_bytes, latency_cycles)``. The latency's ``min`` is its infimum: an instant just
        before a boundary.
    """
    durations, contexts, counts = _tiles(profile, output_length)
    saves = np.empty_like(contexts)
    _save_cycles(profile.table.machine, contexts, saves)
    weights = counts * durations
    total = int(weights.sum())
    context = Spread(
        min=float(contexts.min()),
        mean=float(weights @ contexts.astype(np.float64)) / total,
        p95=_weighted_quantile(contexts, weights, _P95),
        max=float(contexts.max()),
    )
    latency = Spread(
        min=float(saves.min()),
        mean=float(weights @ (saves + durations / 2)) / total,
        p95=_uniform_mixture_quantile(saves, durations, counts, _P95),
        max=float((saves + durations).max()),
    )
    return context, latency


def _tiles(
    profile: Profile, output_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the tiles of a task, alike ones of an output tile once.

    Returns:
        Arrays of equal length: duration [cycles], context at the tile's end [bytes], and how many
        such tiles there are.
    """
    rows: list[tuple[int, int, int]] = []
    for phase in profile.phases:
        repeat = output_length if phase[REPEAT] == OUTPUT_STEPS else int(phase[REPEAT])
        segments = profile.segments[phase[FIRST_SEGMENT] : phase[END_SEGMENT]]
        for index, segment in enumerate(segments):
            is_last = index + 1 == len(segments)
            ends_layer = is_last or segments[index + 1][UNSTORED_BYTES] == 0
            rows += [
                (duration, context, count * repeat)
                for duration, context, count in _segment_tiles(segment.tolist(), ends_layer)
            ]
    durations, contexts, counts = np.array(rows, dtype=np.int64).T.copy()
    present = counts > 0
    return durations[present], contexts[present], counts[present]


def _segment_tiles(segment: list[int], ends_layer: bool) -> Iterator[tuple[int, int, int]]:
    """As :func:`_tiles`, one by one for one segment."""
    groups, tiles, first = segment[GROUPS], segment[TILES], segment[FIRST_CYCLES]
    last = first
    if tiles > 1:
        inner_tiles, inner = tiles - 2, segment[INNER_CYCLES]
        last = segment[GROUP_CYCLES] - first - inner_tiles * inner
        yield first, segment[PARTIAL_BYTES], groups
        yield inner, segment[PARTIAL_BYTES], groups * inner_tiles
    yield last, segment[OUTPUT_BYTES], groups - ends_layer
    yield last, 0, int(ends_layer)


@kernel
def _save_cycles(
    machine: NDArray[np.int64], contexts: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Write to ``out`` the cycles to save each context, switch latency included.

    NPU memory is empty, and the task's last tile counts as any other.
    """
    for index in range(len(contexts)):
        if contexts[index] <= machine[DRAM_BYTES]:
            out[index] = dram_cycles(machine, contexts[index])
        else:
            out[index] = host_cycles(machine, contexts[index])
        out[index] += machine[SWITCH_CYCLES]


def _weighted_quantile(
    values: NDArray[np.int64], weights: NDArray[np.int64], share: float
) -> float:
    """Smallest value such that values up to it hold at least ``share`` of the weight."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def _uniform_mixture_quantile(
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    counts: NDArray[np.int64],
    share: float,
) -> float:
    """Quantile of a mixture of uniform distributions on ``[start, start + length]``.

    Each component weighs ``count · length``, so its density is ``count`` over its length, and the
    mixture's density is a step function: up by ``count`` at each start, down at each end.
    """
    edges = np.concatenate([starts, starts + lengths])
    steps = np.concatenate([counts, -counts])
    order = np.argsort(edges, kind="stable")
    edges = edges[order]
    density = np.cumsum(steps[order])[:-1]
    mass = np.concatenate([[0], np.cumsum(density * np.diff(edges))])
    return float(np.interp(share * mass[-1], mass, edges))
