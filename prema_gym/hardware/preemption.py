"""What does a preemption cost: how long until the machine is free, and what is saved or lost?

:func:`preemption_cost` answers for one instant of one task, :func:`preemption_table` for the whole
course of networks. Unit of time: cycles inside, microseconds in the table. Source: fidelity.md,
"Preemption", and docs/simulator.md, "Mechanisms"; the statistics are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import kernel
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.profile import (
    DRAM_BYTES,
    END_SEGMENT,
    FIRST_SEGMENT,
    GROUPS,
    INNER_CYCLES,
    INNER_TILES,
    LAST_CYCLES,
    LEAD_CYCLES,
    OUTPUT_BASE_BYTES,
    OUTPUT_BYTES,
    OUTPUT_STEPS,
    PARTIAL_BYTES,
    REPEAT,
    Profile,
    build_profile,
    dram_cycles,
    host_cycles,
)
from prema_gym.networks.network import Network

# The share of instants that the "p95" columns cover.
_P95 = 0.95


@dataclass(frozen=True, kw_only=True)
class PreemptionCost:
    """Cost of preempting one task at one instant, by every mechanism.

    The tile in flight completes first (``wait_cycles``), whatever the mechanism but DRAIN.
    """

    wait_cycles: int  # until the next boundary
    context_bytes: int  # saved by CHECKPOINT, 0 for the others
    reload_bytes: int  # weights and inputs the next tile loads again on restore
    save_cycles: int  # CHECKPOINT to NPU memory
    restore_cycles: int  # from NPU memory, later
    host_save_cycles: int  # CHECKPOINT to the host, where NPU memory is full
    host_restore_cycles: int  # from the host, later
    killed_cycles: int  # work lost by KILL
    drain_cycles: int  # until the task ends: what DRAIN waits

    @property
    def checkpoint_latency_cycles(self) -> int:
        """From the request until the machine is free, by CHECKPOINT to NPU memory."""
        return self.wait_cycles + self.save_cycles

    @property
    def kill_latency_cycles(self) -> int:
        """From the request until the machine is free, by KILL."""
        return self.wait_cycles

    @property
    def drain_latency_cycles(self) -> int:
        """From the request until the machine is free, by DRAIN."""
        return self.drain_cycles


def preemption_cost(
    profile: Profile, progress_cycles: int, *, output_length: int = 1
) -> PreemptionCost:
    """Price a preemption of a running task.

    If the next boundary is the task's end it completes there: nothing is saved or lost.

    Args:
        profile: The running task's profile.
        progress_cycles: Useful cycles it has executed, from 0 to its isolated time.
        output_length: Its output steps.

    Raises:
        ConfigError: ``progress_cycles`` lies outside the task.
    """
    boundary, context, reload = profile.preemption_point(
        progress_cycles, output_length=output_length
    )
    total = profile.total_cycles(output_length)
    machine = profile.table.machine
    return PreemptionCost(
        wait_cycles=boundary - progress_cycles,
        context_bytes=context,
        reload_bytes=reload,
        save_cycles=int(dram_cycles(machine, context)),
        restore_cycles=int(dram_cycles(machine, context + reload)),
        host_save_cycles=int(host_cycles(machine, context)),
        host_restore_cycles=int(host_cycles(machine, context) + dram_cycles(machine, reload)),
        killed_cycles=boundary if boundary < total else 0,
        drain_cycles=total - progress_cycles,
    )


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
class PreemptionRow:
    """One network at one batch size: what a CHECKPOINT at a uniformly random instant meets."""

    network: str
    batch: int
    input_length: int
    output_length: int
    context_bytes: Spread  # saved at the next boundary
    latency_us: Spread  # to the next boundary, plus the save


def preemption_table(
    config: NPUConfig,
    network: Network,
    *,
    batches: Sequence[int] = (1, 4, 16),
    input_length: int = 1,
    output_length: int = 1,
) -> list[PreemptionRow]:
    """Tabulate context size and preemption latency over the course of a network.

    Exact, not sampled: every tile counts with its duration, and within a tile of d cycles the time
    to its end is uniform between 0 and d. A context goes to NPU memory, or to the host if even an
    empty NPU memory cannot hold it.

    Args:
        config: The machine.
        network: The network.
        batches: Batch sizes, one row each; the default is the paper's.
        input_length: Input steps of a recurrent network; others ignore it.
        output_length: Output steps, for a phase that repeats once for each; others ignore it.

    Raises:
        ConfigError: A batch size or length is not a positive integer.
    """
    rows = []
    for batch in batches:
        profile = build_profile(config, network, batch=batch, input_length=input_length)
        context_bytes, latency_cycles = preemption_spread(profile, output_length=output_length)
        rows.append(
            PreemptionRow(
                network=network.name,
                batch=batch,
                input_length=input_length,
                output_length=output_length,
                context_bytes=context_bytes,
                latency_us=latency_cycles.scaled(config.microseconds(1)),
            )
        )
    return rows


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
    parts: list[NDArray[np.int64]] = []
    for phase in profile.phases:
        repeat = output_length if phase[REPEAT] == OUTPUT_STEPS else int(phase[REPEAT])
        segments = profile.segments[phase[FIRST_SEGMENT] : phase[END_SEGMENT]]
        for index, segment in enumerate(segments):
            is_last = index + 1 == len(segments)
            ends_layer = is_last or segments[index + 1][OUTPUT_BASE_BYTES] == 0
            tiles = _segment_tiles(segment, profile.config.ubuf_bytes, ends_layer)
            tiles[2] *= repeat
            parts.append(tiles)
    durations, contexts, counts = np.concatenate(parts, axis=1)
    present = counts > 0
    return durations[present], contexts[present], counts[present]


def _segment_tiles(
    segment: NDArray[np.int64], ubuf_bytes: int, ends_layer: bool
) -> NDArray[np.int64]:
    """As :func:`_tiles`, for one segment: int64 (3, 2 · groups + 1)."""
    groups, inner_tiles = int(segment[GROUPS]), int(segment[INNER_TILES])
    outputs = segment[OUTPUT_BASE_BYTES] + np.arange(groups + 1) * segment[OUTPUT_BYTES]
    contexts = np.minimum(outputs, ubuf_bytes)
    inner_contexts = contexts[:-1] + segment[PARTIAL_BYTES]
    last_contexts = contexts[1:].copy()
    if ends_layer:
        last_contexts[-1] = 0
    inner_counts = np.full(groups, inner_tiles)
    last_counts = np.ones(groups, dtype=np.int64)
    # The very first tile is apart: it also takes the layer's exposed load.
    if inner_tiles > 0:
        first = (segment[INNER_CYCLES] + segment[LEAD_CYCLES], inner_contexts[0], 1)
        inner_counts[0] -= 1
    else:
        first = (segment[LAST_CYCLES] + segment[LEAD_CYCLES], last_contexts[0], 1)
        last_counts[0] -= 1
    inner_durations = np.full(groups, segment[INNER_CYCLES])
    last_durations = np.full(groups, segment[LAST_CYCLES])
    return np.concatenate(
        [
            np.array([first], dtype=np.int64).T,
            np.stack([inner_durations, inner_contexts, inner_counts]),
            np.stack([last_durations, last_contexts, last_counts]),
        ],
        axis=1,
    )


@kernel
def _save_cycles(
    machine: NDArray[np.int64], contexts: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Write to ``out`` the cycles that saving each context takes, if NPU memory is empty."""
    for index in range(len(contexts)):
        if contexts[index] <= machine[DRAM_BYTES]:
            out[index] = dram_cycles(machine, contexts[index])
        else:
            out[index] = host_cycles(machine, contexts[index])


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
