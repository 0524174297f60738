"""How long does each tile of a layer take, when memory works beside the array?

While a tile computes, memory loads the next tile and stores what the one before has finished
(double buffers). A tile takes the longer of the two; what nothing can hide is the layer's first
load, with the memory's latency, and its last store. Every byte is moved once.

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

    def slot(moved: int, exposed: Sequence[int] = (), wait: int = 0) -> Slot:
        for num_bytes in exposed:
            wait += _transfer_cycles(config, num_bytes)
        memory = _transfer_cycles(config, moved)
        return Slot(run.compute_cycles, moved, memory, sum(exposed), wait)

    if run.tiles == 1:
        only = slot(stored + loaded, (exposed_load, exposed_store), latency)
        return PacedRun(run, only, _NOTHING, _NOTHING)
    first = slot(stored + run.inner_load_bytes, (exposed_load,), latency)
    inner = slot(run.inner_load_bytes) if run.tiles > 2 else _NOTHING
    return PacedRun(run, first, inner, slot(loaded, (exposed_store,)))


def _transfer_cycles(config: NPUConfig, num_bytes: int) -> int:
    """Cycles in which NPU memory moves ``num_bytes``, rounded up, without the latency."""
    ratio = config.dram_cycles_per_byte
    return -(-num_bytes * ratio.numerator // ratio.denominator)
