from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.hardware import NPUConfig, build_profile, preemption_table
from prema_gym.hardware.spread import preemption_spread
from prema_gym.hardware.transfers import dram_cycles, host_cycles, machine_array
from prema_gym.networks import Gemm, Network, get
from tests.hardware.brute_force import all_tiles, boundaries, machines, networks, one_layer
from tests.hardware.test_timing import TOY


@pytest.mark.small
def test_spread_of_a_task_of_two_tiles_worked_by_hand() -> None:
    # Two K tiles of one output tile of 3 × 2 results: latency 5 and load 5, then 10 beside the
    # first tile, and a last store of 6. Tiles of 20 and 13 cycles; contexts 24 bytes (saved in 29
    # cycles) and none.
    profile = build_profile(TOY, one_layer(Gemm("gemm", 3, 3, 2)), batch=1)
    context, latency = preemption_spread(profile)
    assert (context.min, context.max) == (0, 24)
    assert context.mean == pytest.approx(20 * 24 / 33)
    assert context.p95 == 24
    assert (latency.min, latency.max) == (0, 29 + 20)
    assert latency.mean == pytest.approx((20 * (29 + 10) + 13 * 6.5) / 33)
    # The first tile's latencies are uniform on 29 … 49: the upper 5 % of 33 cycles are 1.65.
    assert latency.p95 == pytest.approx(49 - 1.65)


@given(machines(), networks(), st.integers(1, 3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_spread_agrees_with_a_walk_over_every_tile(
    config: NPUConfig, net: Network, output_length: int
) -> None:
    profile = build_profile(config, net, batch=1)
    walked = boundaries(config, all_tiles(config, net, output_length))
    ends = np.array([boundary for boundary, *_ in walked])
    contexts = np.array([context for _, context, *_ in walked[1:]])
    durations = np.diff(ends)
    machine = machine_array(config)
    saves = np.array(
        [
            (dram_cycles if context <= config.dram_bytes else host_cycles)(machine, int(context))
            for context in contexts
        ]
    )
    context, latency = preemption_spread(profile, output_length=output_length)
    assert (context.min, context.max) == (contexts.min(), contexts.max())
    assert context.mean == pytest.approx(durations @ contexts / ends[-1])
    assert durations[contexts <= context.p95].sum() >= 0.95 * ends[-1]
    assert durations[contexts < context.p95].sum() < 0.95 * ends[-1]
    assert (latency.min, latency.max) == (saves.min(), (saves + durations).max())
    assert latency.mean == pytest.approx(durations @ (saves + durations / 2) / ends[-1])
    below = np.clip(latency.p95 - saves, 0, durations).sum()
    assert below == pytest.approx(0.95 * ends[-1])


@pytest.mark.small
def test_contexts_that_never_fit_go_to_the_host() -> None:
    slow_host = replace(TOY, host_link_bytes_per_s=10)
    net = one_layer(Gemm("gemm", 3, 3, 2))
    _, to_memory = preemption_spread(build_profile(slow_host, net, batch=1))
    no_memory = replace(slow_host, dram_bytes=23)
    _, to_host = preemption_spread(build_profile(no_memory, net, batch=1))
    assert to_memory.max == 20 + 5 + 24
    assert to_host.max == 20 + 5 + 2400


@pytest.mark.small
def test_a_sliver_of_an_array_is_tabled_by_count_not_tile_by_tile() -> None:
    sliver = NPUConfig(array_rows=2**20, array_cols=1)
    (row,) = preemption_table(sliver, get("alexnet"), batches=(16,))
    assert 0 < row.latency_us.mean < row.latency_us.max
