"""Into which tiles (GEMM_OPs, VECTOR_OPs) is a work cut, and what does each compute and move?

The one place where tiles are enumerated; :mod:`prema_gym.hardware.pipeline` says how long each
takes. Equal tiles are kept as one run with a count: a layer of a million tiles costs a handful of
records.

Unit of time: cycles. Source: fidelity.md, "Time of a layer"; the rule for vector tiles is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from prema_gym.errors import ConfigError
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.reuse import Order, input_share
from prema_gym.networks.work import Gemm, VectorWork

MOST_RUNS = 2**20
"""Records one work may need: about 100 MB. A layer of 128 × 128 tiles reaches it at 67 million
columns, so only a slip does."""


class TileRun(NamedTuple):
    """``groups`` equal output tiles in a row, each of ``tiles`` tiles.

    The tiles of one output tile are its K tiles. The first one may be ragged; a vector tile is an
    output tile of one tile.
    """

    groups: int
    tiles: int  # of one output tile
    rows: int  # of each GEMM tile, streamed through the array; 0 for vector
    vector_cycles: int  # of each vector tile; 0 for GEMM
    first_load_bytes: int  # of an output tile's first tile
    inner_load_bytes: int  # of each of its other tiles; 0 where there are none
    first_kept_bytes: int  # by how much what stays on chip for later tiles grows with that tile
    inner_kept_bytes: int  # the same of each other tile; both are negative at a last use
    operand_bytes: int  # read from the buffers by one output tile, all its tiles
    output_bytes: int  # of one finished output tile
    partial_bytes: int  # partial sums held between the tiles of one output tile; 0 for vector
    output_macs: int  # multiply-accumulates of one output tile, all its K tiles; 0 for vector
    vector_ops: int  # lane operations of one output tile, at its tail if it is a GEMM's
    tail_cycles: int = 0  # of the vector unit while a GEMM's output tile leaves the array
    tail_bytes: int = 0  # of other operands, streamed in meanwhile

    @property
    def is_gemm(self) -> bool:
        """Whether the array runs it, or else the vector unit."""
        return self.rows > 0

    @property
    def loaded_bytes(self) -> int:
        """Loaded by one output tile, all its tiles."""
        return self.first_load_bytes + (self.tiles - 1) * self.inner_load_bytes

    @property
    def group_kept_bytes(self) -> int:
        """By how much what stays on chip for later tiles grows with one output tile."""
        return self.first_kept_bytes + (self.tiles - 1) * self.inner_kept_bytes


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


def gemm_runs(config: NPUConfig, gemm: Gemm, order: Order) -> list[TileRun]:
    """Tiles of one of a GEMM's products in a given order, a ragged K tile first.

    Raises:
        ConfigError: They need more than ``MOST_RUNS`` runs.
    """
    m_tiles = -(-gemm.m // order.rows)
    n_tiles = -(-gemm.n // config.array_cols)
    blocks = -(-n_tiles // order.block)
    last_rows = gemm.m - (m_tiles - 1) * order.rows
    last_columns = gemm.n - (n_tiles - 1) * config.array_cols
    last_block = n_tiles - (blocks - 1) * order.block
    runs: list[TileRun] = []
    for num_blocks, first_of_all, last_of_all in places(blocks):
        block: list[TileRun] = []
        for num_rows, first_m, last_m in places(m_tiles):
            rows = last_rows if last_m else order.rows
            inputs = input_share(gemm, order.rows, last_m)
            weights_come = first_m or not order.weights_stay
            weights_go = last_m or not order.weights_stay
            row: list[TileRun] = []
            for num_columns, first_n, last_n in places(last_block if last_of_all else order.block):
                columns = last_columns if last_of_all and last_n else config.array_cols
                inputs_come = (first_n or not order.rows_stay) and (
                    first_of_all or not order.inputs_stay
                )
                inputs_go = (last_n or not order.rows_stay) and (
                    last_of_all or not order.inputs_stay
                )
                weights = _Operand(gemm.k * columns, weights_come, weights_go)
                run = _output_tile(
                    config, gemm, rows, columns, weights, _Operand(inputs, inputs_come, inputs_go)
                )
                row.append(run._replace(groups=num_columns))
            block += repeated(gemm.name, merged(row), num_rows)
        runs += repeated(gemm.name, merged(block), num_blocks)
    return runs


class _Operand(NamedTuple):
    """One operand of an output tile, and when its elements come to the chip and go."""

    elements: int  # over all K tiles
    comes: bool  # loaded by these tiles, and not on chip yet
    goes: bool  # not needed on chip by later ones

    def split(self, tiles: int, share: int, whole: int) -> tuple[int, int]:
        """Elements of the first K tile, and of each other one: ⌊elements · share / whole⌋."""
        inner = self.elements * share // whole if tiles > 1 else 0
        return self.elements - (tiles - 1) * inner, inner


def _output_tile(
    config: NPUConfig, gemm: Gemm, rows: int, columns: int, weights: _Operand, inputs: _Operand
) -> TileRun:
    """One output tile of rows × columns results, cut along K."""
    tiles = -(-gemm.k // config.array_rows)
    load, kept = [0, 0], [0, 0]  # of the first K tile, and of each other one
    for operand in (weights, inputs):
        for part, elements in enumerate(operand.split(tiles, config.array_rows, gemm.k)):
            load[part] += elements * operand.comes * config.element_bytes
            kept[part] += elements * (operand.comes - operand.goes) * config.element_bytes
    results = rows * columns
    tail_bytes = results * gemm.tail_inputs * config.element_bytes
    return TileRun(
        groups=1,
        tiles=tiles,
        rows=rows,
        vector_cycles=0,
        first_load_bytes=load[0],
        inner_load_bytes=load[1],
        first_kept_bytes=kept[0],
        inner_kept_bytes=kept[1],
        operand_bytes=gemm.k * (rows + columns) * config.element_bytes + tail_bytes,
        output_bytes=results * config.element_bytes,
        partial_bytes=results * config.accumulator_bytes,
        output_macs=results * gemm.k,
        vector_ops=results * gemm.tail_ops,
        tail_cycles=-(-results // config.vector_lanes) * gemm.tail_ops,
        tail_bytes=tail_bytes,
    )


def vector_runs(config: NPUConfig, work: VectorWork) -> list[TileRun]:
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
            rows=0,
            vector_cycles=-(-elements // config.vector_lanes) * work.ops_per_element,
            first_load_bytes=inputs * config.element_bytes,
            inner_load_bytes=0,
            first_kept_bytes=0,
            inner_kept_bytes=0,
            operand_bytes=inputs * config.element_bytes,
            output_bytes=elements * config.element_bytes,
            partial_bytes=0,
            output_macs=0,
            vector_ops=elements * work.ops_per_element,
        )
        for elements, inputs, tiles in sizes
        if tiles
    ]


def repeated(name: str, runs: list[TileRun], times: int) -> list[TileRun]:
    """Lay ``runs`` end to end ``times`` times; a single run only grows its count."""
    if len(runs) == 1:
        return [runs[0]._replace(groups=runs[0].groups * times)]
    if len(runs) * times > MOST_RUNS:
        raise ConfigError(
            f"{name}: runs of tiles must be at most {MOST_RUNS}, got {len(runs) * times}; "
            "use a larger array or fewer rows, columns and repetitions"
        )
    return runs * times


def merged(runs: Iterable[TileRun]) -> list[TileRun]:
    """Join neighbours that differ in nothing but their count."""
    joined = []
    for _, alike in groupby(runs, key=lambda run: run[1:]):
        first, *others = alike
        joined.append(first._replace(groups=first.groups + sum(run.groups for run in others)))
    return joined
