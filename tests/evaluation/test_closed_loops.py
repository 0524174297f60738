"""Closed loops against what queueing theory knows, and an event list written down in Python.

Who arrives depends on who was served: first come first served is Takács's machine interference with
any service times, round robin with a small quantum is a product-form network (mean-value analysis),
and clients / rate - think time is the response time whatever the policy.
"""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.stream_results import StreamResult
from prema_gym.evaluation.streaming import play_runs
from prema_gym.evaluation.streams import StreamSettings, evaluate_streams
from prema_gym.hardware.config import NPUConfig
from prema_gym.metrics.formulas import FloatArray
from prema_gym.workloads import compile_scenario
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.source import Source, traffic_of
from prema_gym.workloads.streams import Stream
from prema_gym.workloads.tables import task_probabilities
from tests.evaluation.helpers import Asked

REQUESTS = 10_000
# Switching takes no time here: it is in no formula.
FREE = NPUConfig(dram_bytes_per_s=math.inf, host_link_bytes_per_s=math.inf, dram_latency_cycles=0)


def _loop(clients: int, think_ms: float, **fields: Any) -> Stream:
    return Stream(name="users", arrival="closed", clients=clients, think_ms=think_ms, **fields)


def _scenario(*streams: Stream, **fields: Any) -> Scenario:
    given: dict[str, Any] = {"streams": streams, "requests": REQUESTS, "hardware": FREE}
    return Scenario(**(given | fields))


@lru_cache
def _played(name: str, scenario: Scenario) -> StreamResult:
    settings = StreamSettings(runs=2, seed=11, play=PlaySettings(slots=64))
    return evaluate_streams(scenario, {name: baselines.make(name)}, settings).policies[name]


def _service(catalog: Catalog) -> tuple[FloatArray, FloatArray]:
    """Service times [ms] that can be drawn, and how likely each is."""
    arrays = catalog.arrays
    cycles = arrays.fixed_cycles[:, None] + arrays.step_cycles[:, None] * arrays.output_lengths
    ms = 1e3 / catalog.hardware.clock_hz
    return cycles.ravel() * ms, task_probabilities(arrays).ravel()


@pytest.mark.parametrize(("clients", "think_ms"), [(1, 40.0), (2, 60.0), (6, 120.0), (12, 60.0)])
def test_first_come_first_served_is_takacs_machine_interference(
    clients: int, think_ms: float
) -> None:
    times, shares = _service(compile_scenario(_scenario(_loop(1, 1.0))))
    # Served in a busy period: sum over n of C(N-1, n) prod_{j<=n} (1 / B*(j/Z) - 1).
    transforms = [float(shares @ np.exp(-j * times / think_ms)) for j in range(1, clients)]
    factors = np.cumprod([1.0, *(1 / one - 1 for one in transforms)])
    served = sum(math.comb(clients - 1, n) * factors[n] for n in range(clients))
    rate = served / (served * float(shares @ times) + think_ms / clients)
    result = _played("np-fcfs", _scenario(_loop(clients, think_ms)))
    row = result.everything
    low, high = row["throughput_per_s"].low, row["throughput_per_s"].high
    assert low <= 1e3 * rate <= high
    assert high - low < 0.1 * 1e3 * rate
    latency = row["latency_ms"]
    assert latency.low <= clients / rate - think_ms <= latency.high


@pytest.mark.parametrize("think", ["exponential", "constant", "gamma"])
def test_round_robin_with_a_small_quantum_is_mean_value_analysis(think: str) -> None:
    clients, think_ms = 8, 150.0
    times, shares = _service(compile_scenario(_scenario(_loop(1, 1.0))))
    mean, in_system, response = float(shares @ times), 0.0, 0.0
    for count in range(1, clients + 1):  # processor sharing: only means matter, of both
        response = mean * (1 + in_system)
        in_system = count * response / (response + think_ms)
    result = _played("static-rrb", _scenario(_loop(clients, think_ms, think=think)))
    latency = result.everything["latency_ms"]
    assert latency.low <= response <= latency.high
    assert latency.high - latency.low < 0.15 * response


@pytest.mark.parametrize("name", ["np-fcfs", "dynamic-prema", "static-hpf", "static-rrb"])
@pytest.mark.parametrize("fields", [{}, {"queue_limit": 2}, {"drop": "late", "slo_ms": 80.0}])
def test_the_interactive_response_time_law_holds(name: str, fields: dict[str, Any]) -> None:
    beside = Stream(name="beside", share=1.0)
    scenario = _scenario(_loop(6, 100.0), beside, load=0.3, requests=4_000, **fields)
    result = _played(name, scenario)
    loop, row = result.loops["users"], result.groups["stream"]["users"]
    unserved = row["dropped"].value + row["rejected"].value
    assert (unserved > 0) == bool(fields)
    # Who is refused answers at once, or by its deadline.
    most = 80.0 if "drop" in fields else 0.0
    answered = (1 - unserved) * loop.latency_ms
    tolerance = 0.01 * (loop.response_law_ms + 100.0)
    assert answered - tolerance <= loop.response_law_ms <= answered + unserved * most + tolerance
    assert result.in_system == pytest.approx(result.arrival_latency, rel=0.03) or unserved > 0
    assert loop.think_ms == pytest.approx(100.0, rel=0.05)
    assert result.keeps_up


def test_a_short_window_leans_to_neither_side() -> None:
    """Ten runs of 300 requests: who is there at the end weighs as who was there at the beginning.

    Leaving out the former alone would say 3 % more than the latency; chance alone leaves 0.3 %.
    """
    scenario = _scenario(_loop(8, 20.0), requests=300, networks=("resnet-50", "vgg-16"))
    policies = {"np-fcfs": baselines.make("np-fcfs")}
    played = evaluate_streams(scenario, policies, StreamSettings(runs=10)).policies["np-fcfs"]
    loop = played.loops["users"]
    assert loop.response_law_ms == pytest.approx(loop.latency_ms, rel=0.01)


def _by_an_event_list(scenario: Scenario, seed: int) -> list[tuple[int, int]]:
    """Arrival and completion of the requests served, in order, first come first served."""
    traffic = traffic_of(compile_scenario(scenario))
    source = Source(traffic, seed)
    total = scenario.num_requests + scenario.num_warmup
    coming: list[tuple[int, int, int, int]] = []  # arrival, stream, serial number, service time
    opened, streams = source.next(total)
    for i in range(total):
        service = int(opened.isolated_cycles[0, i])
        coming.append((int(opened.arrival_cycles[0, i]), int(streams[i]), i, service))
    drawn = source.asks(0, 4 * total)
    thinks, services = drawn.arrival_cycles[0].tolist(), drawn.isolated_cycles[0].tolist()
    sent = 0
    for _ in range(traffic.clients):
        coming.append((thinks[sent], 0, sent, services[sent]))
        sent += 1
    heapq.heapify(coming)
    now = 0
    served: list[tuple[int, int]] = []
    while len(served) < total:
        arrival, stream, _, service = heapq.heappop(coming)
        now = max(now, arrival) + service
        served.append((arrival, now))
        if stream == 0:
            heapq.heappush(coming, (now + thinks[sent], 0, sent, services[sent]))
            sent += 1
    return served


@pytest.mark.parametrize("seed", [0, 1])
def test_it_equals_an_event_list_to_the_cycle(seed: int) -> None:
    scenario = _scenario(
        _loop(5, 90.0), Stream(name="b", share=1.0), load=0.4, requests=1_500, warmup=0
    )
    catalog = compile_scenario(scenario)
    (run,) = play_runs(baselines.make("np-fcfs"), catalog, traffic_of(catalog), [seed])
    expected = _by_an_event_list(scenario, seed)
    arrivals = sorted(arrival for arrival, _ in expected)
    end = arrivals[scenario.num_requests - 1]
    assert run.end_cycles == end
    finished = [done - arrival for arrival, done in expected if done <= end]
    assert int(run.tally.counts[:, 0, 1].sum()) == len(finished)
    assert run.tally.sums[:, 0, 0].sum() == sum(finished)
    assert run.left == scenario.num_requests - len(finished)


def test_runs_side_by_side_and_asked_in_python_are_the_same_runs() -> None:
    loops = (_loop(4, 60.0), Stream(name="few", arrival="closed", clients=1, think_ms=5.0))
    scenario = _scenario(*loops, Stream(name="b", load=0.2), requests=80, warmup=9)
    policies: dict[str, Decider] = {"compiled": baselines.make("static-sjf"), "asked": Asked()}
    settings = StreamSettings(runs=3, seed=3)
    found = evaluate_streams(scenario, policies, settings).policies
    assert repr(found["compiled"].to_dict()) == repr(found["asked"].to_dict())
    assert set(found["asked"].loops) == {"users", "few"}


def test_what_is_asked_and_how_long_is_thought_does_not_depend_on_the_policy() -> None:
    traffic = traffic_of(compile_scenario(_scenario(_loop(3, 20.0, think="weibull"))))
    whole = Source(traffic, 3).asks(0, 500)
    source = Source(traffic, 3)
    parts = [source.asks(0, count) for count in (1, 99, 400)]
    for name in ("arrival_cycles", "isolated_cycles", "deadline_cycles"):
        joined = np.concatenate([getattr(part, name)[0] for part in parts])
        assert np.array_equal(joined, getattr(whole, name)[0])
    mean = whole.arrival_cycles.mean() * 1e3 / traffic.clock_hz
    assert mean == pytest.approx(20.0, rel=0.3)  # cv 2 of 500


def test_more_clients_than_slots_wait_in_the_queue() -> None:
    scenario = _scenario(_loop(40, 1.0), requests=3_000)
    settings = StreamSettings(runs=1, seed=0, play=PlaySettings(slots=4))
    policies = {"np-fcfs": baselines.make("np-fcfs")}
    result = evaluate_streams(scenario, policies, settings).policies["np-fcfs"]
    assert result.utilisation == pytest.approx(1.0, abs=1e-3)
    assert 39 < result.in_system <= 40
    assert result.keeps_up  # clients wait; no queue grows


def test_memory_does_not_grow_with_the_requests() -> None:
    found = []
    for requests in (2_000, 20_000):
        catalog = compile_scenario(_scenario(_loop(8, 50.0), requests=requests))
        (run,) = play_runs(baselines.make("np-fcfs"), catalog, traffic_of(catalog), [0])
        found.append(run.most_loaded)
    assert found[1] <= found[0] + 8
