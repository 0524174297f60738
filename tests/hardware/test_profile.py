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
    INNER_TILES,
    LAYER_CYCLES,
    LAYER_ESTIMATED_CYCLES,
    LEAD_CYCLES,
    OUTPUT_BASE_BYTES,
    START_CYCLES,
)
from prema_gym.hardware.locate import first_segment, locate
from prema_gym.networks import Gemm, Phase, VectorWork, Work, get
from prema_gym.networks.layers import Layer
from tests.hardware.brute_force import WorksLayer, network, one_layer
from tests.hardware.test_timing import TOY


@pytest.mark.small
def test_profile_worked_by_hand() -> None:
    # The GEMM of test_timing: 25, 36, 42, 47, 55, 62, 67, 72 are its boundaries. Output tiles are
    # 6, 2, 3 and 1 bytes; partial sums 4 bytes for each result of the current output tile.
    profile = build_profile(TOY, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    assert profile.total_cycles() == 72
    expected = {
        0: (0, 0, 0),
        1: (25, 24, 5),  # in the lead, then in the first tile
        15: (25, 24, 5),
        25: (25, 24, 5),
        26: (36, 6, 6),
        36: (36, 6, 6),
        37: (42, 6 + 8, 3),
        47: (47, 8, 8),
        55: (55, 8 + 12, 4),
        62: (62, 11, 4),
        67: (67, 11 + 4, 2),
        68: (72, 0, 0),
        72: (72, 0, 0),
    }
    for progress, point in expected.items():
        assert profile.preemption_point(progress) == point, progress


@pytest.mark.small
def test_ubuf_caps_the_outputs_but_not_the_partial_sums() -> None:
    config = replace(TOY, ubuf_bytes=12, accumulator_rows=1)
    profile = build_profile(config, one_layer(Gemm("gemm", 20, 3, 2)), batch=1)
    last_inner = profile.preemption_point(profile.total_cycles() - 7)
    assert last_inner.context_bytes == 12 + 1 * 2 * 4


@pytest.mark.small
def test_equal_neighbours_merge_and_layers_do_not() -> None:
    works = (Gemm("a", 6, 4, 4), Gemm("b", 3, 4, 2, count=5))
    phase = Phase((WorksLayer("one", works), WorksLayer("two", works)))
    segments = build_profile(TOY, network(phase), batch=1).segments
    assert segments[:, GROUPS].tolist() == [2 * 2 + 5] * 2
    assert segments[:, INNER_TILES].tolist() == [1] * 2
    assert (segments[:, LEAD_CYCLES] > 0).all()
    assert segments[:, OUTPUT_BASE_BYTES].tolist() == [0, 0]
    # A millionfold repetition is one segment as well.
    many = one_layer(Gemm("many", 3, 4, 2, count=10**6))
    assert len(build_profile(TOY, many, batch=1).segments) == 1


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
            boundary, _, _, segment = locate(table, 0, 2, progress)
            if boundary < start + cycles(name):
                assert table.segments[segment, LAYER_ESTIMATED_CYCLES] == estimated, progress
        start += cycles(name)
    assert start == profile.total_cycles(2)
    assert locate(table, 0, 2, start)[3] == AT_END
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
    for progress in (-1, 73):
        with pytest.raises(ConfigError, match=r"progress_cycles must be .* from 0 to 72, got"):
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
    with pytest.raises(ConfigError, match="layer output"):
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
