"""What is the profile of a network? Its tiles laid end to end, with their preemption points.

Built from the tiles that :mod:`prema_gym.hardware.pipeline` has timed, kept as
:mod:`prema_gym.hardware.layout` says. Unit of time: cycles. Source: docs/simulator.md, "Tiles,
boundaries, contexts".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from prema_gym.checks import whole
from prema_gym.errors import ConfigError, WorkloadError
from prema_gym.hardware.config import INT64_MAX, NPUConfig
from prema_gym.hardware.layout import (
    END_SEGMENT,
    FIRST_LOAD_BYTES,
    FIRST_SEGMENT,
    INNER_LOAD_BYTES,
    OUTPUT_STEPS,
    PHASE_CYCLES,
    REPEAT,
    START_CYCLES,
    ProfileTable,
)
from prema_gym.hardware.locate import PreemptionPoint, locate
from prema_gym.hardware.overlap import executed_phases
from prema_gym.hardware.pipeline import PacedRun
from prema_gym.hardware.plan import layer_tiles
from prema_gym.hardware.transfers import machine_array
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Network, Phase
from prema_gym.networks.work import Gemm

Scalar = TypeVar("Scalar", bound=np.generic)

_LENGTH = whole()


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
        output_length = _LENGTH.check("output_length", output_length)
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
        progress = whole(0, total, unit="cycles").check("progress_cycles", progress_cycles)
        *found, _ = locate(self.table, 0, output_length, progress)
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
        The profile; its time is the sum of its tiles.

    Raises:
        ConfigError: ``batch`` or ``input_length`` is not a positive integer, or sizes overflow
            64-bit cycle counts.
        WorkloadError: The network has no work, or a phase without any.
    """
    rows: list[tuple[int, ...]] = []
    phases: list[tuple[int, int, int, int]] = []
    for phase in executed_phases(config, network, input_length):
        first = len(rows)
        cycles = _append_phase(config, phase, batch, expect, rows)
        if cycles == 0:
            raise WorkloadError(f"{network.where} has a phase without work")
        repeat = OUTPUT_STEPS if phase.repeat == "output" else phase.repeat
        phases.append((first, len(rows), cycles, repeat))
    if not phases:
        raise WorkloadError(f"{network.where} has no work")
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
        calibration=_frozen(np.ones(len(profiles))),
        machine=machine_array(config),
    )


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
        unstored = resident = 0
        for paced in layer_tiles(config, layer, batch):
            laid.append((group, _segment(paced, start, unstored, resident)))
            start += paced.run.groups * paced.group_cycles
            unstored = paced.run.output_bytes
            resident += paced.run.groups * paced.run.group_kept_bytes
        true[group] += start - layer_start
        expected[group] += start - layer_start if expect is None else expect(layer)
    # At least one cycle, as a task's estimate: policies divide by it.
    rows += [(*row, true[group], max(1, expected[group])) for group, row in laid]
    return start


def _segment(paced: PacedRun, start: int, unstored: int, resident: int) -> tuple[int, ...]:
    """Write one run as a row of ProfileTable.segments, up to the times of its layer."""
    run = paced.run
    return (
        start,
        run.groups,
        run.tiles,
        paced.group_cycles,
        paced.first.cycles,
        paced.inner.cycles,
        unstored,
        run.output_bytes,
        run.partial_bytes,
        run.first_load_bytes,
        run.inner_load_bytes,
        resident,
        run.first_kept_bytes,
        run.inner_kept_bytes,
        paced.refill_cycles,
    )


def _check_sizes(
    config: NPUConfig, rows: list[tuple[int, ...]], phases: list[tuple[int, int, int, int]]
) -> None:
    """Hold every value and every product the kernels form within int64."""
    for _, _, cycles, repeat in phases:
        _check_int64("phase time", cycles * max(repeat, 1), "cycles")
    load = max(max(row[FIRST_LOAD_BYTES], row[INNER_LOAD_BYTES]) for row in rows)
    _check_int64("a tile's load", load, "B")
    for name in ("dram_bytes_per_s", "host_link_bytes_per_s"):
        ratio = config.cycles_per_byte(name)
        largest = config.context_limit_bytes + config.ubuf_bytes + config.wbuf_bytes + load
        worst = largest * ratio.numerator + ratio.denominator
        _check_int64(f"a transfer at {name}", worst, "cycles × bytes")


def _check_int64(what: str, value: int, unit: str) -> None:
    whole(0, INT64_MAX, unit=unit).check(what, value)


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array read-only: profiles are shared and cached."""
    array.flags.writeable = False
    return array
