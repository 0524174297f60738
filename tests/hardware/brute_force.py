"""The tiles of a network written out one by one, and random small machines and networks.

Independent of :mod:`prema_gym.hardware.tiles`: this follows docs/simulator.md and fidelity.md with
plain loops and fractions, so that the tests compare two implementations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    compute: int
    load: int
    store: int = 0  # of the output tile it finishes, if it does
    partial: int = 0
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
    rows = min(
        config.accumulator_rows, config.ubuf_bytes // (2 * config.array_rows * config.element_bytes)
    )
    width = config.element_bytes
    tiles = []
    if isinstance(work, Gemm):
        for n in pieces(work.n, config.array_cols):
            for m in pieces(work.m, rows):
                depths = pieces(work.k, config.array_rows)[::-1]  # a ragged one first
                for index, k in enumerate(depths):
                    is_last = index == len(depths) - 1
                    compute = 2 * config.array_rows + config.array_cols + m - 2
                    store = m * n * width if is_last else 0
                    sums = 0 if is_last else m * n * config.accumulator_bytes
                    tiles.append(Tile(compute, (k * n + m * k) * width, store, sums))
    else:
        left = work.input_elements
        sizes = pieces(work.elements, config.array_rows * config.array_cols)
        for index, elements in enumerate(sizes):
            inputs = left
            if index < len(sizes) - 1:
                inputs = math.floor(Fraction(work.input_elements * elements, work.elements))
            left -= inputs
            compute = math.ceil(elements / config.vector_lanes) * work.ops_per_element
            tiles.append(Tile(compute, inputs * width, elements * width))
    return [Tile(**vars(tile)) for _ in range(work.count) for tile in tiles]


def layer_tiles(config: NPUConfig, works: Sequence[Work]) -> list[Tile]:
    """Each tile beside the next one's load and the store of the one before."""
    tiles = [tile for work in works for tile in work_tiles(config, work)]
    rate = config.dram_bytes_per_s
    for before, tile, after in zip([None, *tiles], tiles, [*tiles[1:], None], strict=False):
        moved = (before.store if before else 0) + (after.load if after else 0)
        tile.cycles = max(tile.compute, stream_cycles(config, moved, rate))
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


def boundaries(config: NPUConfig, tiles: Sequence[Tile]) -> list[tuple[int, int, int]]:
    """Every boundary as (progress, context bytes, reload bytes), progress 0 included."""
    found = [(0, 0, 0)]
    now = 0
    for index, tile in enumerate(tiles):
        now += tile.cycles
        if tile.ends_layer:
            found.append((now, 0, 0))
        else:  # what it finished is stored beside the next tile
            found.append((now, tile.store + tile.partial, tiles[index + 1].load))
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
        ubuf_bytes=2 * rows * width * draw(st.integers(1, 9)),
        wbuf_bytes=2 * rows * cols * width,
        dram_bytes_per_s=draw(st.integers(1, 400) | st.just(math.inf)),
        dram_latency_cycles=draw(st.integers(0, 9)),
        dram_bytes=draw(st.integers(0, 300)),
        host_link_bytes_per_s=draw(st.integers(1, 100) | st.just(math.inf)),
        element_bytes=width,
        accumulator_bytes=draw(st.sampled_from([2, 4])),
        vector_lanes=draw(st.integers(1, 8)),
    )


def gemms() -> st.SearchStrategy[Gemm]:
    size = st.integers(1, 20)
    return st.builds(Gemm, st.just("gemm"), size, size, size, st.integers(1, 3))


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
