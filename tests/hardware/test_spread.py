from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.hardware import NPUConfig, build_profile, preemption_cost, preemption_table
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
    found = preemption_spread(profile)
    context, latency = found.context_bytes, found.checkpoint_latency_cycles
    assert (context.min, context.max) == (0, 24)
    assert context.mean == pytest.approx(20 * 24 / 33)
    assert context.p95 == 24
    assert (latency.min, latency.max) == (0, 29 + 20)
    assert latency.mean == pytest.approx((20 * (29 + 10) + 13 * 6.5) / 33)
    # The first tile's latencies are uniform on 29 … 49: the upper 5 % of 33 cycles are 1.65.
    assert latency.p95 == pytest.approx(49 - 1.65)
    # Restored behind the first tile: the partial sums and the second one's load of 10 bytes.
    restore = found.restore_cycles
    assert (restore.min, restore.p95, restore.max) == (0, 5 + 24 + 10, 5 + 24 + 10)
    assert restore.mean == pytest.approx(20 * 39 / 33)
    # A kill waits for the tile in flight: 20 or 13 cycles. The first tile is lost, the last never.
    kill, killed = found.kill_latency_cycles, found.killed_cycles
    assert (kill.min, kill.max) == (0, 20)
    assert kill.mean == pytest.approx((20 * 10 + 13 * 6.5) / 33)
    assert astuple(killed) == pytest.approx((0, 20 * 20 / 33, 20, 20))
    assert astuple(found.drain_latency_cycles) == pytest.approx((0, 33 / 2, 0.95 * 33, 33))


@pytest.mark.small
def test_the_switch_latency_is_paid_by_who_is_not_done() -> None:
    # As above, with 3 cycles to let go of the machine: in the first tile only.
    slow = replace(TOY, switch_latency_us=3 * 1e6 / TOY.clock_hz)
    found = preemption_spread(build_profile(slow, one_layer(Gemm("gemm", 3, 3, 2)), batch=1))
    latency, kill = found.checkpoint_latency_cycles, found.kill_latency_cycles
    assert latency.mean == pytest.approx((20 * (3 + 29 + 10) + 13 * 6.5) / 33)
    assert kill.mean == pytest.approx((20 * (3 + 10) + 13 * 6.5) / 33)
    assert (latency.min, latency.max) == (0, 3 + 29 + 20)


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
    found = preemption_spread(profile, output_length=output_length)
    context, latency = found.context_bytes, found.checkpoint_latency_cycles
    assert (context.min, context.max) == (contexts.min(), contexts.max())
    assert context.mean == pytest.approx(durations @ contexts / ends[-1])
    assert durations[contexts <= context.p95].sum() >= 0.95 * ends[-1]
    assert durations[contexts < context.p95].sum() < 0.95 * ends[-1]
    assert (latency.min, latency.max) == (saves.min(), (saves + durations).max())
    assert latency.mean == pytest.approx(durations @ (saves + durations / 2) / ends[-1])
    below = np.clip(latency.p95 - saves, 0, durations).sum()
    assert below == pytest.approx(0.95 * ends[-1])


@given(machines(), networks(), st.integers(1, 3), st.integers(0, 3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_instant_priced_alone_gives_the_same(
    config: NPUConfig, net: Network, output_length: int, switch: int
) -> None:
    """Restores, kills and drains against `preemption_cost` tile by tile, found another way."""
    config = replace(config, switch_latency_us=switch * 1e6 / config.clock_hz)
    profile = build_profile(config, net, batch=1)
    found = preemption_spread(profile, output_length=output_length)
    ends = [now for now, *_ in boundaries(config, all_tiles(config, net, output_length))]
    total = ends[-1]
    durations = np.diff(ends)
    # What is met at any instant of a tile but for the wait is what is met at its end.
    costs = [preemption_cost(profile, end, output_length=output_length) for end in ends[1:]]
    restores = np.array(
        [
            c.restore_cycles if c.context_bytes <= config.dram_bytes else c.host_restore_cycles
            for c in costs
        ]
    )
    killed = np.array([c.killed_cycles for c in costs])
    for spread, values in ((found.restore_cycles, restores), (found.killed_cycles, killed)):
        assert spread.mean == pytest.approx(durations @ values / total)
        assert spread.max == values.max()
        assert durations[values <= spread.p95].sum() >= 0.95 * total
        assert durations[values < spread.p95].sum() < 0.95 * total
    assert (found.restore_cycles.min, found.killed_cycles.min) == (restores.min(), killed.min())
    kill = found.kill_latency_cycles
    switches = np.array([c.switch_cycles for c in costs])
    assert kill.mean == pytest.approx(durations @ (switches + durations / 2) / total)
    assert np.clip(kill.p95 - switches, 0, durations).sum() == pytest.approx(0.95 * total)
    assert found.drain_latency_cycles.mean == pytest.approx(total / 2)
    assert found.drain_latency_cycles.max == total


@pytest.mark.small
def test_contexts_that_never_fit_go_to_the_host() -> None:
    slow_host = replace(TOY, host_link_bytes_per_s=10)
    net = one_layer(Gemm("gemm", 3, 3, 2))
    to_memory = preemption_spread(build_profile(slow_host, net, batch=1))
    no_memory = replace(slow_host, dram_bytes=23)
    to_host = preemption_spread(build_profile(no_memory, net, batch=1))
    assert to_memory.checkpoint_latency_cycles.max == 20 + 5 + 24
    assert to_host.checkpoint_latency_cycles.max == 20 + 5 + 2400
    assert to_host.restore_cycles.max == (5 + 2400) + (5 + 10)


@pytest.mark.small
def test_a_sliver_of_an_array_is_tabled_by_count_not_tile_by_tile() -> None:
    sliver = NPUConfig(array_rows=2**20, array_cols=1)
    (row,) = preemption_table(sliver, get("alexnet"), batches=(16,))
    assert 0 < row.checkpoint_latency_us.mean < row.checkpoint_latency_us.max
