"""How long does each tile of a layer take, when memory works beside the array?

While a tile computes, memory loads the next tile and stores what the one before has finished
(double buffers). A tile takes the longer of the two; what nothing can hide is the layer's first
load, with the memory's latency, and its last store. Every byte is moved once.

A tile's weights are shifted into the array before it (``weight_preload = "exposed"``), or while the
one before runs ("hidden"): a stretch of GEMM tiles in a row then fills the array once. Where vector
work follows a product in a pipeline, rows leave an output tile's last tile no faster than it goes.

:mod:`prema_gym.hardware.timing` adds these times up, :mod:`prema_gym.hardware.profile` lays them
end to end, so they cannot disagree. Unit of time: cycles. Source: fidelity.md, "Time of a layer".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.tiles import TileRun, places


class Slot(NamedTuple):
    """What one tile's time is made of."""

    compute_cycles: int = 0
    moved_bytes: int = 0  # meanwhile
    memory_cycles: int = 0  # they take
    exposed_bytes: int = 0  # moved while nothing computes
    exposed_cycles: int = 0  # they take, latency included

    @property
    def cycles(self) -> int:
        """The tile's time."""
        return self.exposed_cycles + max(self.compute_cycles, self.memory_cycles)


_NOTHING = Slot()


class PacedRun(NamedTuple):
    """``run.groups`` output tiles that are equal, also in the time of each of their tiles."""

    run: TileRun
    first: Slot  # of an output tile's first tile
    inner: Slot  # of each tile between first and last
    last: Slot  # nothing where the first tile is the only one
    refill_cycles: int  # to go on with an output tile's first tile after an interruption

    @property
    def inner_tiles(self) -> int:
        """Tiles between the first and the last of an output tile."""
        return max(self.run.tiles - 2, 0)

    @property
    def group_cycles(self) -> int:
        """Time of one output tile."""
        return self.first.cycles + self.inner_tiles * self.inner.cycles + self.last.cycles

    @property
    def slots(self) -> tuple[tuple[int, Slot], ...]:
        """Each kind of tile, with how many there are in all groups."""
        groups = self.run.groups
        return (
            (groups, self.first),
            (groups * self.inner_tiles, self.inner),
            (groups * (self.run.tiles > 1), self.last),
        )


def pace(config: NPUConfig, runs: Sequence[TileRun]) -> list[PacedRun]:
    """Give each tile of one layer its time.

    Args:
        config: The machine.
        runs: The layer's tiles, in the order of execution.

    Returns:
        The same tiles in the same order; neighbours that differ in nothing are one record.
    """
    timed = [_paced(config, *neighbours) for neighbours in _between_neighbours(runs)]
    merged = []
    for _, alike in groupby(timed, key=lambda one: (one.run[1:], one[1:])):  # all but the count
        first, *others = alike
        groups = first.run.groups + sum(one.run.groups for one in others)
        merged.append(first._replace(run=first.run._replace(groups=groups)))
    return merged


def _between_neighbours(
    runs: Sequence[TileRun],
) -> Iterator[tuple[TileRun | None, TileRun, TileRun | None]]:
    """Yield each output tile between those before and after it, alike ones together."""
    for index, run in enumerate(runs):
        for groups, is_first, is_last in places(run.groups):
            before: TileRun | None = run
            after: TileRun | None = run
            if is_first:
                before = runs[index - 1] if index else None
            if is_last:
                after = runs[index + 1] if index + 1 < len(runs) else None
            yield before, run._replace(groups=groups), after


def _paced(
    config: NPUConfig, before: TileRun | None, run: TileRun, after: TileRun | None
) -> PacedRun:
    """Time the tiles of an output tile that stands between two others of its layer."""
    stored = before.output_bytes if before else 0
    loaded = after.first_load_bytes if after else 0
    exposed_load = run.first_load_bytes if before is None else 0
    exposed_store = run.output_bytes if after is None else 0
    latency = config.dram_latency_cycles if before is None else 0
    starts = before is None or not before.is_gemm
    goes_on = after is not None and after.is_gemm
    refill = config.hidden_fill_cycles if run.is_gemm and not starts else 0

    def slot(compute: int, moved: int, exposed: Sequence[int] = (), wait: int = 0) -> Slot:
        for num_bytes in exposed:
            wait += _transfer_cycles(config, num_bytes)
        return Slot(compute, moved, _transfer_cycles(config, moved), sum(exposed), wait)

    if run.tiles == 1:
        compute = _compute_cycles(config, run, starts=starts, goes_on=goes_on, leaves=True)
        only = slot(
            compute, stored + loaded + run.tail_bytes, (exposed_load, exposed_store), latency
        )
        return PacedRun(run, only, _NOTHING, _NOTHING, refill)
    compute = _compute_cycles(config, run, starts=starts, goes_on=True)
    first = slot(compute, stored + run.inner_load_bytes, (exposed_load,), latency)
    compute = _compute_cycles(config, run, starts=False, goes_on=True)
    inner = slot(compute, run.inner_load_bytes) if run.tiles > 2 else _NOTHING
    compute = _compute_cycles(config, run, starts=False, goes_on=goes_on, leaves=True)
    last = slot(compute, loaded + run.tail_bytes, (exposed_store,))
    return PacedRun(run, first, inner, last, refill)


def _compute_cycles(
    config: NPUConfig, run: TileRun, *, starts: bool, goes_on: bool, leaves: bool = False
) -> int:
    """Time in which one tile computes.

    Args:
        config: The machine.
        run: The tile's run.
        starts: Whether no GEMM tile of the layer comes right before it.
        goes_on: Whether a GEMM tile of the layer comes right after it.
        leaves: Whether its output tile is finished with it.
    """
    if not run.is_gemm:
        return run.vector_cycles
    rows = max(run.rows, run.tail_cycles) if leaves else run.rows
    if config.weight_preload == "exposed":
        return config.fill_cycles + rows
    # The next tile's weights are shifted in, a row a cycle, while this one streams.
    streaming = max(rows, config.array_rows) if goes_on else rows
    return streaming + (config.fill_cycles if starts else 0)


def _transfer_cycles(config: NPUConfig, num_bytes: int) -> int:
    """Cycles in which NPU memory moves ``num_bytes``, rounded up, without the latency."""
    ratio = config.dram_cycles_per_byte
    return -(-num_bytes * ratio.numerator // ratio.denominator)
