"""Into which tiles (GEMM_OPs, VECTOR_OPs) is a layer cut, and what does each compute and move?

The one place where tiles are enumerated; :mod:`prema_gym.hardware.pipeline` says how long each
takes. Equal tiles are kept as one run with a count: a layer of a million tiles costs a handful of
records.

Unit of time: cycles. Source: fidelity.md, "Time of a layer"; the tile order and the rule for
vector tiles are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    """``groups`` equal output tiles in a row, each of ``tiles`` tiles.

    The tiles of one output tile are its K tiles. All compute for the same time (the array always
    fills and drains). The first one may be ragged; a vector tile is an output tile of one tile.
    """

    groups: int
    tiles: int  # of one output tile
    compute_cycles: int  # of each tile
    first_load_bytes: int  # of an output tile's first tile
    inner_load_bytes: int  # of each of its other tiles; 0 where there are none
    output_bytes: int  # of one finished output tile
    partial_bytes: int  # partial sums held between the tiles of one output tile; 0 for vector
    output_macs: int  # multiply-accumulates of one output tile, all its K tiles; 0 for vector
    vector_ops: int  # lane operations of one vector tile; 0 for GEMM


def places(count: int) -> Iterator[tuple[int, bool, bool]]:
    """Yield (how many, whether it is the first, whether the last) for ``count`` things in a row.

    The first, those between, the last: whatever depends on no more than that needs three records.
    """
    if count == 1:
        yield 1, True, True
        return
    yield 1, True, False
    if count > 2:
        yield count - 2, False, False
    yield 1, False, True


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
    """Tiles of one GEMM: N tiles outermost, then M tiles, then K tiles, a ragged one first."""
    tiles = -(-gemm.k // config.array_rows)
    first_k = gemm.k - (tiles - 1) * config.array_rows
    runs: list[TileRun] = []
    for n, n_tiles in _split(gemm.n, config.array_cols):
        column = [
            TileRun(
                groups=m_tiles,
                tiles=tiles,
                compute_cycles=2 * config.array_rows + config.array_cols + m - 2,
                first_load_bytes=_load_bytes(config, m, first_k, n),
                inner_load_bytes=_load_bytes(config, m, config.array_rows, n) * (tiles > 1),
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
            tiles=1,
            compute_cycles=-(-elements // config.vector_lanes) * work.ops_per_element,
            first_load_bytes=inputs * config.element_bytes,
            inner_load_bytes=0,
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
