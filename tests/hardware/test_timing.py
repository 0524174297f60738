from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prema_gym.errors import ConfigError
from prema_gym.hardware import (
    NPUConfig,
    Timing,
    build_profile,
    plan,
    time_gemm,
    time_layer,
    time_network,
)
from prema_gym.hardware.layout import GROUPS, TILES
from prema_gym.hardware.pipeline import pace
from prema_gym.networks import (
    Conv2d,
    Gemm,
    Layer,
    Linear,
    Network,
    Phase,
    Pool2d,
    Tensor,
    VectorWork,
    get,
)
from tests.hardware.brute_force import (
    WorksLayer,
    all_tiles,
    gemms,
    layer_tiles,
    layers,
    machines,
    network,
    networks,
    one_layer,
)

FREE_MEMORY = NPUConfig(dram_bytes_per_s=math.inf, dram_latency_cycles=0)

# One byte a cycle, so that bytes are cycles in the hand-worked cases; each buffer holds the two
# tiles of its double buffer and no more.
TOY = NPUConfig(
    array_rows=2,
    array_cols=2,
    accumulator_rows=3,
    clock_hz=1000,
    ubuf_bytes=2 * 6,
    wbuf_bytes=2 * 4,
    dram_bytes_per_s=1000,
    dram_latency_cycles=5,
    element_bytes=1,
    accumulator_bytes=4,
    vector_lanes=4,
)


@pytest.mark.small
@pytest.mark.parametrize(
    ("m", "k", "n", "cycles"),
    [(128, 128, 128, 510), (256, 512, 256, 5104), (1000, 300, 200, 8292)],
)
def test_published_gemm_cycles(m: int, k: int, n: int, cycles: int) -> None:
    assert time_gemm(NPUConfig(), m=m, k=k, n=n).compute_cycles == cycles
    assert time_gemm(FREE_MEMORY, m=m, k=k, n=n).cycles == cycles


@pytest.mark.small
def test_gemm_worked_by_hand() -> None:
    # K tiles of 1 row and 2, M tiles of 3 rows and 1, N tiles of 2 columns and 1; a tile of 3 rows
    # computes for 2·2 + 2 + 3 − 2 = 7 cycles, one of 1 row for 5. In order (computing; the next
    # load + the store before):
    #   n=2 m=3: 7 (10), 7 (3)         n=2 m=1: 5 (6 + 6), 5 (4)
    #   n=1 m=3: 7 (8 + 2), 7 (2)      n=1 m=1: 5 (4 + 3), 5 (–)
    # Nothing hides the latency of 5, the first load of 5 and the last store of 1.
    timing = time_gemm(TOY, m=4, k=3, n=3)
    assert timing.exposed_cycles == 5 + 5 + 1
    assert timing.cycles == 11 + 10 + 7 + 12 + 5 + 10 + 7 + 7 + 5
    assert timing.compute_cycles == 4 * 7 + 4 * 5
    assert timing.memory_cycles == 10 + 3 + 12 + 4 + 10 + 2 + 7
    assert timing.bytes_moved == 48 + 5 + 1
    assert timing.stall_cycles == 74 - 48
    assert timing.macs == timing.array_macs == 36
    assert timing.utilisation == 36 / (4 * 74)
    assert timing.sums_bytes == 2 * 12 * 4  # two K tiles, 12 results of 4 bytes
    assert timing.vector_cycles == timing.vector_ops == 0
    assert timing.milliseconds == 74.0


@pytest.mark.small
def test_vector_work_worked_by_hand() -> None:
    # Tiles of 2 × 2 elements: 4, 4, 4 and 2; the full ones read ⌊30·4/14⌋ = 8 inputs, the last one
    # the 6 that are left. Each computes for 3 cycles; meanwhile move 8, 8 + 4, 6 + 4 and 4 bytes.
    layer = WorksLayer("pool", (VectorWork("pool", 14, 3, 30),))
    timing = time_layer(TOY, layer)
    assert timing.exposed_cycles == 5 + 8 + 2
    assert timing.cycles == 15 + 8 + 12 + 10 + 4
    assert timing.compute_cycles == timing.vector_cycles == 4 * 3
    assert timing.bytes_moved == 30 + 14
    assert timing.vector_ops == 14 * 3
    assert timing.macs == timing.sums_bytes == 0
    assert timing.utilisation == 0.0


@pytest.mark.small
def test_only_a_layers_first_load_and_last_store_are_exposed() -> None:
    gemm = Gemm("a", 4, 3, 3)
    vector = VectorWork("b", 14, 3, 30)
    # The product's last tile loads for the vector unit now: 8 cycles in place of 5 and the store of
    # 1, which goes with the next load: 9 cycles in place of 8.
    both = time_layer(TOY, WorksLayer("both", (gemm, vector)))
    assert both.exposed_cycles == 5 + 5 + 2
    assert both.cycles == (74 - 5 - 1 + 8) + (49 - 5 - 8 - 8 + 9)
    # The second product's first load of 5 hides behind the last tile of the first, its store of 1
    # goes with the load of 10 in the other's first tile.
    twice = time_layer(TOY, WorksLayer("twice", (replace(gemm, count=2),)))
    assert twice.cycles == (74 - 1) + (74 - 5 - 5 + 1)
    assert twice.bytes_moved == 2 * 54


@pytest.mark.small
def test_one_pass_over_memory_takes_as_long_as_its_traffic() -> None:
    # A sum and a copy that memory bounds: nothing is charged twice, and all but the first load and
    # the last store, a tile's each, is hidden.
    config = NPUConfig()
    elements = 64 * config.vector_tile_elements
    for operands in (1, 2):
        work = VectorWork("sum", elements, 1, operands * elements)
        timing = time_layer(config, WorksLayer("sum", (work,)))
        moved = math.ceil(timing.bytes_moved * config.cycles_per_byte("dram_bytes_per_s"))
        assert timing.bytes_moved == 2 * (operands + 1) * elements
        assert (
            moved
            < timing.cycles - config.dram_latency_cycles
            < 1.03 * max(moved, timing.compute_cycles)
        )


@pytest.mark.small
def test_hidden_preload_worked_by_hand() -> None:
    # The product of test_gemm_worked_by_hand: tiles compute for max(3 or 1 rows, 2 array rows), the
    # last one, with none behind it, for 1; the first one fills the array for 2·2 + 2 − 2 = 4.
    # Quickest now are both N tiles after each other for each M tile. Computing, and meanwhile the
    # next load + the store before:
    #   m=3 n=2: 7 (10), 3 (4)   m=3 n=1: 3 (8 + 6), 3 (3)   m=1 n=2: 2 (6 + 3), 2 (2)
    #   m=1 n=1: 2 (4 + 2), 1 (–), and the same 5 + 5 + 1 exposed.
    hidden = replace(TOY, weight_preload="hidden")
    timing = time_gemm(hidden, m=4, k=3, n=3)
    assert timing.compute_cycles == (4 + 3) + 3 + 3 + 3 + 2 + 2 + 2 + 1
    assert timing.cycles == 11 + 10 + 4 + 14 + 3 + 9 + 2 + 6 + 1
    # Vector work between two products empties the array: the second fills it again.
    product, vector = Gemm("a", 3, 2, 2), VectorWork("b", 4, 3, 4)
    apart = time_layer(hidden, WorksLayer("apart", (product, vector, product)))
    assert apart.compute_cycles - apart.vector_cycles == 2 * (4 + 3)
    row = time_layer(hidden, WorksLayer("row", (product, product)))
    assert row.compute_cycles == 4 + 3 + 3


@given(machines(), gemms())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_tile_alone_takes_as_long_under_both_preloads(config: NPUConfig, gemm: Gemm) -> None:
    exposed, hidden = (replace(config, weight_preload=rule) for rule in ("exposed", "hidden"))
    one = {"m": min(gemm.m, config.tile_rows), "k": min(gemm.k, config.array_rows)}
    one["n"] = min(gemm.n, config.array_cols)
    alone = [build_profile(c, one_layer(Gemm("g", **one)), batch=1) for c in (exposed, hidden)]
    if all(profile.segments[:, [GROUPS, TILES]].tolist() == [[1, 1]] for profile in alone):
        assert alone[0].total_cycles() == alone[1].total_cycles()
    layer = WorksLayer("layer", (gemm,))
    # A wait for the next tile's weights stands at this tile, beside its transfers, not at the next.
    margin = config.array_rows
    assert time_layer(hidden, layer).cycles <= time_layer(exposed, layer).cycles + margin


def test_small_ubuf_limits_the_rows_of_a_tile() -> None:
    # 2 buffers × 2 K rows × 1 byte: 8 bytes hold 2 rows of M, so 4 rows take two tiles of
    # 2·2 + 2 + 2 − 2 = 6 cycles.
    small = replace(TOY, ubuf_bytes=8)
    assert small.tile_rows == 2
    assert time_gemm(small, m=4, k=2, n=2).compute_cycles == 12


def test_decoder_phases_count_once_per_output_step() -> None:
    encoder = Phase((WorksLayer("encoder", (Gemm("a", 4, 3, 3),)),), 2)
    decoder = Phase((WorksLayer("decoder", (Gemm("b", 1, 3, 3),)),), "output")
    timing = time_network(TOY, network(encoder, decoder), output_length=5)
    assert [(layer.name, layer.repeat) for layer in timing.layers] == [
        ("encoder", 2),
        ("decoder", 5),
    ]
    assert timing.layers[0].cycles == 2 * 74
    assert timing.macs == 2 * 36 + 5 * 9


@pytest.mark.parametrize(
    ("batch", "lengths"), [(0, {}), (1, {"input_length": 0}), (1, {"output_length": 0})]
)
def test_sizes_below_one_are_refused(batch: int, lengths: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        time_network(NPUConfig(), get("rnn-mt1"), batch=batch, **lengths)
    with pytest.raises(ConfigError):
        time_gemm(NPUConfig(), m=0, k=1, n=1)


@given(machines(), layers())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_layer_time_is_the_sum_of_its_tiles(config: NPUConfig, layer: WorksLayer) -> None:
    tiles = layer_tiles(config, layer.works)
    timing = time_layer(config, layer)
    assert timing.cycles == sum(tile.cycles for tile in tiles)
    assert timing.bytes_moved == sum(tile.load + tile.beside + tile.store for tile in tiles)


@given(machines(), networks(), st.integers(1, 4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_network_time_is_the_sum_of_layers_and_the_profile(
    config: NPUConfig, net: Network, output_length: int
) -> None:
    timing = time_network(config, net, output_length=output_length)
    assert timing.cycles == sum(tile.cycles for tile in all_tiles(config, net, output_length))
    assert timing.cycles == build_profile(config, net, batch=1).total_cycles(output_length)
    for field in fields(Timing):
        if field.name not in ("array_pes", "clock_hz"):
            parts = [getattr(layer, field.name) for layer in timing.layers]
            assert getattr(timing, field.name) == sum(parts), field.name


@pytest.mark.parametrize("name", ["alexnet", "googlenet", "mobilenet-v1", "rnn-mt2", "rnn-asr"])
def test_zoo_time_equals_profile_and_macs_equal_the_networks(name: str) -> None:
    net = get(name)
    timing = time_network(NPUConfig(), net, batch=4, input_length=12, output_length=7)
    profile = build_profile(NPUConfig(), net, batch=4, input_length=12)
    assert timing.cycles == profile.total_cycles(7)
    assert timing.macs == 4 * net.macs(input_length=12, output_length=7)


def test_laws_of_time_on_500_random_layers() -> None:
    rng = np.random.default_rng(2020)
    for _ in range(500):
        config = NPUConfig(
            array_rows=int(rng.choice([8, 16, 32, 128, 256])),
            array_cols=int(rng.choice([8, 16, 32, 128, 256])),
            accumulator_rows=int(rng.choice([64, 512, 2048])),
            ubuf_bytes=int(rng.choice([2**16, 2**20, 2**23])),
            dram_bytes_per_s=int(rng.choice([10**9, 25 * 10**9, 358 * 10**9])),
            dram_latency_cycles=int(rng.integers(0, 200)),
        )
        m, k, n = (int(2 ** rng.uniform(0, 13)) for _ in range(3))
        works = (Gemm("gemm", m, k, n), VectorWork("vector", m * n, 3, 2 * m * n))
        for work in works:
            layer = WorksLayer("layer", (work,))
            timing = time_layer(config, layer)
            assert timing.stall_cycles >= 0
            assert timing.cycles == timing.compute_cycles + timing.stall_cycles
            free = replace(config, dram_bytes_per_s=math.inf, dram_latency_cycles=0)
            assert time_layer(free, layer).stall_cycles == 0
            slow = replace(config, dram_bytes_per_s=config.dram_bytes_per_s // 10)
            assert time_layer(slow, layer).cycles >= timing.cycles
            # More accumulators make larger tiles, which leave less room for what stays.
            for buffer in ("ubuf_bytes", "wbuf_bytes"):
                larger = replace(config, **{buffer: 4 * getattr(config, buffer)})
                assert time_layer(larger, layer).bytes_moved <= timing.bytes_moved
        assert 0 < time_gemm(config, m=m, k=k, n=n).utilisation <= 1


@given(machines(), gemms(), st.sampled_from("mkn"), st.integers(1, 9))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_time_never_falls_when_a_gemm_grows(
    config: NPUConfig, gemm: Gemm, size: str, more: int
) -> None:
    sizes = {"m": gemm.m, "k": gemm.k, "n": gemm.n}
    larger = sizes | {size: sizes[size] + more}
    assert time_gemm(config, **larger).cycles >= time_gemm(config, **sizes).cycles


@given(
    machines(),
    st.integers(3, 9),
    st.integers(1, 6),
    st.sampled_from(["conv", "depthwise", "pool", "linear"]),
    st.integers(1, 9),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_time_never_falls_when_the_batch_grows(
    config: NPUConfig, size: int, channels: int, kind: str, batch: int
) -> None:
    image = Tensor((channels, size, size))
    assume(kind != "depthwise" or channels > 1)
    made: dict[str, Callable[[], Layer]] = {
        "conv": lambda: Conv2d("conv", image, out_channels=5, kernel=3, padding=1),
        "depthwise": lambda: Conv2d(
            "conv", image, out_channels=channels, kernel=3, groups=channels
        ),
        "pool": lambda: Pool2d("pool", image, kernel=2, stride=2),
        "linear": lambda: Linear("linear", image.flatten(), out_features=7),
    }
    layer = made[kind]()
    times = [time_layer(config, layer, batch=b).cycles for b in (batch, batch + 1)]
    assert times[0] <= times[1]


def test_bandwidth_slows_a_fully_connected_layer_and_one_row_is_faster_than_many() -> None:
    slow = NPUConfig(dram_bytes_per_s=358e9 / 10)
    sizes = {"m": 1, "k": 4096, "n": 4096}
    assert time_gemm(slow, **sizes).cycles > time_gemm(NPUConfig(), **sizes).cycles
    many = time_gemm(NPUConfig(), m=256, k=4096, n=4096)
    assert time_gemm(NPUConfig(), **sizes).cycles < many.cycles


def test_dense_convolution_uses_the_array_better_than_depthwise() -> None:
    image = Tensor((32, 112, 112))
    dense = Conv2d("dense", image, out_channels=32, kernel=3, padding=1)
    depthwise = replace(dense, name="depthwise", groups=32)
    timings = [time_layer(NPUConfig(), layer) for layer in (dense, depthwise)]
    assert timings[0].utilisation > timings[1].utilisation
    assert timings[1].macs == 3_612_672
    assert timings[1].vector_ops == 3_612_672


@pytest.mark.small
def test_large_maps_need_neither_many_records_nor_much_memory() -> None:
    image = Tensor((32, 1080, 1920))
    layer = Conv2d("large", image, out_channels=8, kernel=3, padding=1)
    net = Network.from_layers("large", [layer], source="a report about another simulator")
    tracemalloc.start()
    timing = time_network(NPUConfig(), net)
    profile = build_profile(NPUConfig(), net, batch=1)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert timing.macs == 1080 * 1920 * 32 * 9 * 8
    assert (
        len(profile.segments) <= 4
    )  # the first M tile, those between, the last full one, the edge
    assert peak_bytes < 2**20


@pytest.mark.parametrize(
    ("name", "batch", "percent"),
    [("alexnet", 1, 0.2), ("alexnet", 16, 2.6), ("mobilenet-v1", 16, 9.1), ("resnet-50", 16, 8.9)],
)
def test_outputs_kept_until_a_layer_ends_would_take_longer(
    name: str, batch: int, percent: float
) -> None:
    """No tile stores anything, and each layer's whole output is exposed: fidelity.md's figures."""
    config = NPUConfig()
    stored = kept = 0
    for phase in get(name).phases():
        for layer in phase.layers:
            tiles = plan.layer_tiles(config, layer, batch)
            output = sum(one.run.groups * one.run.output_bytes for one in tiles)
            storeless = pace(config, [one.run._replace(output_bytes=0) for one in tiles])
            stored += sum(one.run.groups * one.group_cycles for one in tiles)
            kept += sum(one.run.groups * one.group_cycles for one in storeless)
            kept += math.ceil(output * config.dram_cycles_per_byte)
    assert stored == time_network(config, get(name), batch=batch).cycles
    assert 100 * (kept / stored - 1) == pytest.approx(percent, abs=0.05)
