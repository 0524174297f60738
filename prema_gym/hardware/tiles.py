"""Into which tiles (GEMM_OPs, VECTOR_OPs) is a layer cut, and what does each compute and move?

The one place where tiles are enumerated: timing (:mod:`prema_gym.hardware.timing`) sums these runs,
the profile (:mod:`prema_gym.hardware.profile`) lays them end to end, so they cannot disagree. Equal
tiles are kept as one run with a count: a layer of a million tiles costs a handful of records.

Unit of time: cycles. Source: fidelity.md, "Time of a layer"; the tile order and the rule for
vector tiles are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from prema_gym.errors import ConfigError
from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.layers import Layer
from prema_gym.networks.work import Gemm, VectorWork, Work

MOST_RUNS = 2**20
"""Records one work may need: about 100 MB. A layer of 128 × 128 tiles reaches it at 67 million
columns, so only a slip does."""


class TileRun(NamedTuple):
    """``groups`` equal output tiles in a row, each of ``inner_tiles`` K tiles and then a last one.

    All K tiles of one output tile compute for the same time (the array always fills and drains);
    inner ones only load, the last one also stores the finished output. A vector tile is an output
    tile without inner tiles.
    """

    groups: int
    inner_tiles: int
    compute_cycles: int  # of each tile
    inner_load_bytes: int
    last_load_bytes: int
    output_bytes: int  # of one finished output tile
    partial_bytes: int  # partial sums held between the K tiles of one output tile; 0 for vector
    output_macs: int  # multiply-accumulates of one output tile, all its K tiles; 0 for vector
    vector_ops: int  # lane operations of one vector tile; 0 for GEMM

    @property
    def first_load_bytes(self) -> int:
        """What the run's first tile loads."""
        return self.inner_load_bytes if self.inner_tiles else self.last_load_bytes


def transfer_cycles(config: NPUConfig, num_bytes: int) -> int:
    """Cycles in which NPU memory moves ``num_bytes``, rounded up, without the latency."""
    ratio = config.cycles_per_byte("dram_bytes_per_s")
    return -(-num_bytes * ratio.numerator // ratio.denominator)


def inner_cycles(config: NPUConfig, run: TileRun) -> int:
    """Cycles of one inner K tile of ``run``: the longer of computing and loading."""
    return max(run.compute_cycles, transfer_cycles(config, run.inner_load_bytes))


def last_cycles(config: NPUConfig, run: TileRun) -> int:
    """Cycles of the last K tile of ``run``, which also stores the output tile."""
    moved = run.last_load_bytes + run.output_bytes
    return max(run.compute_cycles, transfer_cycles(config, moved))


def lead_cycles(config: NPUConfig, runs: Sequence[TileRun]) -> int:
    """Cycles before a layer's first tile can compute: memory latency and that tile's load.

    Later loads hide behind the tile before them (double buffering), also from one work of the layer
    to the next. A layer without tiles has no lead.
    """
    if not runs:
        return 0
    return config.dram_latency_cycles + transfer_cycles(config, runs[0].first_load_bytes)


def layer_runs(config: NPUConfig, layer: Layer, batch: int) -> list[TileRun]:
    """Cut one layer into tiles.

    Args:
        config: The machine.
        layer: The layer; its works follow each other, each ``count`` times.
        batch: Inputs processed together, at least 1.

    Returns:
        Runs in the order of execution, equal neighbours merged.

    Raises:
        ConfigError: ``batch`` is not a positive integer, or a work needs too many runs.
    """
    return _merged(run for work in layer.work(batch) for run in work_runs(config, work))


def work_runs(config: NPUConfig, work: Work) -> list[TileRun]:
    """Cut one work, with its repetitions, into tiles.

    Raises:
        ConfigError: The work needs more than ``MOST_RUNS`` runs.
    """
    once = _gemm_runs(config, work) if isinstance(work, Gemm) else _vector_runs(config, work)
    return _repeated(work.name, once, work.count)


def _gemm_runs(config: NPUConfig, gemm: Gemm) -> list[TileRun]:
    """Tiles of one GEMM: N tiles outermost, then M tiles, then K tiles."""
    inner_tiles = -(-gemm.k // config.array_rows) - 1
    last_k = gemm.k - inner_tiles * config.array_rows
    runs: list[TileRun] = []
    for n, n_tiles in _split(gemm.n, config.array_cols):
        column = [
            TileRun(
                groups=m_tiles,
                inner_tiles=inner_tiles,
                compute_cycles=2 * config.array_rows + config.array_cols + m - 2,
                inner_load_bytes=_load_bytes(config, m, config.array_rows, n) * (inner_tiles > 0),
                last_load_bytes=_load_bytes(config, m, last_k, n),
                output_bytes=m * n * config.element_bytes,
                partial_bytes=m * n * config.accumulator_bytes,
                output_macs=m * gemm.k * n,
                vector_ops=0,
            )
            for m, m_tiles in _split(gemm.m, config.tile_rows)
        ]
        runs += _repeated(gemm.name, column, n_tiles)
    return runs


def _vector_runs(config: NPUConfig, work: VectorWork) -> list[TileRun]:
    """Tiles of one vector work: full VECTOR_OPs and then the rest.

    Every tile but the last reads the whole-element part of its proportional share of the inputs;
    the last one reads what is left, so that the shares add up exactly.
    """
    full = config.vector_tile_elements
    before_last = -(-work.elements // full) - 1
    share = work.input_elements * full // work.elements
    sizes = [
        (full, share, before_last),
        (work.elements - before_last * full, work.input_elements - before_last * share, 1),
    ]
    return [
        TileRun(
            groups=tiles,
            inner_tiles=0,
            compute_cycles=-(-elements // config.vector_lanes) * work.ops_per_element,
            inner_load_bytes=0,
            last_load_bytes=inputs * config.element_bytes,
            output_bytes=elements * config.element_bytes,
            partial_bytes=0,
            output_macs=0,
            vector_ops=elements * work.ops_per_element,
        )
        for elements, inputs, tiles in sizes
        if tiles
    ]


def _load_bytes(config: NPUConfig, m: int, k: int, n: int) -> int:
    """Weights k·n and activations m·k of one tile."""
    return (k * n + m * k) * config.element_bytes


def _split(size: int, tile: int) -> Iterator[tuple[int, int]]:
    """Yield (tile size, how many): the full tiles, then the edge tile, whichever exist."""
    full, edge = divmod(size, tile)
    if full:
        yield tile, full
    if edge:
        yield edge, 1


def _repeated(name: str, runs: list[TileRun], times: int) -> list[TileRun]:
    """Lay ``runs`` end to end ``times`` times; a single run only grows its count."""
    if len(runs) == 1:
        return [runs[0]._replace(groups=runs[0].groups * times)]
    if len(runs) * times > MOST_RUNS:
        raise ConfigError(
            f"{name}: runs of tiles must be at most {MOST_RUNS}, got {len(runs) * times}; "
            "use a larger array or fewer columns and repetitions"
        )
    return runs * times


def _merged(runs: Iterable[TileRun]) -> list[TileRun]:
    """Join neighbours that differ in nothing but their count."""
    return [
        alike._replace(groups=sum(run.groups for run in same))
        for alike, same in groupby(runs, key=lambda run: run._replace(groups=0))
    ]
