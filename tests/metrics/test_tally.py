"""Tallies against lists, and intervals against what they promise for dependent data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.metrics import tally as t
from prema_gym.metrics.dependent import percentile_of, ratio, share_of
from prema_gym.simulator.state import DROPPED, NONE, REJECTED
from tests.metrics.folding import Request, folded


@pytest.mark.parametrize("cycles", [0, 1, 127, 128, 129, 255, 256, 257, 10**6, 2**40 + 1, 2**51])
def test_a_bin_holds_its_times_and_is_narrow(cycles: int) -> None:
    low, width = t.bin_edges()
    place = t.bin_of(cycles)
    assert low[place] <= cycles < low[place] + width[place]
    assert width[place] <= max(1, cycles / 128)


@settings(deadline=None)
@given(st.integers(0, 2**51))
def test_bins_tile_the_axis(cycles: int) -> None:
    low, width = t.bin_edges()
    assert (low[1:] == low[:-1] + width[:-1]).all()
    place = t.bin_of(cycles)
    assert low[place] <= cycles < low[place] + width[place]


def _requests(seed: int, count: int = 400) -> list[Request]:
    rng = np.random.default_rng(seed)
    found, now = [], 0
    for number in range(count):
        now += int(rng.exponential(50))
        latency = int(rng.exponential(300)) + 10
        fate = rng.choice(["done", "dropped", "rejected"], p=[0.8, 0.1, 0.1])
        completion = {"done": now + latency, "dropped": DROPPED, "rejected": REJECTED}[fate]
        found.append(
            Request(
                number=number,
                arrival=now,
                completion=completion,
                deadline=now + 400,
                isolated=int(rng.integers(5, latency + 1)),
                network=int(rng.integers(2)),
                priority=int(rng.choice([1, 3])),
                stream=int(rng.integers(3)),
            )
        )
    return found


def test_counts_and_sums_are_those_of_a_list() -> None:
    requests, warmup, counted = _requests(0), 40, 300
    tally = folded(requests, warmup=warmup, requests=counted)
    mine = [one for one in requests if warmup <= one.number < warmup + counted]
    groups = {
        t.ALL: mine,
        1 + 1: [one for one in mine if one.network == 1],
        3 + 0: [one for one in mine if one.priority == 1],
        3 + 1: [one for one in mine if one.priority == 3],
        5 + 2: [one for one in mine if one.stream == 2],
    }
    for group, members in groups.items():
        done = [one for one in members if one.completion >= 0]
        counts = tally.counts[:, group].sum(axis=0)
        in_time = sum(one.completion <= one.deadline for one in done)
        assert counts[t.ARRIVED] == len(members)
        assert counts[t.FINISHED] == len(done)
        assert counts[t.GOOD] == in_time
        assert counts[t.MISSED] == len(members) - in_time
        assert counts[t.DROPPED_COUNT] == sum(one.completion == DROPPED for one in members)
        assert counts[t.REJECTED_COUNT] == sum(one.completion == REJECTED for one in members)
        sums = tally.sums[:, group].sum(axis=0)
        latency = np.array([one.completion - one.arrival for one in done], dtype=float)
        assert sums[t.LATENCY] == pytest.approx(latency.sum())
        assert sums[t.LATENCY_SQUARED] == pytest.approx((latency**2).sum())
        assert sums[t.NTT] == pytest.approx(
            sum((one.completion - one.arrival) / one.isolated for one in done)
        )
        assert tally.histogram[:, group].sum() == len(done)
        for percent in (50.0, 95.0):
            found = percentile_of(tally.histogram[:, group].astype(np.int64), percent).value
            ranks = np.sort(latency)
            near = np.interp(percent / 100 * (len(ranks) - 1), np.arange(len(ranks)), ranks)
            assert found == pytest.approx(near, rel=0.03)


def test_batches_are_equal_stretches_of_the_requests_that_count() -> None:
    requests = _requests(1)
    tally = folded(requests, warmup=40, requests=300)
    assert tally.counts[:, t.ALL, t.ARRIVED].tolist() == [15] * t.NUM_BATCHES
    firsts = [requests[40 + 15 * batch].arrival for batch in range(t.NUM_BATCHES)]
    assert tally.first_arrival.tolist() == firsts


def test_time_in_the_system_is_counted_within_the_window_only() -> None:
    two = [
        Request(number=0, arrival=0, completion=150, deadline=999, isolated=10),
        Request(number=1, arrival=100, completion=170, deadline=999, isolated=10),
    ]
    tally = folded(two, warmup=1, requests=1)
    # The window opens with request 1, at 100: 50 of the first one's time, 70 of the second's.
    assert tally.in_system[0] == 120
    assert tally.counts[:, t.ALL, t.ARRIVED].sum() == 1


def test_requests_that_are_left_have_missed_or_are_undecided() -> None:
    left = [
        Request(number=0, arrival=5, completion=NONE, deadline=50, isolated=10),
        Request(number=1, arrival=20, completion=NONE, deadline=200, isolated=10),
    ]
    tally = folded(left, warmup=0, requests=2, left_at=100)
    counts = tally.counts[:, t.ALL].sum(axis=0)
    assert (counts[t.LEFT], counts[t.MISSED], counts[t.UNDECIDED]) == (2, 1, 1)
    assert counts[t.FINISHED] == 0
    assert tally.oldest[0] == 95
    assert tally.in_system[0] == 95 + 80


def test_the_tally_knows_the_engines_marks() -> None:
    assert len({NONE, DROPPED, REJECTED}) == 3
    assert max(NONE, DROPPED, REJECTED) < 0


# --- intervals ---------------------------------------------------------------------------------


def _autoregressive(rng: np.random.Generator, count: int, memory: float) -> np.ndarray:
    """Neighbours alike: each value is ``memory`` of the one before; mean 0, variance 1."""
    noise = rng.standard_normal(count) * math.sqrt(1 - memory**2)
    values = np.empty(count)
    now = rng.standard_normal()
    for i in range(count):
        now = memory * now + noise[i]
        values[i] = now
    return values


def test_batch_means_cover_where_neighbours_are_alike() -> None:
    rng = np.random.default_rng(3)
    held = naive = 0
    for _ in range(200):
        values = 5 + _autoregressive(rng, 4000, 0.95)
        batches = values.reshape(t.NUM_BATCHES, -1)
        found = ratio(batches.sum(axis=1), np.full(t.NUM_BATCHES, batches.shape[1], float))
        held += found.low <= 5 <= found.high
        half = 1.96 * values.std() / math.sqrt(len(values))
        naive += abs(values.mean() - 5) <= half
    # 95 % of 200 are 190 ± 3; batches of 200 with a memory of 20 leave a little to be missed.
    assert held >= 178
    assert naive < 80, "which is why intervals are not those of independent requests"


def test_percentiles_cover_where_neighbours_are_alike() -> None:
    rng = np.random.default_rng(4)
    held = 0
    truth = 1000 * math.exp(0.5 * 1.2815515655446004)  # the p90 of a log-normal
    for _ in range(100):
        values = 1000 * np.exp(0.5 * _autoregressive(rng, 4000, 0.9))
        histogram = np.zeros((t.NUM_BATCHES, t.NUM_BINS), np.int64)
        for batch, row in enumerate(values.reshape(t.NUM_BATCHES, -1)):
            for cycles in row:
                histogram[batch, t.bin_of(int(cycles))] += 1
        found = percentile_of(histogram, 90.0)
        held += found.low <= truth <= found.high
    assert held >= 88


def test_a_ratio_by_hand() -> None:
    found = ratio(np.array([1.0, 3.0]), np.array([10.0, 10.0]))
    assert found.value == 0.2
    # Residuals −1 and 1: √(2 · 2/1) = 2, t(1) = 12.706, over 20.
    assert found.high - found.value == pytest.approx(12.7062 * 2 / 20, rel=1e-4)
    assert math.isnan(ratio(np.array([1.0]), np.array([4.0])).low)
    assert math.isnan(ratio(np.zeros(3), np.zeros(3)).value)


def test_an_end_that_too_few_requests_tell_is_absent() -> None:
    histogram = np.zeros((t.NUM_BATCHES, t.NUM_BINS), np.int64)
    histogram[:, 100] = 2  # forty requests
    found = percentile_of(histogram, 99.0)
    assert found.value == 100.0
    assert math.isnan(found.high)
    empty = percentile_of(np.zeros((t.NUM_BATCHES, t.NUM_BINS), np.int64), 99.0)
    assert math.isnan(empty.value)


def test_no_interval_reaches_where_nothing_can_lie() -> None:
    few = share_of(np.array([0.0, 1.0, 0.0]), np.full(3, 10.0))  # 1/30 ± 0.14
    assert few[1:] == pytest.approx((0.0, 0.1768), abs=1e-3)
    assert few.low == 0.0
    many = share_of(np.array([10.0, 9.0, 10.0]), np.full(3, 10.0))
    assert many[1:] == pytest.approx((1 - few.high, 1.0))
    assert many.high == 1.0
    assert ratio(np.array([10.0, 9.0, 10.0]), np.full(3, 10.0)).high > 1.0
    assert math.isnan(share_of(np.array([1.0]), np.array([4.0])).high)
