"""Where is the first preemption point after some progress? A binary search and two divisions.

The compiled look-up in the tables of :mod:`prema_gym.hardware.layout`, exact to the tile. Unit of
time: cycles. Source: docs/simulator.md, "Tiles, boundaries, contexts".
"""

from __future__ import annotations

from typing import NamedTuple

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.hardware.layout import (
    AT_END,
    END_PHASE,
    END_SEGMENT,
    FIRST_CYCLES,
    FIRST_KEPT_BYTES,
    FIRST_LOAD_BYTES,
    FIRST_PHASE,
    FIRST_SEGMENT,
    GROUP_CYCLES,
    GROUPS,
    INNER_CYCLES,
    INNER_KEPT_BYTES,
    INNER_LOAD_BYTES,
    INNER_REFILL_CYCLES,
    OUTPUT_BYTES,
    OUTPUT_STEPS,
    PARTIAL_BYTES,
    PHASE_CYCLES,
    REFILL_CYCLES,
    REPEAT,
    RESIDENT_BYTES,
    TILES,
    UNSTORED_BYTES,
    ProfileTable,
)


class PreemptionPoint(NamedTuple):
    """The first boundary at or after some progress."""

    boundary_cycles: int
    context_bytes: int  # saved by a CHECKPOINT there
    reload_bytes: int  # weights and inputs loaded again at a restore
    refill_cycles: int  # to fill the array again then


@inlined
def _segment_at(table: ProfileTable, first: int, end: int, progress: int, guess: int) -> int:
    """The last segment of ``[first, end)`` that starts at or before ``progress``.

    By bisection, within what steps of 1, 2, 4, … from the guess have left.
    """
    starts = table.starts
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
    return segment


@inlined
def _locate_in_phase(
    table: ProfileTable, first: int, end: int, progress: int, guess: int
) -> tuple[int, int, int, int, int]:
    """As :func:`locate_inlined`, within one repetition of the phase ``[first, end)``.

    The segment is ``end`` where the repetition ends.
    """
    segments = table.segments
    segment = _segment_at(table, first, end, progress, guess)
    group = segments[segment, GROUP_CYCLES]
    tiles = segments[segment, TILES]
    first_cycles = segments[segment, FIRST_CYCLES]
    inner_cycles = segments[segment, INNER_CYCLES]
    done = progress - table.starts[segment]
    groups_done = done // group
    rest = done - groups_done * group
    boundary = progress - rest
    tiles_done = 0
    if rest > 0:
        if tiles > 1 and rest <= first_cycles + (tiles - 2) * inner_cycles:
            inner_done = 0
            if rest > first_cycles:
                inner_done = (rest - first_cycles + inner_cycles - 1) // inner_cycles
            tiles_done = 1 + inner_done
            boundary += first_cycles + inner_done * inner_cycles
        else:  # the last tile of an output tile is in flight
            groups_done += 1
            boundary += group

    kept_first, kept_inner = (
        segments[segment, FIRST_KEPT_BYTES],
        segments[segment, INNER_KEPT_BYTES],
    )
    reload = segments[segment, RESIDENT_BYTES]
    reload += groups_done * (kept_first + (tiles - 1) * kept_inner)
    if tiles_done > 0:
        context = segments[segment, PARTIAL_BYTES]
        reload += kept_first + (tiles_done - 1) * kept_inner + segments[segment, INNER_LOAD_BYTES]
        return boundary, context, reload, table.machine[INNER_REFILL_CYCLES], segment
    if groups_done == segments[segment, GROUPS]:  # the end of this segment: the next one follows
        segment += 1
        groups_done = 0
        if segment == end:
            return boundary, 0, 0, 0, end
    context = segments[segment, OUTPUT_BYTES if groups_done > 0 else UNSTORED_BYTES]
    if context == 0:  # the start of a layer
        return boundary, 0, 0, 0, segment
    # At the end of a segment the next one's RESIDENT_BYTES are the same.
    reload += segments[segment, FIRST_LOAD_BYTES]
    return boundary, context, reload, segments[segment, REFILL_CYCLES], segment


@inlined
def locate_inlined(
    table: ProfileTable, profile: int, output_length: int, progress: int, guess: int
) -> tuple[int, int, int, int, int]:
    """Find the first boundary at or after ``progress`` and what a preemption there costs.

    Args:
        table: The profiles.
        profile: Row of ``table.profiles``.
        output_length: Repetitions of phases that run once per output step, ``>= 1``.
        progress: Useful cycles executed, from 0 to the task's total; not checked here.
        guess: A segment not far before the one sought, which makes it quicker; any number is right.

    Returns:
        ``(boundary_cycles, context_bytes, reload_bytes, refill_cycles)``, see
        :class:`PreemptionPoint`, and the row of ``table.segments`` with the tile that follows, or
        AT_END. A boundary is its own first boundary. O(phases + log segments).

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
            boundary, context, reload, refill, segment = _locate_in_phase(
                table, first, end, within, guess
            )
            boundary += progress - within
            if segment == end:  # of this repetition; phases lie one behind the other
                if boundary < phase_start + repeat * cycles:
                    segment = first
                elif phase + 1 == end_phase:
                    segment = AT_END
            return boundary, context, reload, refill, segment
        phase_start += repeat * cycles
    return phase_start, 0, 0, 0, AT_END


@inlined
def first_segment(table: ProfileTable, profile: int) -> int:
    """Row of ``table.segments`` with a profile's first tile."""
    return int(table.phases[table.profiles[profile, FIRST_PHASE], FIRST_SEGMENT])


@in_place
def locate(
    table: ProfileTable, profile: int, output_length: int, progress: int
) -> tuple[int, int, int, int, int]:
    """As :func:`locate_inlined`, compiled and cached on its own."""
    return locate_inlined(table, profile, output_length, progress, AT_END)
