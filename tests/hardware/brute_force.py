"""The tiles of a network written out one by one, and random small machines and networks.

Independent of :mod:`prema_gym.hardware.tiles`: this follows docs/simulator.md and fidelity.md with
plain loops and fractions, so that the tests compare two implementations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks import Gemm, Layer, Network, Phase, Shape, Tensor, VectorWork, Work


@dataclass(frozen=True)
class WorksLayer(Layer):
    """A layer that asks for exactly the given works, at any batch size."""

    works: tuple[Work, ...] = ()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return ()

    @property
    def output_shape(self) -> Shape:
        return (1,)

    def work(self, batch: int) -> tuple[Work, ...]:
        return self.works


def network(*phases: Phase, name: str = "net") -> Network:
    return Network(
        name=name, title=name, source="a test", domain="test", build=lambda input_length: phases
    )


def one_layer(*works: Work) -> Network:
    return network(Phase((WorksLayer("layer", works),)))


@dataclass
class Tile:
    compute: int  # a GEMM tile's rows, a vector tile's cycles
    load: int
    reload: int = 0  # what a restore before it brings in, its own load among it
    store: int = 0  # of the output tile it finishes, if it does
    partial: int = 0
    gemm: bool = False
    tail: int = 0  # cycles that its rows take to leave through the vector unit
    beside: int = 0  # bytes of other operands that this takes, moved while it computes
    refill: int = 0  # of the array, at a restore before it
    cycles: int = 0  # its place in the layer decides
    ends_layer: bool = False
    starts_layer: bool = False


def stream_cycles(config: NPUConfig, num_bytes: int, rate: float) -> int:
    if math.isinf(rate):
        return 0
    return math.ceil(Fraction(num_bytes * config.clock_hz, int(rate)))


def pieces(size: int, tile: int) -> list[int]:
    return [min(tile, size - start) for start in range(0, size, tile)]


def work_tiles(config: NPUConfig, work: Work) -> list[Tile]:
    once = gemm_tiles(config, work) if isinstance(work, Gemm) else vector_tiles(config, work)
    return [Tile(**vars(tile)) for _ in range(work.count) for tile in once]


def vector_tiles(config: NPUConfig, work: VectorWork) -> list[Tile]:
    width = config.element_bytes
    tiles = []
    left = work.input_elements
    sizes = pieces(work.elements, config.array_rows * config.array_cols)
    for index, elements in enumerate(sizes):
        inputs = left
        if index < len(sizes) - 1:
            inputs = math.floor(Fraction(work.input_elements * elements, work.elements))
        left -= inputs
        compute = math.ceil(elements / config.vector_lanes) * work.ops_per_element
        tiles.append(Tile(compute, inputs * width, inputs * width, elements * width))
    return tiles


def shares(total: int, sizes: Sequence[int]) -> list[int]:
    """``total`` in proportion to ``sizes``, rounded down; what is left goes to the odd one out."""
    rounded = [math.floor(Fraction(total * size, sum(sizes))) for size in sizes]
    return [*rounded[:-1], total - sum(rounded[:-1])]


def gemm_tiles(config: NPUConfig, gemm: Gemm) -> list[Tile]:
    """The tiles of one product, in the order that is quickest; of equals, that loads least."""
    width = config.element_bytes
    depth, widest = min(config.array_rows, gemm.k), min(config.array_cols, gemm.n)
    rows = min(config.accumulator_rows, config.ubuf_bytes // (2 * config.array_rows * width))
    heights = [min(rows, gemm.m)]
    # The highest M tile whose inputs stay beside two tiles' inputs and outputs.
    row = Fraction(exist(gemm), gemm.m) + 2 * (depth + widest)
    fitting = math.floor(Fraction(config.ubuf_bytes, width) / row)
    if config.array_rows <= fitting < heights[0] and math.ceil(gemm.m / fitting) <= 1024:
        heights.append(math.ceil(gemm.m / math.ceil(gemm.m / fitting)))
    columns = len(pieces(gemm.n, config.array_cols))
    room = config.wbuf_bytes - 2 * depth * widest * width
    fitting = room // (gemm.k * config.array_cols * width)
    blocks = {1, columns} | ({fitting} if 1 < fitting < columns else set())
    if math.ceil(gemm.m / heights[0]) > 1024:
        return in_blocks(config, gemm, heights[0], 1)
    found = [in_blocks(config, gemm, high, block) for high in heights for block in sorted(blocks)]

    def cost(tiles: list[Tile]) -> tuple[int, int]:
        alone = timed(config, [Tile(**vars(tile)) for tile in tiles])
        return sum(tile.cycles for tile in alone), sum(tile.load for tile in tiles)

    return min(found, key=cost)


def exist(gemm: Gemm) -> int:
    return gemm.m * gemm.k if gemm.input_elements is None else gemm.input_elements


def in_blocks(config: NPUConfig, gemm: Gemm, rows: int, block: int) -> list[Tile]:
    """The tiles of one product, with a set of what each buffer holds."""
    width = config.element_bytes
    columns = list(enumerate(pieces(gemm.n, config.array_cols)))
    bands = pieces(gemm.m, rows)
    depths = pieces(gemm.k, config.array_rows)
    band_inputs = shares(exist(gemm), bands)
    # A ragged K tile, and what rounding left, come first.
    tile_inputs = [shares(total, depths)[::-1] for total in band_inputs]
    depths = depths[::-1]

    widest = columns[0][1]
    room_w = config.wbuf_bytes - 2 * max(depths) * widest * width
    room_x = config.ubuf_bytes - 2 * bands[0] * (max(depths) + widest) * width
    all_stay = exist(gemm) * width <= room_x
    band_stays = max(band_inputs) * width <= room_x
    first_block = sum(n for _, n in columns[:block])
    block_stays = first_block * gemm.k * width <= room_w
    held: dict[tuple[str, int, int], int] = {}
    tiles, used, came = [], [], []
    for start in range(0, len(columns), block):
        for i, m in enumerate(bands):
            for j, n in columns[start : start + block]:
                for d, k in enumerate(depths):
                    operands = {("w", j, d): k * n * width, ("x", i, d): tile_inputs[i][d] * width}
                    new = operands.keys() - held.keys()
                    held |= {key: operands[key] for key in new}
                    used.append(operands)
                    came.append(new)
                    is_last = d == len(depths) - 1
                    tail = math.ceil(m * n / config.vector_lanes) * gemm.tail_ops
                    tiles.append(
                        Tile(
                            m,
                            sum(operands[key] for key in new),
                            store=m * n * width if is_last else 0,
                            partial=0 if is_last else m * n * config.accumulator_bytes,
                            gemm=True,
                            tail=tail if is_last else 0,
                            beside=m * n * gemm.tail_inputs * width if is_last else 0,
                        )
                    )
                    stays = {"w": block_stays, "x": all_stay or band_stays}
                    held = {key: size for key, size in held.items() if stays[key[0]]}
                    for kind, room in (("w", room_w), ("x", room_x)):
                        assert sum(size for key, size in held.items() if key[0] == kind) <= max(
                            0, room
                        )
            if not all_stay:
                held = {key: size for key, size in held.items() if key[0] == "w"}
        held = {key: size for key, size in held.items() if key[0] == "x"}

    # Walked backwards: what must be on chip before a tile that it does not load itself.
    needed: dict[tuple[str, int, int], int] = {}
    for tile, operands, new in reversed(list(zip(tiles, used, came, strict=True))):
        needed |= operands
        needed = {key: size for key, size in needed.items() if key not in new}
        tile.reload = sum(needed.values()) + tile.load
    return tiles


def layer_tiles(config: NPUConfig, works: Sequence[Work]) -> list[Tile]:
    """Each tile beside the next one's load and the store of the one before."""
    return timed(config, [tile for work in works for tile in work_tiles(config, work)])


def timed(config: NPUConfig, tiles: list[Tile]) -> list[Tile]:
    rate = config.dram_bytes_per_s
    for before, tile, after in zip([None, *tiles], tiles, [*tiles[1:], None], strict=False):
        moved = (before.store if before else 0) + (after.load if after else 0)
        moved += tile.beside
        compute = max(tile.compute, tile.tail)
        fill = 2 * config.array_rows + config.array_cols - 2
        if tile.gemm and config.weight_preload == "exposed":
            compute += fill
        elif tile.gemm:
            if after and after.gemm:
                compute = max(compute, config.array_rows)  # shift its weights in meanwhile
            if before and before.gemm:
                tile.refill = fill
            else:
                compute += fill
        tile.cycles = max(compute, stream_cycles(config, moved, rate))
    first, last = tiles[0], tiles[-1]
    first.cycles += config.dram_latency_cycles + stream_cycles(config, first.load, rate)
    last.cycles += stream_cycles(config, last.store, rate)
    first.starts_layer = last.ends_layer = True
    return tiles


def all_tiles(config: NPUConfig, net: Network, output_length: int) -> list[Tile]:
    tiles = []
    for phase in net.phases(1):
        for _ in range(phase.steps(output_length)):
            for layer in phase.layers:
                tiles += layer_tiles(config, layer.work(1))
    return tiles


def boundaries(config: NPUConfig, tiles: Sequence[Tile]) -> list[tuple[int, int, int, int]]:
    """Every boundary as (progress, context bytes, reload bytes, refill), progress 0 included."""
    found = [(0, 0, 0, 0)]
    now = 0
    for index, tile in enumerate(tiles):
        now += tile.cycles
        if tile.ends_layer:
            found.append((now, 0, 0, 0))
        else:  # what it finished is stored beside the next tile
            after = tiles[index + 1]
            found.append((now, tile.store + tile.partial, after.reload, after.refill))
    return found


@st.composite
def machines(draw: Any) -> NPUConfig:
    """Small machines on which tiny layers already have many tiles of every kind."""
    rows, cols = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    width = draw(st.sampled_from([1, 2]))
    return NPUConfig(
        array_rows=rows,
        array_cols=cols,
        accumulator_rows=draw(st.integers(1, 8)),
        clock_hz=draw(st.integers(1, 50)),
        ubuf_bytes=2 * rows * width * draw(st.integers(1, 9) | st.integers(10, 100)),
        wbuf_bytes=rows * cols * width * draw(st.integers(2, 20)),
        dram_bytes_per_s=draw(st.integers(1, 400) | st.just(math.inf)),
        dram_latency_cycles=draw(st.integers(0, 9)),
        dram_bytes=draw(st.integers(0, 300)),
        host_link_bytes_per_s=draw(st.integers(1, 100) | st.just(math.inf)),
        element_bytes=width,
        accumulator_bytes=draw(st.sampled_from([2, 4])),
        vector_lanes=draw(st.integers(1, 8)),
        weight_preload=draw(st.sampled_from(["exposed", "hidden"])),
    )


def gemms() -> st.SearchStrategy[Gemm]:
    size = st.integers(1, 20)
    count = st.integers(1, 3)
    whole = st.builds(Gemm, st.just("gemm"), size, size, size, count)
    part = st.integers(1, 400)
    return st.builds(
        lambda gemm, part, tail: replace(
            gemm,
            input_elements=part and min(part, gemm.m * gemm.k),
            tail_ops=tail[0],
            tail_inputs=tail[1],
        ),
        whole,
        st.none() | part,
        st.just((0, 0)) | st.tuples(st.integers(1, 5), st.integers(0, 3)),
    )


def vector_works() -> st.SearchStrategy[VectorWork]:
    return st.builds(
        VectorWork,
        st.just("vector"),
        st.integers(1, 120),
        st.integers(1, 4),
        st.integers(0, 300),
        st.integers(1, 3),
    )


def layers() -> st.SearchStrategy[WorksLayer]:
    works = st.lists(gemms() | vector_works(), min_size=1, max_size=3)
    return works.map(lambda chosen: WorksLayer("layer", tuple(chosen)))


def networks() -> st.SearchStrategy[Network]:
    phase = st.builds(
        Phase,
        st.lists(layers(), min_size=1, max_size=3).map(tuple),
        st.integers(1, 3) | st.just("output"),
    )
    return st.lists(phase, min_size=1, max_size=3).map(lambda phases: network(*phases))
