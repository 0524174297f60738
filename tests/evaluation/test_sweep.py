"""Where a promise breaks, on machines whose answer is known: no run is played here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from prema_gym import baselines
from prema_gym.errors import ConfigError
from prema_gym.evaluation import sweep as module
from prema_gym.evaluation.stream_results import StreamResult, StreamRow
from prema_gym.evaluation.streams import StreamSettings, settings_for
from prema_gym.evaluation.sweep import TOLERANCE, Slo, SweepPoint, sweep
from prema_gym.metrics.dependent import Estimate
from prema_gym.metrics.groups import STREAM_COLUMNS
from prema_gym.workloads import Scenario
from prema_gym.workloads.streams import Stream

# The load at which each policy's promise breaks; the interval of what is taken is ± 10 %.
BREAKS = {"np-fcfs": 0.337, "static-edf": 0.731, "static-srpt": 2.0}


def row(miss: float, p99_ms: float = 10.0) -> StreamRow:
    values = dict.fromkeys((column.name for column in STREAM_COLUMNS), Estimate(1.0))
    values["deadline_miss"] = Estimate(miss, 0.9 * miss, 1.1 * miss)
    values["p99_latency_ms"] = Estimate(p99_ms, p99_ms, math.nan)
    return values


def result(load: float, miss: float, *, keeps_up: bool = True, **groups: Any) -> StreamResult:
    return StreamResult(
        everything=row(miss),
        groups=groups or {"stream": {"all": row(miss)}, "network": {"vgg-16": row(miss)}},
        load=load,
        rate_per_s=40.0 * load,
        utilisation=load,
        overhead=0.0,
        left=0.0,
        oldest_ms=0.0,
        in_system=1.0,
        arrival_latency=1.0,
        keeps_up=keeps_up,
        could_per_s=math.inf,
        decisions=1.0,
        loops={},
    )


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """Every point that is asked for; the promise of 1 % is taken as the load is of its limit."""
    asked: list[tuple[str, float]] = []

    def play(
        points: Sequence[tuple[str, Scenario]],
        policies: Mapping[str, object],
        settings: StreamSettings,
        *,
        found: Callable[[int, StreamResult], None],
        **_: object,
    ) -> list[StreamResult]:
        results = []
        for index, (name, scenario) in enumerate(points):
            assert scenario.load is not None
            asked.append((name, scenario.load))
            miss = 0.01 * scenario.load / BREAKS[name]
            results.append(result(scenario.load, miss))
            found(index, results[-1])
        return results

    defaults: dict[str, Any] = module.sweep.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "player", play)
    return asked


def swept(names: Sequence[str], loads: Sequence[float], **more: Any) -> module.Sweep:
    policies = {name: baselines.make(name) for name in names}
    return sweep(Scenario(requests=100), policies, loads, slo=Slo(), **more)


def test_the_breaking_load_is_found_by_halving(played: list[tuple[str, float]]) -> None:
    found = swept(list(BREAKS), [0.2, 0.4, 0.6, 0.8, 1.0])
    for breaking in found.breaking:
        truth = BREAKS[breaking.policy]
        if truth > 1:
            assert breaking.beyond
            assert breaking.load == 1.0
            assert math.isnan(breaking.high)
            continue
        assert truth - TOLERANCE <= breaking.load <= truth
        assert not breaking.beyond
        assert breaking.low <= truth / 1.1 + 1e-9
        assert breaking.high >= truth / 0.9 - 1e-9
        assert breaking.rate_per_s == pytest.approx(40.0 * breaking.load)
    # Five points each, and as many halvings of 0.2 as reach the tolerance.
    halvings = math.ceil(math.log2(0.2 / TOLERANCE))
    assert len(played) == 3 * 5 + 2 * halvings
    assert len(set(played)) == len(played), "no point is played twice"


def test_a_promise_that_always_breaks_breaks_below_the_first_load(
    played: list[tuple[str, float]],
) -> None:
    (breaking,) = swept(["np-fcfs"], [0.5, 1.0]).breaking
    assert BREAKS["np-fcfs"] - TOLERANCE <= breaking.load <= BREAKS["np-fcfs"]


def test_known_points_are_not_played_again(played: list[tuple[str, float]]) -> None:
    kept: list[SweepPoint] = []
    whole = swept(["static-edf"], [0.5, 1.0], keep=kept.append)
    first = list(played)
    played.clear()
    again = swept(["static-edf"], [0.5, 1.0], known=kept[:3])
    assert played == first[3:]
    assert repr(again.to_dict()) == repr(whole.to_dict())


def test_every_combination_of_other_keys_has_its_own_breaking_load(
    played: list[tuple[str, float]],
) -> None:
    over = [{"drop": "late"}, {"drop": "never"}]
    found = swept(["np-fcfs"], [0.5], over=over)
    assert [one.over for one in found.breaking] == over
    assert {point.over["drop"] for point in found.points} == {"late", "never"}


def test_a_promise_is_that_of_the_group_that_takes_most() -> None:
    streams = {"camera": row(0.001), "log": row(0.02)}
    of = result(0.5, 0.01, stream=streams, network={"vgg-16": row(0.5)})
    name, taken = Slo(percent=99.0).worst(of)
    assert name == "log"
    assert taken.value == pytest.approx(2.0)
    one = result(0.5, 0.01, stream={"all": row(0.01)}, network={"a": row(0.01), "b": row(0.03)})
    assert Slo(percent=99.0).worst(one)[0] == "b", "with one stream, of every network"


def test_a_promise_in_milliseconds_is_read_from_its_percentile() -> None:
    taken = Slo(percent=99.0, limit_ms=20.0).measure(row(0.5, p99_ms=10.0))
    assert (taken.value, taken.low) == (0.5, 0.5)
    assert math.isnan(taken.high)
    assert str(Slo(percent=99.9, limit_ms=20.0)) == "p99.9 within 20 ms"


def test_who_does_not_keep_up_keeps_no_promise() -> None:
    point = module._point("np-fcfs", 0.9, {}, Slo(), result(0.9, 0.0, keeps_up=False))
    assert not point.keeps
    assert module._point("np-fcfs", 0.9, {}, Slo(), result(0.9, 0.0)).keeps


def test_a_log_alone_is_played_once() -> None:
    many = StreamSettings(runs=5)
    assert settings_for(Scenario(requests=9), many).runs == 5
    assert settings_for(Scenario(arrival="trace", trace="a.csv", requests=9), many).runs == 1
    traced = Stream(name="a", arrival="trace", trace="a.csv", share=1.0)
    drawn = Stream(name="b", share=1.0)
    assert settings_for(Scenario(streams=(traced,), load=0.5), many).runs == 1
    assert settings_for(Scenario(streams=(traced, drawn), load=0.5), many).runs == 5


def test_a_scenario_without_a_load_is_told_so() -> None:
    people = Stream(name="people", arrival="closed", clients=2, think_ms=5.0)
    closed = Scenario(name="office", streams=(people,))
    message = "scenario 'office' has closed loops only, so no load to sweep.*streams.people.clients"
    with pytest.raises(ConfigError, match=message):
        sweep(closed, {"np-fcfs": baselines.make("np-fcfs")}, [0.5], slo=Slo())
