"""How is the cost of a preemption, by each mechanism, spread over the course of a task?

Exact, not sampled: every tile counts with its duration, and within a tile of d cycles the time to
its end is uniform between 0 and d. Defined in docs/switch-costs.md, "What one costs". Unit of time:
cycles. Source: the statistics are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prema_gym.checks import whole
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
    PHASE_CYCLES,
    REPEAT,
    SWITCH_CYCLES,
    TILES,
    UNSTORED_BYTES,
    ProfileTable,
)
from prema_gym.hardware.locate import first_segment, locate_inlined
from prema_gym.hardware.profile import Profile
from prema_gym.hardware.transfers import dram_cycles, host_cycles

# The share of instants that the "p95" columns cover.
_P95 = Fraction(95, 100)

MOST_TILES = 50_000_000
"""Tiles that are looked at one by one at most: a gigabyte and some seconds."""


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


@dataclass(frozen=True, kw_only=True)
class PreemptionSpread:
    """What a request at a uniformly random instant of a task meets, by each mechanism.

    A context goes to NPU memory, or to the host if even an empty NPU memory cannot hold it. In the
    task's last tile the task is done before anything happens: only the wait is paid. A latency's
    ``min`` is its infimum, met just before a boundary.
    """

    context_bytes: Spread  # saved by CHECKPOINT
    checkpoint_latency_cycles: Spread  # until the machine is free: the tile's end, switch, save
    restore_cycles: Spread  # after a CHECKPOINT, before the task goes on
    kill_latency_cycles: Spread  # until the machine is free: the tile's end, switch
    killed_cycles: Spread  # work lost by KILL
    drain_latency_cycles: Spread  # until the machine is free: the task's end


def preemption_spread(profile: Profile, *, output_length: int = 1) -> PreemptionSpread:
    """Spread of contexts, latencies, restores and lost work over the course of one profile.

    Args:
        profile: The task's profile.
        output_length: Its output steps.
    """
    durations, contexts, counts = _tiles(profile, output_length)
    saves = np.empty_like(contexts)
    _save_cycles(profile.table.machine, contexts, saves)
    switches = np.full_like(saves, profile.table.machine[SWITCH_CYCLES])
    switches[-1] = 0  # the task is done there
    total = int((counts * durations).sum())
    return PreemptionSpread(
        context_bytes=_of_values(contexts, counts * durations),
        checkpoint_latency_cycles=_of_waits(switches + saves, durations, counts),
        restore_cycles=_of_values(*_restores(profile, output_length)),
        kill_latency_cycles=_of_waits(switches, durations, counts),
        killed_cycles=_killed(profile, output_length, durations, counts),
        drain_latency_cycles=Spread(min=0, mean=total / 2, p95=float(_P95 * total), max=total),
    )


def _of_values(values: NDArray[np.int64], weights: NDArray[np.int64]) -> Spread:
    """Spread of values that hold for so many cycles each."""
    return Spread(
        min=float(values.min()),
        mean=float(weights @ values.astype(np.float64)) / int(weights.sum()),
        p95=_weighted_quantile(values, weights, float(_P95)),
        max=float(values.max()),
    )


def _of_waits(
    starts: NDArray[np.int64], durations: NDArray[np.int64], counts: NDArray[np.int64]
) -> Spread:
    """Spread of the time to a tile's end with something after it, ``starts``, by tiles alike."""
    weights = counts * durations
    return Spread(
        min=float(starts.min()),
        mean=float(weights @ (starts + durations / 2)) / int(weights.sum()),
        p95=_uniform_mixture_quantile(starts, durations, counts, float(_P95)),
        max=float((starts + durations).max()),
    )


def _killed(
    profile: Profile,
    output_length: int,
    durations: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> Spread:
    """Spread of what KILL loses: all up to the next boundary, nothing in the task's last tile.

    So up to a boundary b is lost at so many of the T instants as b and the last tile are long.
    """
    weights = counts * durations
    total, last = int(weights.sum()), int(durations[-1])
    to_boundary = float(weights @ (durations / 2)) / total
    reached = max(0, math.ceil(_P95 * total - last))
    boundary = profile.preemption_point(reached, output_length=output_length).boundary_cycles
    return Spread(
        min=0.0,
        mean=total / 2 + to_boundary - last,
        p95=float(boundary),
        max=float(total - last),
    )


def _tiles(
    profile: Profile, output_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the tiles of a task, alike ones of an output tile once.

    Returns:
        Arrays of equal length: duration [cycles], context at the tile's end [bytes], and how many
        such tiles there are. The task's last tile is the last, on its own.
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
    duration, context, count = rows.pop()
    rows += [(duration, context, count - 1), (duration, context, 1)]
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
    """Write to ``out`` the cycles to save each context while NPU memory is empty."""
    for index in range(len(contexts)):
        if contexts[index] <= machine[DRAM_BYTES]:
            out[index] = dram_cycles(machine, contexts[index])
        else:
            out[index] = host_cycles(machine, contexts[index])


def _restores(profile: Profile, output_length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Restore at each tile's end and cycles that meet it, over one repetition of every phase.

    Tiles that differ in nothing else differ in what they reload, so each is looked at.

    Raises:
        ConfigError: There are more than ``MOST_TILES``.
    """
    segments, phases = profile.segments, profile.phases
    tiles = int((segments[:, GROUPS] * segments[:, TILES]).sum())
    whole(1, MOST_TILES).check("tiles to list", tiles)
    durations, restores = np.empty(tiles, np.int64), np.empty(tiles, np.int64)
    ends = np.empty(len(phases), np.int64)
    _walk(profile.table, output_length, durations, restores, ends)
    repeats = np.where(phases[:, REPEAT] == OUTPUT_STEPS, output_length, phases[:, REPEAT])
    return restores, durations * np.repeat(repeats, np.diff(ends, prepend=0))


@kernel
def _walk(
    table: ProfileTable,
    output_length: int,
    durations: NDArray[np.int64],
    restores: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    """Write each tile of one repetition of every phase, and how many end by each phase's end."""
    machine = table.machine
    start = 0
    tile = 0
    segment = first_segment(table, 0)
    for phase in range(len(ends)):
        cycles = int(table.phases[phase, PHASE_CYCLES])
        repeat = int(table.phases[phase, REPEAT])
        now = start
        while now < start + cycles:
            boundary, context, reload, refill, segment = locate_inlined(
                table, 0, output_length, now + 1, segment
            )
            if context <= machine[DRAM_BYTES]:
                restore = dram_cycles(machine, context + reload)
            else:
                restore = host_cycles(machine, context) + dram_cycles(machine, reload)
            durations[tile] = boundary - now
            restores[tile] = restore + refill
            now = boundary
            tile += 1
        ends[phase] = tile
        start += cycles * (output_length if repeat == OUTPUT_STEPS else repeat)


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
