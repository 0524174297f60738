"""Workloads cut from streams: the law of the arrivals is the stream's, from a random point on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym.errors import ConfigError
from prema_gym.workloads import compile_scenario, sample, sample_batch
from prema_gym.workloads.processes import make_process
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.streams import Stream

SMALL: dict[str, Any] = {"networks": ("alexnet",), "batch_sizes": (1,)}


def _counts(until: float, runs: int = 4_000, **fields: Any) -> np.ndarray[Any, Any]:
    """Arrivals up to a time after a random point, in each of many runs."""
    stream = Stream(name="s", share=1.0, **fields)
    found = []
    for seed in range(runs):
        process = make_process(stream, np.random.default_rng(seed), 1.0)
        process.start_anywhere()
        times = process.take(64)
        assert np.all(np.diff(times) >= 0)
        assert times[0] >= 0
        found.append(np.searchsorted(times, until))
    return np.array(found)


@pytest.mark.parametrize(
    "fields",
    [
        {"arrival": "poisson"},
        {"arrival": "uniform"},
        {"arrival": "periodic"},
        {"arrival": "gamma", "cv": 0.5},
        {"arrival": "gamma", "cv": 2.0},
        {"arrival": "weibull", "cv": 2.0},
        {"arrival": "burst", "burst_size": 3},
        {"arrival": "bursty", "burst_ms": 3.0},
        {"arrival": "diurnal", "period_ms": 8.0},
    ],
)
@pytest.mark.parametrize("until", [0.25, 1.5])
def test_from_a_random_point_on_as_many_come_as_the_rate_says(
    fields: dict[str, Any], until: float
) -> None:
    # The expected count of a stationary process is the rate times the time, from the first on.
    # One that begins with an arrival, or a whole gap, is far off within a fraction of a gap.
    counts = _counts(until, **fields)
    error = counts.std() / len(counts) ** 0.5
    assert abs(counts.mean() - until) < 4 * max(error, 1e-3)


def test_a_trace_begins_anywhere_and_goes_round(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("arrival_ms\n0\n10\n11\n40\n")
    stream = Stream(name="s", arrival="trace", trace=str(path), trace_speed=1.0)
    catalog = compile_scenario(Scenario(streams=(stream,), num_tasks=3, **SMALL))
    ms = catalog.hardware.clock_hz / 1e3
    batch = sample_batch(catalog, range(300))
    gaps = np.rint(np.diff(batch.arrival_cycles, axis=1) / ms)
    # A mean gap (40 / 3) lies between the last request and the first of the next round.
    assert {tuple(row) for row in gaps.tolist()} == {(10, 1), (1, 29), (29, 13), (13, 10)}
    first = (gaps[:, 0] == 29).mean()  # it began in the gap before the third: 1 of 53.3 ms
    assert first < 0.06
    assert (gaps[:, 0] == 13).mean() == pytest.approx(29 / 53.3, abs=0.1)


def _two(**fields: Any) -> Scenario:
    streams = (
        Stream(name="a", networks=("alexnet",), batch_sizes=(1,), share=3.0, priorities=(9,)),
        Stream(name="b", networks=("vgg-16",), batch_sizes=(4,), share=1.0, arrival="periodic"),
    )
    return Scenario(streams=streams, load=0.6, **fields)


def test_a_batch_is_its_samples_and_asks_for_the_load() -> None:
    catalog = compile_scenario(_two())
    assert catalog.scenario.num_tasks == 128
    batch = sample_batch(catalog, range(100))
    for row in (0, 57):
        one = sample(catalog, np.random.default_rng(row))
        assert np.array_equal(one.arrival_cycles, batch.arrival_cycles[row])
        assert np.array_equal(one.deadline_cycles, batch.deadline_cycles[row])
    asked = batch.isolated_cycles.sum() / batch.arrival_cycles[:, -1].sum()
    assert asked == pytest.approx(0.6, rel=0.05)
    assert (batch.network == 1).mean() == pytest.approx(0.25, abs=0.02)
    assert len(set(batch.arrival_cycles[:, 0].tolist())) > 90


def test_how_many_is_said_by_num_tasks() -> None:
    assert Scenario().num_tasks == 8
    assert _two(num_tasks=8).num_tasks == 8
    again = Scenario.from_dict(_two(num_tasks=20).to_dict())
    assert sample_batch(compile_scenario(again), [0]).num_tasks.tolist() == [20]


def test_nothing_is_cut_from_a_closed_loop() -> None:
    loop = Stream(name="users", arrival="closed", clients=2, think_ms=5.0)
    catalog = compile_scenario(Scenario(streams=(loop,), **SMALL))
    with pytest.raises(ConfigError, match=r"stream 'users' is a closed loop.*long runs"):
        sample_batch(catalog, [0])
