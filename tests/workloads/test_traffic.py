"""Streams: processes have the mean and spread they are named for, sources draw what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.workloads import compile_scenario
from prema_gym.workloads.changes import changed
from prema_gym.workloads.processes import make_process, weibull_shape
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.source import Source, traffic_of
from prema_gym.workloads.streams import Stream

SMALL = {"networks": ("alexnet",), "batch_sizes": (1,)}


def _gaps(count: int = 40_000, per_ms: float = 1.0, **fields: Any) -> np.ndarray[Any, Any]:
    stream = Stream(name="s", share=1.0, **fields)
    process = make_process(stream, np.random.default_rng(5), per_ms)
    return np.diff(process.take(count))


@pytest.mark.parametrize(
    ("fields", "cv"),
    [
        ({"arrival": "poisson"}, 1.0),
        ({"arrival": "uniform"}, 3**-0.5),
        ({"arrival": "periodic"}, 0.0),
        ({"arrival": "gamma", "cv": 0.5}, 0.5),
        ({"arrival": "gamma", "cv": 3.0}, 3.0),
        ({"arrival": "weibull", "cv": 0.5}, 0.5),
        ({"arrival": "weibull", "cv": 2.0}, 2.0),
    ],
)
def test_gaps_have_mean_1_and_the_named_spread(fields: dict[str, Any], cv: float) -> None:
    gaps = _gaps(**fields)
    assert gaps.mean() == pytest.approx(1.0, abs=6 * max(cv, 1e-9) / len(gaps) ** 0.5)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.1, abs=1e-9)


def test_the_weibull_of_cv_1_is_exponential() -> None:
    assert weibull_shape(1.0) == pytest.approx(1.0)


def test_groups_arrive_together() -> None:
    times = np.cumsum(np.concatenate([[0.0], _gaps(arrival="burst", burst_size=5)]))
    groups = np.unique(times[: len(times) // 5 * 5].round(9), return_counts=True)[1]
    assert set(groups[:-1].tolist()) == {5}


def test_bursts_are_as_dense_and_as_long_as_they_say() -> None:
    process = make_process(
        Stream(
            name="s",
            share=1.0,
            arrival="bursty",
            burst_factor=4.0,
            burst_share=0.2,
            burst_ms=500.0,
        ),
        np.random.default_rng(1),
        1.0,
    )
    times = process.take(400_000)
    assert len(times) / times[-1] == pytest.approx(1.0, rel=0.1)
    counts = np.histogram(times, np.arange(0, times[-1], 50.0))[0]
    # A window wholly in a burst holds 200, one between bursts 12.5: the middle parts them.
    assert (counts > 100).mean() == pytest.approx(0.2, abs=0.04)
    assert counts[counts > 150].mean() == pytest.approx(200, rel=0.05)


def test_a_day_follows_its_profile() -> None:
    stream = Stream(name="s", share=1.0, arrival="diurnal", profile=(1.0, 3.0), period_ms=100.0)
    times = make_process(stream, np.random.default_rng(5), 1.0).take(40_000)
    late = (times % 100.0) >= 50.0
    assert late.mean() == pytest.approx(0.75, abs=0.02)
    assert len(times) / times[-1] == pytest.approx(1.0, rel=0.02)


def _two(**fields: Any) -> Scenario:
    streams = (
        Stream(name="a", networks=("alexnet",), batch_sizes=(1,), share=3.0, priorities=(9,)),
        Stream(name="b", networks=("vgg-16",), batch_sizes=(4,), share=1.0, priorities=(1,)),
    )
    return Scenario(streams=streams, **fields)


def test_load_is_the_share_of_the_machine_that_is_asked_for() -> None:
    traffic = traffic_of(compile_scenario(_two(load=0.6)))
    assert traffic.load == pytest.approx(0.6)
    assert traffic.rates[0] == pytest.approx(3 * traffic.rates[1])
    arrays, _ = Source(traffic, 1).next(20_000)
    asked = arrays.isolated_cycles.sum() / arrays.arrival_cycles[0, -1]
    assert asked == pytest.approx(0.6, rel=0.05)


def test_rate_is_what_comes_a_second() -> None:
    assert traffic_of(compile_scenario(_two(rate_per_s=40.0))).rate_per_s == pytest.approx(40.0)


def test_streams_draw_their_own_networks_and_priorities() -> None:
    scenario = _two(load=0.5)
    assert scenario.networks == ("alexnet", "vgg-16")
    assert scenario.batch_sizes == (1, 4)
    arrays, streams = Source(traffic_of(compile_scenario(scenario)), 2).next(400)
    for stream, network, batch, priority in ((0, 0, 1, 9), (1, 1, 4, 1)):
        mine = streams == stream
        assert 50 < mine.sum() < 350
        assert set(arrays.network[0, mine]) == {network}
        assert set(arrays.batch_size[0, mine]) == {batch}
        assert set(arrays.priority[0, mine]) == {priority}
    assert np.all(np.diff(arrays.arrival_cycles[0]) >= 0)


def test_requests_do_not_depend_on_how_many_are_asked_for_at_once() -> None:
    traffic = traffic_of(compile_scenario(_two(load=0.5)))
    whole, _ = Source(traffic, 3).next(500)
    source = Source(traffic, 3)
    parts = [source.next(count)[0] for count in (1, 99, 400)]
    for name in ("arrival_cycles", "isolated_cycles", "deadline_cycles"):
        joined = np.concatenate([getattr(part, name)[0] for part in parts])
        assert np.array_equal(joined, getattr(whole, name)[0])


def test_another_load_brings_the_same_requests_closer_together() -> None:
    one, two = (
        Source(traffic_of(compile_scenario(_two(load=load))), 4).next(300)[0] for load in (0.4, 0.8)
    )
    assert np.array_equal(one.isolated_cycles, two.isolated_cycles)
    assert np.abs(one.arrival_cycles - 2 * two.arrival_cycles).max() <= 2


def test_a_trace_is_replayed_in_real_time_exactly_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("arrival_ms\n5\n7\n7.5\n20\n")
    scenario = Scenario(arrival="trace", trace=str(path), trace_speed=2.0, num_tasks=4, **SMALL)  # type: ignore[arg-type]
    source = Source(traffic_of(compile_scenario(scenario)), 0)
    arrays, _ = source.next(4)
    ms = arrays.arrival_cycles[0] * 1e3 / scenario.hardware.clock_hz
    assert ms == pytest.approx([0, 1.0, 1.25, 7.5], abs=1e-5)
    with pytest.raises(ConfigError, match="never arrives: its trace is shorter"):
        source.next(1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"share": 1.0, "load": 0.5}, "exactly one of rate_per_s, load, share, trace_speed"),
        ({}, "exactly one of"),
        ({"share": 1.0, "arrival": "gama"}, "unknown arrival process 'gama'"),
        ({"share": 1.0, "slo_ms": 1.0, "sla_factor": 2.0}, "give only one"),
        (
            {"share": 1.0, "arrival": "bursty", "burst_factor": 10.0, "burst_share": 0.5},
            "must be below 1",
        ),
        ({"share": 1.0, "arrival": "trace"}, "need each other"),
    ],
)
def test_a_wrong_stream_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Stream(name="s", **fields)


def test_shares_of_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="give load or rate_per_s"):
        traffic_of(compile_scenario(_two()))


def test_one_way_to_say_how_often_tasks_arrive() -> None:
    with pytest.raises(ConfigError, match="load and rate_per_s say the same thing"):
        Scenario(load=0.5, rate_per_s=3.0)
    with pytest.raises(ConfigError, match="sla_factor and slo_ms say the same thing"):
        Scenario(sla_factor=3.0, slo_ms=3.0)


def test_a_key_is_changed_anywhere() -> None:
    scenario = changed(_two(load=0.5), {"rate_per_s": 9, "streams.b.slo_ms": 20})
    assert (scenario.load, scenario.rate_per_s) == (None, 9.0)
    assert scenario.streams[1].slo_ms == 20.0
    assert changed(scenario, {"hardware.clock_hz": 10**9}).hardware.clock_hz == 10**9
    with pytest.raises(UnknownNameError, match="unknown stream 'c'"):
        changed(scenario, {"streams.c.slo_ms": 20})
    with pytest.raises(ConfigError, match=r"did you mean|unknown"):
        changed(scenario, {"lod": 20})


def test_slo_ms_is_the_deadline_of_every_task() -> None:
    catalog = compile_scenario(Scenario(slo_ms=12.5))
    assert set(catalog.arrays.allowance_cycles) == {catalog.hardware.cycles(12.5)}


def test_a_scenario_with_streams_survives_a_file(tmp_path: Path) -> None:
    scenario = _two(load=0.5, requests=100)
    scenario.to_toml(tmp_path / "s.toml")
    assert Scenario.from_toml(tmp_path / "s.toml") == scenario


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clients": 3}, "takes clients and think_ms, and no rate: .* got clients$"),
        ({"clients": 3, "think_ms": 5.0, "load": 0.5}, "got load, clients, think_ms$"),
        ({}, "got none of them$"),
        ({"clients": 0, "think_ms": 5.0}, "clients must be"),
        ({"clients": 3, "think_ms": 0.0}, "think_ms must be"),
        ({"clients": 3, "think_ms": 5.0, "think": "normal"}, "normal"),
    ],
)
def test_a_closed_loop_needs_clients_and_a_think_time(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Stream(name="s", arrival="closed", **fields)


def test_only_a_closed_loop_has_clients() -> None:
    with pytest.raises(ConfigError, match="clients need arrival = \"closed\", got 'poisson'"):
        Stream(name="s", share=1.0, clients=3)


def test_closed_loops_have_no_load_and_no_arrivals_of_their_own() -> None:
    stream = Stream(name="users", arrival="closed", clients=3, think_ms=5.0)
    scenario = Scenario(streams=(stream,), **SMALL)  # type: ignore[arg-type]
    for key in ("load", "rate_per_s"):
        with pytest.raises(
            ConfigError, match=rf"{key} says how often .* \(streams\.users\.clients\)"
        ):
            changed(scenario, {key: 0.5})
    with pytest.raises(ConfigError, match="when its requests arrive depends on the policy"):
        Source(traffic_of(compile_scenario(scenario)), 0).next(1)
    more = changed(scenario, {"streams.users.clients": 7})
    assert traffic_of(compile_scenario(more)).clients == 7


def test_where_a_mistake_is_is_said_once() -> None:
    table = {"name": "camera", "share": 1.0, "slo_ms": -1.0}
    with pytest.raises(ConfigError, match=r"^scenario 'x': stream 'camera': slo_ms must be"):
        Scenario.from_dict({"name": "x", "streams": [table]})
    scenario = Scenario(name="x", streams=(Stream(name="camera", share=1.0),), load=0.5)
    with pytest.raises(ConfigError, match=r"^scenario 'x': load must be"):
        changed(scenario, {"load": -1})
