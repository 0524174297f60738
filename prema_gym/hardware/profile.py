"""Where in a network may a task be preempted, and how large is its context there?

A profile stores a network as a few uniform *segments*, so that the next preemption point after any
progress is a binary search and two divisions: exact to the tile, without a list of tiles.

Unit of time: cycles. Source: docs/simulator.md, "Tiles, boundaries, contexts"; the layout is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.errors import ConfigError, WorkloadError
from prema_gym.hardware.config import INT64_MAX, NPUConfig
from prema_gym.hardware.tiles import (
    TileRun,
    inner_cycles,
    last_cycles,
    layer_runs,
    lead_cycles,
)
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Network, Phase
from prema_gym.networks.work import Gemm

# Columns of ProfileTable.segments. A segment is GROUPS equal output tiles, each of INNER_TILES
# tiles of INNER_CYCLES and one of LAST_CYCLES.
START_CYCLES = 0  # since the phase's repetition began
LEAD_CYCLES = 1  # exposed first load of a layer, part of its first tile; else 0
GROUPS = 2
INNER_TILES = 3
INNER_CYCLES = 4
LAST_CYCLES = 5
OUTPUT_BASE_BYTES = 6  # this layer's output finished before the segment; 0 only at a layer's start
OUTPUT_BYTES = 7  # finished by one output tile
PARTIAL_BYTES = 8  # partial sums between the K tiles of an output tile
INNER_LOAD_BYTES = 9
LAST_LOAD_BYTES = 10
LAYER_CYCLES = 11  # of the whole layer, as `layer_groups` counts layers, the segment belongs to
LAYER_ESTIMATED_CYCLES = 12  # what the scheduler expects that layer to take
SEGMENT_FIELDS = 13

AT_END = -1  # in place of a segment: no tile is left

# Columns of ProfileTable.phases.
FIRST_SEGMENT = 0
END_SEGMENT = 1
PHASE_CYCLES = 2  # of one repetition
REPEAT = 3  # a number >= 1, or:
OUTPUT_STEPS = 0  # once per output step
PHASE_FIELDS = 4

# Columns of ProfileTable.profiles.
FIRST_PHASE = 0
END_PHASE = 1

# Entries of ProfileTable.machine. n bytes take ceil(n · NUM / DEN) cycles.
UBUF_BYTES = 0
DRAM_BYTES = 1
DRAM_LATENCY_CYCLES = 2
DRAM_NUM = 3
DRAM_DEN = 4
HOST_NUM = 5
HOST_DEN = 6
MACHINE_FIELDS = 7


class ProfileTable(NamedTuple):
    """The profiles of many networks as int64 arrays, for compiled code."""

    segments: NDArray[np.int64]  # (num_segments, SEGMENT_FIELDS)
    starts: NDArray[np.int64]  # (num_segments,) their START_CYCLES once more: a search reads lines
    phases: NDArray[np.int64]  # (num_phases, PHASE_FIELDS)
    profiles: NDArray[np.int64]  # (num_profiles, 2)
    machine: NDArray[np.int64]  # (MACHINE_FIELDS,)


class PreemptionPoint(NamedTuple):
    """The first boundary at or after some progress."""

    boundary_cycles: int
    context_bytes: int  # saved by a CHECKPOINT there
    reload_bytes: int  # weights and inputs the next tile loads again after a restore


@in_place
def dram_cycles(machine: NDArray[np.int64], num_bytes: int) -> int:
    """Cycles to move ``num_bytes`` to or from NPU memory, latency included; 0 for nothing.

    Args:
        machine: int64 (MACHINE_FIELDS,).
        num_bytes: Bytes moved, ``>= 0``.
    """
    if num_bytes == 0:
        return 0
    den = machine[DRAM_DEN]
    return int(machine[DRAM_LATENCY_CYCLES] + (num_bytes * machine[DRAM_NUM] + den - 1) // den)


@in_place
def host_cycles(machine: NDArray[np.int64], num_bytes: int) -> int:
    """Cycles to move ``num_bytes`` over the host link, latency included; 0 for nothing.

    Args:
        machine: int64 (MACHINE_FIELDS,).
        num_bytes: Bytes moved, ``>= 0``.
    """
    if num_bytes == 0:
        return 0
    den = machine[HOST_DEN]
    return int(machine[DRAM_LATENCY_CYCLES] + (num_bytes * machine[HOST_NUM] + den - 1) // den)


@inlined
def _locate_in_phase(
    table: ProfileTable, first: int, end: int, progress: int, guess: int
) -> tuple[int, int, int, int]:
    """As :func:`locate_inlined`, within one repetition of the phase ``[first, end)``.

    The segment is ``end`` where the repetition ends.
    """
    # The last segment that starts at or before `progress`: by bisection, within what steps of 1,
    # 2, 4, … from the guess have left.
    segments, starts = table.segments, table.starts
    segment = first
    beyond = end
    if first < guess < end and starts[guess] <= progress:
        segment = guess
        step = 1
        while segment + step < end and starts[segment + step] <= progress:
            segment += step
            step *= 2
        beyond = min(segment + step, end)
    while beyond - segment > 1:
        middle = (segment + beyond) // 2
        if starts[middle] <= progress:
            segment = middle
        else:
            beyond = middle

    start = starts[segment]
    lead = segments[segment, LEAD_CYCLES]
    inner_tiles = segments[segment, INNER_TILES]
    inner = segments[segment, INNER_CYCLES]
    group = inner_tiles * inner + segments[segment, LAST_CYCLES]

    # Tiles are equal once the lead is taken off; within the lead, the first tile is in flight.
    done = progress - start
    if done > 0:
        done = max(done - lead, 1)
        start += lead
    groups_done = done // group
    tiles_done = 0
    rest = done - groups_done * group
    if rest > inner_tiles * inner:
        groups_done += 1
    elif rest > 0:
        tiles_done = (rest + inner - 1) // inner
    boundary = start + groups_done * group + tiles_done * inner

    if groups_done == segments[segment, GROUPS]:  # the end of this segment: the next one follows
        segment += 1
        groups_done = 0
        if segment == end:
            return boundary, 0, 0, end
    output = segments[segment, OUTPUT_BASE_BYTES] + groups_done * segments[segment, OUTPUT_BYTES]
    if output == 0 and tiles_done == 0:  # the start of a layer
        return boundary, 0, 0, segment
    context = min(table.machine[UBUF_BYTES], output)
    if tiles_done > 0:
        context += segments[segment, PARTIAL_BYTES]
    if tiles_done < segments[segment, INNER_TILES]:
        return boundary, context, segments[segment, INNER_LOAD_BYTES], segment
    return boundary, context, segments[segment, LAST_LOAD_BYTES], segment


@inlined
def locate_inlined(
    table: ProfileTable, profile: int, output_length: int, progress: int, guess: int
) -> tuple[int, int, int, int]:
    """Find the first boundary at or after ``progress`` and what a preemption there costs.

    Args:
        table: The profiles.
        profile: Row of ``table.profiles``.
        output_length: Repetitions of phases that run once per output step, ``>= 1``.
        progress: Useful cycles executed, from 0 to the task's total; not checked here.
        guess: A segment not far before the one sought, which makes it quicker; any number is right.

    Returns:
        ``(boundary_cycles, context_bytes, reload_bytes)``, see :class:`PreemptionPoint`, and the
        row of ``table.segments`` with the tile that follows, or AT_END. A boundary is its own first
        boundary. O(phases + log segments).

    For callers that are compiled themselves; :func:`locate` is the same for all others.
    """
    phase_start = 0
    end_phase = table.profiles[profile, END_PHASE]
    for phase in range(table.profiles[profile, FIRST_PHASE], end_phase):
        cycles = table.phases[phase, PHASE_CYCLES]
        repeat = table.phases[phase, REPEAT]
        if repeat == OUTPUT_STEPS:
            repeat = output_length
        if progress < phase_start + repeat * cycles:
            first = table.phases[phase, FIRST_SEGMENT]
            end = table.phases[phase, END_SEGMENT]
            within = (progress - phase_start) % cycles
            boundary, context, reload, segment = _locate_in_phase(table, first, end, within, guess)
            boundary += progress - within
            if segment == end:  # of this repetition; phases lie one behind the other
                if boundary < phase_start + repeat * cycles:
                    segment = first
                elif phase + 1 == end_phase:
                    segment = AT_END
            return boundary, context, reload, segment
        phase_start += repeat * cycles
    return phase_start, 0, 0, AT_END


@inlined
def first_segment(table: ProfileTable, profile: int) -> int:
    """Row of ``table.segments`` with a profile's first tile."""
    return int(table.phases[table.profiles[profile, FIRST_PHASE], FIRST_SEGMENT])


@in_place
def locate(
    table: ProfileTable, profile: int, output_length: int, progress: int
) -> tuple[int, int, int, int]:
    """As :func:`locate_inlined`, compiled and cached on its own."""
    return locate_inlined(table, profile, output_length, progress, AT_END)


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of one network at one batch size and input length, on one machine."""

    config: NPUConfig
    segments: NDArray[np.int64]  # (num_segments, SEGMENT_FIELDS), read-only
    phases: NDArray[np.int64]  # (num_phases, PHASE_FIELDS), read-only

    @cached_property
    def table(self) -> ProfileTable:
        """This profile alone, as row 0 of a table."""
        return stack_profiles(self.config, [self])

    @cached_property
    def fixed_cycles(self) -> int:
        """Cycles that do not depend on the output length."""
        return sum(int(phase[PHASE_CYCLES]) * int(phase[REPEAT]) for phase in self.phases)

    @cached_property
    def step_cycles(self) -> int:
        """Cycles of one output step; 0 for a network without output steps."""
        return sum(
            int(phase[PHASE_CYCLES]) for phase in self.phases if phase[REPEAT] == OUTPUT_STEPS
        )

    def total_cycles(self, output_length: int = 1) -> int:
        """Isolated time of a task: ``fixed_cycles + output_length · step_cycles``.

        Raises:
            ConfigError: ``output_length`` is below 1, or the time overflows 64-bit cycles.
        """
        if output_length < 1:
            raise ConfigError(f"output_length = {output_length} is not allowed: give at least 1")
        total = self.fixed_cycles + output_length * self.step_cycles
        _check_int64("isolated time", total, "cycles")
        return total

    def preemption_point(self, progress_cycles: int, *, output_length: int = 1) -> PreemptionPoint:
        """Find the first boundary at or after ``progress_cycles``.

        Args:
            progress_cycles: Useful cycles executed, from 0 to :meth:`total_cycles`.
            output_length: Output steps of the task.

        Raises:
            ConfigError: ``progress_cycles`` lies outside the task.
        """
        total = self.total_cycles(output_length)
        if not 0 <= progress_cycles <= total:
            raise ConfigError(
                f"progress_cycles = {progress_cycles} is not allowed: give 0 to {total}"
            )
        *found, _ = locate(self.table, 0, output_length, progress_cycles)
        return PreemptionPoint(*(int(value) for value in found))


def build_profile(
    config: NPUConfig,
    network: Network,
    *,
    batch: int,
    input_length: int = 1,
    expect: Callable[[Layer], int] | None = None,
) -> Profile:
    """Lay a network's tiles end to end.

    Args:
        config: The machine.
        network: The network.
        batch: Inputs processed together, at least 1.
        input_length: Input steps of a recurrent network; others ignore it.
        expect: What the scheduler expects a layer to take [cycles]; None: the true time.

    Returns:
        The profile; its time is the sum of its tiles, layers' exposed loads included.

    Raises:
        ConfigError: ``batch`` or ``input_length`` is not a positive integer, or sizes overflow
            64-bit cycle counts.
        WorkloadError: The network has no work, or a phase without any.
    """
    rows: list[tuple[int, ...]] = []
    phases: list[tuple[int, int, int, int]] = []
    for phase in network.phases(input_length):
        first = len(rows)
        cycles = _append_phase(config, phase, batch, expect, rows)
        if cycles == 0:
            raise WorkloadError(f"network {network.name!r} has a phase without work")
        repeat = OUTPUT_STEPS if phase.repeat == "output" else phase.repeat
        phases.append((first, len(rows), cycles, repeat))
    if not phases:
        raise WorkloadError(f"network {network.name!r} has no work")
    _check_sizes(config, rows, phases)
    return Profile(
        config=config,
        segments=_frozen(np.array(rows, dtype=np.int64)),
        phases=_frozen(np.array(phases, dtype=np.int64)),
    )


def stack_profiles(config: NPUConfig, profiles: Sequence[Profile]) -> ProfileTable:
    """Put profiles of one machine into one table; row i of ``profiles`` is the i-th of them.

    Raises:
        ConfigError: There are none, or one was built for another machine.
    """
    if not profiles:
        raise ConfigError("no profiles were given to stack: give at least one")
    for index, profile in enumerate(profiles):
        if profile.config != config:
            raise ConfigError(f"profile {index} was built for another machine than the given one")
    phases = [profile.phases.copy() for profile in profiles]
    first_segment = 0
    for profile, rows in zip(profiles, phases, strict=True):
        rows[:, [FIRST_SEGMENT, END_SEGMENT]] += first_segment
        first_segment += len(profile.segments)
    ends = np.cumsum([len(rows) for rows in phases], dtype=np.int64)
    firsts = ends - [len(rows) for rows in phases]
    segments = _frozen(np.concatenate([profile.segments for profile in profiles]))
    return ProfileTable(
        segments=segments,
        starts=_frozen(segments[:, START_CYCLES].copy()),
        phases=_frozen(np.concatenate(phases)),
        profiles=_frozen(np.stack([firsts, ends], axis=1)),
        machine=machine_array(config),
    )


def machine_array(config: NPUConfig) -> NDArray[np.int64]:
    """What the kernels need of a machine, int64 (MACHINE_FIELDS,)."""
    dram = config.cycles_per_byte("dram_bytes_per_s")
    host = config.cycles_per_byte("host_link_bytes_per_s")
    machine = np.zeros(MACHINE_FIELDS, dtype=np.int64)
    machine[UBUF_BYTES] = config.ubuf_bytes
    machine[DRAM_BYTES] = config.dram_bytes
    machine[DRAM_LATENCY_CYCLES] = config.dram_latency_cycles
    machine[DRAM_NUM], machine[DRAM_DEN] = dram.numerator, dram.denominator
    machine[HOST_NUM], machine[HOST_DEN] = host.numerator, host.denominator
    return _frozen(machine)


def layer_groups(layers: Sequence[Layer], batch: int) -> list[int]:
    """Number the layers of a phase as a scheduler counts them, which knows GEMMs only.

    Algorithm 1 gives no time to a layer without a GEMM (pooling, activation). Such a layer counts
    as part of the one with a GEMM before it, those at the start of a phase as part of the first.

    Returns:
        For each layer its number, from 0, not decreasing.
    """
    groups = []
    gemms = 0
    for layer in layers:
        gemms += any(isinstance(work, Gemm) for work in layer.work(batch))
        groups.append(max(gemms - 1, 0))
    return groups


def _append_phase(
    config: NPUConfig,
    phase: Phase,
    batch: int,
    expect: Callable[[Layer], int] | None,
    rows: list[tuple[int, ...]],
) -> int:
    """Append the segments of one repetition of a phase and return its cycles."""
    groups = layer_groups(phase.layers, batch)
    true = [0] * len(groups)
    expected = [0] * len(groups)
    laid: list[tuple[int, tuple[int, ...]]] = []  # (group, segment without its layer's times)
    start = 0
    for group, layer in zip(groups, phase.layers, strict=True):
        layer_start = start
        runs = layer_runs(config, layer, batch)
        lead = lead_cycles(config, runs)
        outputs = accumulate((run.groups * run.output_bytes for run in runs), initial=0)
        for run, output_base in zip(runs, outputs, strict=False):  # the last total has no run
            row = _segment(config, run, start, lead, output_base)
            laid.append((group, row))
            start += lead + run.groups * (row[INNER_TILES] * row[INNER_CYCLES] + row[LAST_CYCLES])
            lead = 0
        true[group] += start - layer_start
        expected[group] += start - layer_start if expect is None else expect(layer)
    # At least one cycle, as a task's estimate: policies divide by it.
    rows += [(*row, true[group], max(1, expected[group])) for group, row in laid]
    return start


def _segment(
    config: NPUConfig, run: TileRun, start: int, lead: int, output_base: int
) -> tuple[int, ...]:
    """Write one run as a row of ProfileTable.segments, up to the times of its layer."""
    return (
        start,
        lead,
        run.groups,
        run.inner_tiles,
        inner_cycles(config, run),
        last_cycles(config, run),
        output_base,
        run.output_bytes,
        run.partial_bytes,
        run.inner_load_bytes,
        run.last_load_bytes,
    )


def _check_sizes(
    config: NPUConfig, rows: list[tuple[int, ...]], phases: list[tuple[int, int, int, int]]
) -> None:
    """Hold every value and every product the kernels form within int64."""
    for row in rows:
        _check_int64("layer output", row[OUTPUT_BASE_BYTES] + row[GROUPS] * row[OUTPUT_BYTES], "B")
    for _, _, cycles, repeat in phases:
        _check_int64("phase time", cycles * max(repeat, 1), "cycles")
    load = max(max(row[INNER_LOAD_BYTES], row[LAST_LOAD_BYTES]) for row in rows)
    _check_int64("a tile's load", load, "B")
    for name in ("dram_bytes_per_s", "host_link_bytes_per_s"):
        ratio = config.cycles_per_byte(name)
        worst = (config.context_limit_bytes + load) * ratio.numerator + ratio.denominator
        _check_int64(f"a transfer at {name}", worst, "cycles × bytes")


def _check_int64(what: str, value: int, unit: str) -> None:
    if value > INT64_MAX:
        raise ConfigError(f"{what} of {value} {unit} is not allowed: give at most {INT64_MAX}")


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make an array read-only: profiles are shared and cached."""
    array.flags.writeable = False
    return array
