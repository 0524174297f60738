"""What stays on chip is loaded once: traffic from above and below, and a roofline."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings

from prema_gym.hardware import NPUConfig, build_profile, time_gemm, time_layer, time_network
from prema_gym.hardware.layout import FIRST_KEPT_BYTES, INNER_KEPT_BYTES, RESIDENT_BYTES
from prema_gym.hardware.plan import best_order
from prema_gym.networks import Conv2d, Gemm, Tensor, get
from tests.hardware.brute_force import WorksLayer, gemm_tiles, gemms, machines, one_layer
from tests.hardware.test_timing import TOY

# The machine of the hand-worked cases, with room for more than its double buffers.
ROOMY = replace(TOY, ubuf_bytes=1000, wbuf_bytes=1000)


def compulsory(config: NPUConfig, gemm: Gemm) -> int:
    """Each operand and each result once."""
    results = gemm.m * gemm.n
    once = gemm.streamed_elements + gemm.k * gemm.n + results * (1 + gemm.tail_inputs)
    return gemm.count * once * config.element_bytes


@given(machines(), gemms())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_traffic_is_at_least_compulsory_and_least_where_all_fits(
    config: NPUConfig, gemm: Gemm
) -> None:
    layer = WorksLayer("layer", (gemm,))
    assert time_layer(config, layer).bytes_moved >= compulsory(config, gemm)
    roomy = replace(config, ubuf_bytes=2**20, wbuf_bytes=2**20)
    assert time_layer(roomy, layer).bytes_moved == compulsory(roomy, gemm)


@pytest.mark.small
def test_a_product_that_fits_worked_by_hand() -> None:
    # (4 × 3)·(3 × 3) as in test_timing: N tiles of 2 columns and 1, M tiles of 3 rows and 1, K
    # tiles of 1 and 2. All has room. Quickest is one block of both N tiles:
    #   m=3 n=2: loads 2 + 3, then 4 + 6   m=3 n=1: 1, then 2   m=1 n=2: 1, then 2   n=1: nothing
    # so a tile's time is that of computing, 7 or 5, but for the first (10) and the third, which
    # loads 2 and stores 6.
    timing = time_gemm(ROOMY, m=4, k=3, n=3)
    assert timing.bytes_moved == 5 + 10 + 1 + 2 + 1 + 2 + 12 == 12 + 9 + 12
    assert timing.cycles == 5 + 5 + (10 + 7 + 8 + 7 + 5 + 5 + 5 + 5) + 1
    # Each of four output tiles reads its 3 · (rows + columns) operands, and writes its results.
    assert timing.buffer_bytes == timing.bytes_moved + 3 * (5 + 3 + 4 + 2) + 12


@pytest.mark.small
def test_a_restore_brings_back_what_stayed() -> None:
    # The same product at its boundaries: what later tiles use without loading it, and what the next
    # one loads.
    profile = build_profile(ROOMY, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    ends = [20, 27, 35, 42, 47, 52, 57]
    points = [profile.preemption_point(end) for end in ends]
    assert [point.boundary_cycles for point in points] == ends
    assert [point.context_bytes for point in points] == [24, 6, 12, 3, 8, 2, 4]
    assert [point.reload_bytes for point in points] == [
        (2 + 3) + 10,
        (6 + 9) + 1,  # weights of n=2, inputs of m=3
        (6 + 1 + 6) + 2,  # 3 of the inputs have been used for the last time
        (6 + 3) + 1,  # all weights; now m=1
        (4 + 3 + 1) + 2,
        (3 + 3) + 0,  # weights of n=1, inputs of m=1
        (2 + 2) + 0,
    ]
    assert profile.preemption_point(profile.total_cycles()).reload_bytes == 0


@given(machines(), gemms())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_nothing_stays_behind(config: NPUConfig, gemm: Gemm) -> None:
    segments = build_profile(config, one_layer(gemm), batch=1).segments
    assert (segments[:, RESIDENT_BYTES] >= 0).all()
    assert segments[0, RESIDENT_BYTES] == 0
    last = segments[-1]
    assert (
        last[RESIDENT_BYTES] + last[FIRST_KEPT_BYTES] + (last[2] - 1) * last[INNER_KEPT_BYTES] == 0
    )


@pytest.mark.small
def test_the_order_that_moves_least() -> None:
    config = NPUConfig()
    # Weights of 2 MiB and inputs of 128 MiB: all weights stay, so inputs pass once.
    large = Gemm("large", 65536, 1024, 1024)
    assert best_order(config, large).block == 8
    assert loaded(config, large) == 2 * (65536 * 1024 + 1024 * 1024)
    # One row of inputs: each N tile on its own.
    row = Gemm("row", 1, 4096, 4096)
    assert best_order(config, row).block == 1
    # Inputs of 8 MiB in one M tile do not stay. With ample bandwidth that hides; at a quarter of it
    # two M tiles that stay are quicker, although the array fills twice as often.
    square = Gemm("square", 2048, 2048, 2048)
    slow = replace(config, dram_bytes_per_s=config.dram_bytes_per_s // 4)
    assert best_order(config, square) == (2048, 1, True, False, False)
    assert best_order(slow, square) == (1024, 16, False, True, False)
    # Neither 16 MiB of weights nor 128 MiB of inputs have room: the 4 MiB of an M tile stay for all
    # N tiles, and weights come once for each of 32 M tiles. Five blocks of 15 N tiles, whose
    # weights have room, would load the inputs five times: 705 MB in place of 688.
    deep = Gemm("deep", 65536, 1024, 8192)
    assert best_order(config, deep) == (2048, 64, False, True, False)
    assert loaded(config, deep) == 2 * (65536 * 1024 + 32 * 1024 * 8192)
    assert loaded(config, deep) / 2 < 5 * 65536 * 1024 + 1024 * 8192


def loaded(config: NPUConfig, gemm: Gemm) -> int:
    stored = gemm.m * gemm.n * config.element_bytes
    return time_layer(config, WorksLayer("layer", (gemm,))).bytes_moved - stored


@pytest.mark.small
def test_a_convolutions_windows_share_their_pixels() -> None:
    config = NPUConfig()
    image = Tensor((64, 56, 56))
    conv = Conv2d("conv", image, out_channels=64, kernel=3, padding=1)
    moved = time_layer(config, conv).bytes_moved
    assert moved == 2 * (64 * 56 * 56 + 9 * 64 * 64 + 64 * 56 * 56)
    # Windows of one pixel at every other place read a quarter of the map.
    strided = Conv2d("strided", image, out_channels=64, kernel=1, stride=2)
    assert time_layer(config, strided).bytes_moved == 2 * (64 * 28 * 28 + 64 * 64 + 64 * 28 * 28)


def test_vgg_moves_little_more_than_it_must() -> None:
    config = NPUConfig()
    must = sum(
        compulsory(config, work)
        if isinstance(work, Gemm)
        else 2 * (work.count * (work.elements + work.input_elements))
        for phase in get("vgg-16").phases(1)
        for layer in phase.layers
        for work in layer.work(16)
    )
    assert must == pytest.approx(1.25e9, rel=0.01)
    # Two layers move more. Their 4.5 MiB of weights have no room in the 4 MiB of WBUF, nor their
    # inputs in UBUF: the weights come once for each of the M tiles of 2 048 rows, not once.
    m, k, n = 16 * 28 * 28, 9 * 512, 512
    assert 2 * k * n > config.wbuf_bytes
    assert config.ubuf_bytes < 2 * 16 * 28 * 28 * 512
    again = 2 * (math.ceil(m / config.tile_rows) - 1) * 2 * k * n
    assert time_network(config, get("vgg-16"), batch=16).bytes_moved == must + again


def one_by_one(config: NPUConfig, gemm: Gemm) -> list[tuple[int, float]]:
    """How long each tile computes, and how long memory moves meanwhile, by the tests' own tiles."""
    tiles = gemm_tiles(config, gemm)
    loads = [tile.load for tile in tiles[1:]] + [0]
    stores = [0] + [tile.store for tile in tiles[:-1]]
    per_byte = float(config.dram_cycles_per_byte)
    return [
        (config.fill_cycles + tile.compute, (load + store) * per_byte)
        for tile, load, store in zip(tiles, loads, stores, strict=True)
    ]


BANDWIDTHS = [2.0**power for power in range(-3, 4)]


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 4096, 4096), (16, 4096, 4096), (512, 512, 512), (2048, 2048, 2048), (65536, 576, 128)],
)
def test_roofline(m: int, k: int, n: int) -> None:
    # More bandwidth never hurts. Besides what is exposed, time is that of the longer of computing
    # and moving, and of what the tiles of the other kind lack: while a tile computes for longer
    # than it moves, memory waits, and does not work ahead for a tile that moves for longer.
    base = NPUConfig()
    before = math.inf
    for factor in BANDWIDTHS:
        config = replace(base, dram_bytes_per_s=int(base.dram_bytes_per_s * factor))
        timing = time_gemm(config, m=m, k=k, n=n)
        moving = timing.bytes_moved * float(config.dram_cycles_per_byte)
        assert max(timing.compute_cycles, moving) <= timing.cycles
        hidden = timing.cycles - timing.exposed_cycles
        lacking = one_by_one(config, Gemm("gemm", m, k, n))
        compute, moved = (sum(times) for times in zip(*lacking, strict=True))
        assert compute == timing.compute_cycles
        beyond = sum(max(0.0, long - short) for short, long in lacking)  # moved for longer
        if moved > compute:
            beyond -= moved - compute
        # Each tile's transfer is rounded up to whole cycles.
        assert 0 <= hidden - (max(compute, moved) + beyond) < len(lacking)
        assert timing.cycles <= before
        before = timing.cycles


def test_less_bandwidth_hurts_less_the_more_is_computed_per_byte() -> None:
    base = NPUConfig()
    intensity, slower = [], []
    for rows in (1, 16, 64, 256, 512, 768):  # whose inputs have room
        times = [
            time_gemm(replace(base, dram_bytes_per_s=rate), m=rows, k=4096, n=4096)
            for rate in (base.dram_bytes_per_s, base.dram_bytes_per_s // 16)
        ]
        intensity.append(times[0].macs / times[0].bytes_moved)
        slower.append(times[1].cycles / times[0].cycles)
    assert intensity == sorted(intensity)
    assert slower == sorted(slower, reverse=True)
    assert slower[0] > 2 > 1.4 > slower[-1]


def test_a_quarter_of_the_bandwidth_hurts_a_large_product_little() -> None:
    # 683 operations a byte: 1.9 × as long if inputs were loaded for every N tile.
    base = NPUConfig()
    quarter = replace(base, dram_bytes_per_s=base.dram_bytes_per_s // 4)
    times = [time_gemm(config, m=2048, k=2048, n=2048).cycles for config in (base, quarter)]
    assert times[1] < 1.26 * times[0]
