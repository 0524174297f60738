"""In which orders may the tiles of a product run, and what stays on chip between them?

A product of many M tiles and N tiles needs each weight once for every M tile, each input once for
every N tile. What a buffer has room for stays there; the rest is loaded again. The loops, outermost
first: blocks of N tiles, M tiles, N tiles of the block, K tiles. How high M tiles are and how many
N tiles are a block decides what has room.

Unit: bytes. Source: fidelity.md, "Reuse on chip"; the rule is ours.
"""

from __future__ import annotations

from typing import NamedTuple

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.work import Gemm

MOST_M_TILES = 1024
"""A product of more M tiles (two million rows) runs one N tile after the other, which takes a few
records however many rows there are."""


class Order(NamedTuple):
    """How one product runs.

    Attributes:
        rows: Rows of a full M tile.
        block: N tiles of a full block.
        weights_stay: Whether a block's weights stay over its M tiles.
        rows_stay: Whether an M tile's inputs stay over the N tiles of a block.
        inputs_stay: Whether all inputs stay over all blocks.
    """

    rows: int
    block: int
    weights_stay: bool
    rows_stay: bool
    inputs_stay: bool


def orders(config: NPUConfig, gemm: Gemm) -> list[Order]:
    """The orders worth a try.

    M tiles as high as can be, or so high that their inputs have room to stay, if that is as many
    rows as the array is deep: lower ones fill the array for longer than they use it. Blocks of one
    N tile, of as many as WBUF has room for, or of all.

    Returns:
        Highest M tiles first, then smallest blocks.
    """
    highest = min(config.tile_rows, gemm.m)
    heights = [highest]
    tile_bytes = 2 * (_depth(config, gemm) + _columns(config, gemm)) * config.element_bytes
    row_bytes = gemm.streamed_elements * config.element_bytes
    fitting = config.ubuf_bytes * gemm.m // (row_bytes + tile_bytes * gemm.m)
    if config.array_rows <= fitting < highest and -(-gemm.m // fitting) <= MOST_M_TILES:
        heights.append(-(-gemm.m // -(-gemm.m // fitting)))  # M tiles of about one height
    if -(-gemm.m // highest) > MOST_M_TILES:
        return [_order(config, gemm, highest, 1)]
    n_tiles = -(-gemm.n // config.array_cols)
    column_bytes = gemm.k * config.array_cols * config.element_bytes
    in_wbuf = max(1, min(_weights_room(config, gemm) // column_bytes, n_tiles))
    blocks = sorted({1, in_wbuf, n_tiles})
    return [_order(config, gemm, rows, block) for rows in heights for block in blocks]


def input_share(gemm: Gemm, rows: int, last: bool) -> int:
    """Input elements of a full M tile of ``rows``, or of the last one.

    Every M tile but the last has the whole-element part of its proportional share, the last one
    what is left, so that the shares add up exactly.
    """
    share = gemm.streamed_elements * rows // gemm.m
    before_last = -(-gemm.m // rows) - 1
    return gemm.streamed_elements - before_last * share if last else share


def _order(config: NPUConfig, gemm: Gemm, rows: int, block: int) -> Order:
    width = config.element_bytes
    weights = min(block * config.array_cols, gemm.n) * gemm.k * width
    two_tiles = 2 * rows * (_depth(config, gemm) + _columns(config, gemm)) * width
    room = max(0, config.ubuf_bytes - two_tiles)
    row = max(input_share(gemm, rows, last) for last in (False, True)) * width
    return Order(
        rows,
        block,
        weights_stay=weights <= _weights_room(config, gemm),
        rows_stay=row <= room,
        inputs_stay=gemm.streamed_elements * width <= room,
    )


def _weights_room(config: NPUConfig, gemm: Gemm) -> int:
    """What two weight tiles of the product leave free in WBUF."""
    return config.wbuf_bytes - 2 * _depth(config, gemm) * _columns(config, gemm) * (
        config.element_bytes
    )


def _depth(config: NPUConfig, gemm: Gemm) -> int:
    return min(config.array_rows, gemm.k)


def _columns(config: NPUConfig, gemm: Gemm) -> int:
    return min(config.array_cols, gemm.n)
