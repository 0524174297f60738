from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from prema_gym.errors import ConfigError, WorkloadError
from prema_gym.hardware import NPUConfig, Profile, build_profile, stack_profiles
from prema_gym.hardware.layout import (
    AT_END,
    GROUPS,
    LAYER_CYCLES,
    LAYER_ESTIMATED_CYCLES,
    START_CYCLES,
    TILES,
    UNSTORED_BYTES,
)
from prema_gym.hardware.locate import first_segment, locate
from prema_gym.networks import Gemm, Phase, VectorWork, Work, get
from prema_gym.networks.layers import Layer
from tests.hardware.brute_force import WorksLayer, network, one_layer
from tests.hardware.test_timing import TOY


@pytest.mark.small
def test_profile_worked_by_hand() -> None:
    # The GEMM of test_timing: 20, 27, 39, 44, 54, 61, 68, 74 are its boundaries. Output tiles are
    # 6, 2, 3 and 1 bytes, each stored beside the tile that follows; partial sums 4 bytes for each
    # result of the current output tile.
    profile = build_profile(TOY, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    assert profile.total_cycles() == 74
    expected = {
        0: (0, 0, 0),
        1: (20, 24, 10),  # in the first load, then in the first tile
        15: (20, 24, 10),
        20: (20, 24, 10),
        21: (27, 6, 3),
        27: (27, 6, 3),
        28: (39, 8, 6),
        44: (44, 2, 4),
        54: (54, 12, 8),
        61: (61, 3, 2),
        68: (68, 4, 4),
        69: (74, 0, 0),
        74: (74, 0, 0),
    }
    for progress, point in expected.items():
        assert profile.preemption_point(progress) == (*point, 0), progress


@pytest.mark.small
def test_stored_outputs_are_no_context() -> None:
    # 1 024 output tiles, of which only the last one is ever on chip.
    net = one_layer(Gemm("gemm", 3 * 1024, 3, 2))
    profile = build_profile(TOY, net, batch=1)
    points = [profile.preemption_point(x) for x in range(0, profile.total_cycles(), 5)]
    assert {point.context_bytes for point in points} == {0, 6, 24}


@pytest.mark.small
def test_equal_neighbours_merge_and_layers_do_not() -> None:
    works = (Gemm("a", 6, 4, 4), Gemm("b", 3, 4, 2, count=5))
    phase = Phase((WorksLayer("one", works), WorksLayer("two", works)))
    segments = build_profile(TOY, network(phase), batch=1).segments
    # The first output tile has the first load, the last one the last store.
    assert segments[:, GROUPS].tolist() == [1, 2 * 2 + 5 - 2, 1] * 2
    assert segments[:, TILES].tolist() == [2] * 6
    assert segments[:, UNSTORED_BYTES].tolist() == [0, 6, 6] * 2
    # A millionfold repetition is no more.
    many = one_layer(Gemm("many", 3, 4, 2, count=10**6))
    assert build_profile(TOY, many, batch=1).segments[:, GROUPS].tolist() == [1, 10**6 - 2, 1]


@pytest.mark.small
def test_a_layer_without_a_gemm_counts_with_the_one_before_it() -> None:
    gemm, pool = Gemm("gemm", 4, 3, 3), VectorWork("pool", 10, 1, 10)
    names = ("pool", "gemm", "pool", "both", "pool", "pool")
    works: dict[str, tuple[Work, ...]] = {"pool": (pool,), "gemm": (gemm,), "both": (pool, gemm)}
    layers = tuple(WorksLayer(name, works[name]) for name in names)
    net = network(Phase(layers), Phase((WorksLayer("pool", (pool,)),), "output"))

    def expect(layer: Layer) -> int:
        return {"gemm": 100, "both": 7}.get(layer.name, 0)

    def cycles(name: str) -> int:
        return build_profile(TOY, one_layer(*works[name]), batch=1).total_cycles()

    profile = build_profile(TOY, net, batch=1, expect=expect)
    first = 2 * cycles("pool") + cycles("gemm")
    second = cycles("both") + 2 * cycles("pool")
    # One segment a layer and kind of work: pool, gemm (several shapes of tile), pool, …
    seen = dict.fromkeys(map(tuple, profile.segments[:, [LAYER_CYCLES, LAYER_ESTIMATED_CYCLES]]))
    assert list(seen) == [(first, 100), (second, 7), (cycles("pool"), 1)]  # at least one cycle
    # The layer of the tile that follows, at and around every boundary between layers.
    table = profile.table
    start = 0
    for layer, name in enumerate(("pool", "gemm", "pool", "both", "pool", "pool", "pool", "pool")):
        estimated = 100 if layer < 3 else 7 if layer < 6 else 1
        for progress in (start, start + cycles(name) // 2):
            boundary, *_, segment = locate(table, 0, 2, progress)
            if boundary < start + cycles(name):
                assert table.segments[segment, LAYER_ESTIMATED_CYCLES] == estimated, progress
        start += cycles(name)
    assert start == profile.total_cycles(2)
    assert locate(table, 0, 2, start)[-1] == AT_END
    # Without expectations they are the true times.
    exact = build_profile(TOY, net, batch=1).segments
    assert exact[:, LAYER_ESTIMATED_CYCLES].tolist() == exact[:, LAYER_CYCLES].tolist()


@pytest.mark.small
def test_stacked_profiles_answer_as_they_do_alone() -> None:
    config = NPUConfig()
    profiles = [
        build_profile(config, get(name), batch=batch, input_length=5)
        for name in ("alexnet", "rnn-mt1", "rnn-asr")
        for batch in (1, 4)
    ]
    table = stack_profiles(config, profiles)
    assert table.profiles.flags["C_CONTIGUOUS"]
    for row, profile in enumerate(profiles):
        total = profile.total_cycles(3)
        for progress in np.linspace(0, total, 12).astype(int).tolist():
            *alone, segment = locate(profile.table, 0, 3, progress)
            *found, there = locate(table, row, 3, progress)
            assert found == alone
            if segment != AT_END:
                segment += first_segment(table, row)
            assert there == segment


@pytest.mark.small
def test_profiles_are_read_only_and_pickle() -> None:
    profile = build_profile(TOY, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    with pytest.raises(ValueError, match="read-only"):
        profile.segments[0, START_CYCLES] = 1
    with pytest.raises(ValueError, match="read-only"):
        profile.table.phases[0, 0] = 1
    copy = pickle.loads(pickle.dumps(profile))
    assert isinstance(copy, Profile)
    assert np.array_equal(copy.segments, profile.segments)


@pytest.mark.small
def test_what_cannot_be_profiled_or_asked_is_refused() -> None:
    net = one_layer(Gemm("gemm", 4, 3, 3))
    profile = build_profile(TOY, net, batch=1)
    for progress in (-1, 75):
        with pytest.raises(ConfigError, match=r"progress_cycles must be .* from 0 to 74, got"):
            profile.preemption_point(progress)
    with pytest.raises(ConfigError, match=r"output_length must be .*, got 0"):
        profile.total_cycles(0)
    with pytest.raises(ConfigError, match="batch"):
        build_profile(TOY, get("alexnet"), batch=0)
    with pytest.raises(ConfigError, match="profile 0 was built for another machine"):
        stack_profiles(NPUConfig(), [profile])
    with pytest.raises(ConfigError, match="at least one"):
        stack_profiles(TOY, [])
    with pytest.raises(WorkloadError, match="no work"):
        build_profile(TOY, network(), batch=1)
    with pytest.raises(WorkloadError, match="a phase without work"):
        build_profile(TOY, network(Phase((WorksLayer("idle", ()),))), batch=1)


@pytest.mark.small
def test_64_bit_overflow_is_refused() -> None:
    with pytest.raises(ConfigError, match="phase time"):
        build_profile(TOY, one_layer(Gemm("gemm", 2**62, 1, 2)), batch=1)
    with pytest.raises(ConfigError, match="runs of tiles must be at most"):
        build_profile(TOY, one_layer(Gemm("gemm", 4, 1, 2**22)), batch=1)
    with pytest.raises(ConfigError, match="phase time"):
        build_profile(
            TOY, network(Phase((WorksLayer("a", (Gemm("a", 9, 9, 9),)),), 2**60)), batch=1
        )
    # One vector tile reads far more than any GEMM tile: bytes times 999 999 937 overflow.
    prime = replace(TOY, clock_hz=999_999_937, dram_bytes_per_s=999_999_929)
    with pytest.raises(ConfigError, match="a transfer at dram_bytes_per_s"):
        build_profile(prime, one_layer(VectorWork("sum", 1, 1, 2**34)), batch=1)
    free = replace(TOY, dram_bytes_per_s=math.inf, host_link_bytes_per_s=math.inf)
    with pytest.raises(ConfigError, match="a tile's load"):
        build_profile(free, one_layer(VectorWork("sum", 1, 1, 2**63)), batch=1)
    step = Phase((WorksLayer("step", (Gemm("a", 9, 9, 9),)),), "output")
    with pytest.raises(ConfigError, match="isolated time"):
        build_profile(TOY, network(step), batch=1).total_cycles(2**60)
