from __future__ import annotations

from dataclasses import replace

import pytest

from prema_gym.hardware import NPUConfig, build_profile, preemption_cost, preemption_table
from prema_gym.hardware.spread import preemption_spread
from prema_gym.networks import Gemm, get
from tests.hardware.brute_force import one_layer
from tests.hardware.test_timing import TOY


@pytest.mark.small
def test_costs_of_one_instant_worked_by_hand() -> None:
    # At progress 15 of the hand-worked GEMM the first tile ends at 20, with 24 bytes of partial
    # sums; the next tile reloads 10 bytes. One cycle a byte to NPU memory, two to the host, and 5
    # cycles of latency for each transfer.
    config = replace(TOY, host_link_bytes_per_s=500)
    cost = preemption_cost(build_profile(config, one_layer(Gemm("gemm", 4, 3, 3)), batch=1), 15)
    assert cost.wait_cycles == cost.kill_latency_cycles == 5
    assert (cost.context_bytes, cost.reload_bytes) == (24, 10)
    assert cost.save_cycles == 5 + 24
    assert cost.restore_cycles == 5 + 34
    assert cost.host_save_cycles == 5 + 48
    assert cost.host_restore_cycles == (5 + 48) + (5 + 10)
    assert cost.checkpoint_latency_cycles == 5 + 29
    assert cost.killed_cycles == 20
    assert cost.drain_cycles == cost.drain_latency_cycles == 59


@pytest.mark.small
def test_the_switch_latency_is_paid_by_who_is_not_done() -> None:
    config = replace(TOY, switch_latency_us=3 * 1e6 / TOY.clock_hz)
    profile = build_profile(config, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    cost = preemption_cost(profile, 15)
    assert (cost.switch_cycles, cost.kill_latency_cycles) == (3, 5 + 3)
    assert cost.checkpoint_latency_cycles == 5 + 3 + 29
    assert preemption_cost(profile, 74).switch_cycles == 0


@pytest.mark.small
def test_an_interrupted_stretch_fills_the_array_again() -> None:
    # Under hidden preload the first tile ends at 5 + 5 + 10 as well; a restore there costs the
    # array's fill of 4 on top. At the task's ends there is nothing to fill.
    config = replace(TOY, weight_preload="hidden", host_link_bytes_per_s=500)
    profile = build_profile(config, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    cost = preemption_cost(profile, 15)
    assert cost.restore_cycles == 5 + 34 + 4
    assert cost.host_restore_cycles == (5 + 48) + (5 + 10) + 4
    assert cost.save_cycles == 5 + 24
    refills = [profile.preemption_point(x).refill_cycles for x in (0, 20, 21, 60)]
    assert refills == [0, 4, 4, 0]


@pytest.mark.small
@pytest.mark.parametrize("progress", [0, 69, 74])
def test_the_ends_of_a_task_cost_nothing(progress: int) -> None:
    profile = build_profile(TOY, one_layer(Gemm("gemm", 4, 3, 3)), batch=1)
    cost = preemption_cost(profile, progress)
    assert cost.context_bytes == cost.save_cycles == cost.restore_cycles == 0
    assert cost.host_save_cycles == cost.host_restore_cycles == cost.killed_cycles == 0
    assert cost.wait_cycles == (5 if progress == 69 else 0)
    assert cost.drain_cycles == 74 - progress


def test_table_has_a_row_per_batch_in_bytes_and_microseconds() -> None:
    config = NPUConfig()
    rows = preemption_table(config, get("rnn-mt2"), batches=(1, 16), input_length=20)
    assert [(row.network, row.batch, row.input_length) for row in rows] == [
        ("rnn-mt2", 1, 20),
        ("rnn-mt2", 16, 20),
    ]
    profile = build_profile(config, get("rnn-mt2"), batch=16, input_length=20)
    found = preemption_spread(profile)
    assert rows[1].context_bytes == found.context_bytes
    assert rows[1].checkpoint_latency_us.p95 == pytest.approx(
        found.checkpoint_latency_cycles.p95 / 700
    )
    assert rows[1].killed_us.mean == pytest.approx(found.killed_cycles.mean / 700)
    for row in rows:
        for spread in (
            row.context_bytes,
            row.checkpoint_latency_us,
            row.restore_us,
            row.kill_latency_us,
            row.killed_us,
            row.drain_latency_us,
        ):
            assert spread.min <= spread.mean <= spread.max
            assert spread.min <= spread.p95 <= spread.max
        assert row.context_bytes.max <= config.context_limit_bytes
