"""Long runs against what queueing theory knows: every law within the simulation's own interval.

The traffic is Poisson, service times are those of real networks (exact moments from the catalog),
switching costs next to nothing beside them. Seeds are fixed, so nothing here is left to chance.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.stream_results import StreamResult
from prema_gym.evaluation.streams import StreamSettings, evaluate_streams
from prema_gym.hardware.config import NPUConfig
from prema_gym.metrics.dependent import Estimate
from prema_gym.metrics.formulas import FloatArray
from prema_gym.workloads import compile_scenario
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.tables import task_probabilities
from tests.evaluation.helpers import Asked

LOAD = 0.7
REQUESTS = 60_000


def _traffic(**changes: object) -> Scenario:
    fields = {"arrival": "poisson", "load": LOAD, "requests": REQUESTS} | changes
    return Scenario(**fields)  # type: ignore[arg-type]


@lru_cache
def _played(name: str, scenario: Scenario, estimate: str = "algorithm1") -> StreamResult:
    settings = StreamSettings(runs=2, seed=11, play=PlaySettings(estimate=estimate, slots=1024))
    return evaluate_streams(scenario, {name: baselines.make(name)}, settings).policies[name]


@lru_cache
def _service(scenario: Scenario) -> tuple[FloatArray, FloatArray]:
    """Service times [ms] that can be drawn, and how likely each is."""
    arrays = compile_scenario(scenario).arrays
    cycles = arrays.fixed_cycles[:, None] + arrays.step_cycles[:, None] * arrays.output_lengths
    ms = 1e3 / scenario.hardware.clock_hz
    return cycles.ravel() * ms, task_probabilities(arrays).ravel()


def _moments(scenario: Scenario) -> tuple[float, float, float]:
    """Mean and mean square of the service time [ms, ms²], and the rate of arrivals [1/ms]."""
    times, shares = _service(scenario)
    mean, square = float(shares @ times), float(shares @ times**2)
    return mean, square, LOAD / mean


def _within(found: Estimate, expected: float) -> None:
    assert found.low <= expected <= found.high, (found, expected)
    assert found.high - found.low < 0.35 * expected  # an interval that says something


def test_first_come_first_served_is_pollaczek_khinchine() -> None:
    mean, square, rate = _moments(_traffic())
    expected = mean + rate * square / 2 / (1 - LOAD)
    _within(_played("np-fcfs", _traffic()).everything["latency_ms"], expected)


def test_one_network_without_a_sequence_is_m_d_1() -> None:
    scenario = _traffic(networks=("resnet-50",), batch_sizes=(1,))
    mean, _, rate = _moments(scenario)
    expected = mean + rate * mean**2 / 2 / (1 - LOAD)
    _within(_played("np-fcfs", scenario).everything["latency_ms"], expected)


@pytest.mark.parametrize("name", ["np-hpf", "static-hpf"])
def test_priorities_are_cobham_with_and_without_preemption(name: str) -> None:
    mean, square, rate = _moments(_traffic())
    rows = _played(name, _traffic()).groups["priority"]
    for level, weight in enumerate(("9", "3", "1")):
        above, through = LOAD * level / 3, LOAD * (level + 1) / 3
        if name == "np-hpf":
            expected = mean + rate * square / 2 / ((1 - above) * (1 - through))
        else:
            residual = rate * (level + 1) / 3 * square / 2
            expected = mean / (1 - above) + residual / ((1 - above) * (1 - through))
        _within(rows[weight]["latency_ms"], expected)


def test_round_robin_with_a_small_quantum_is_processor_sharing() -> None:
    # Switching takes no time: with 0.7 % of it the load would be 0.705.
    free = NPUConfig(
        dram_bytes_per_s=math.inf, host_link_bytes_per_s=math.inf, dram_latency_cycles=0
    )
    scenario = _traffic(hardware=free)
    mean, _, _ = _moments(scenario)
    _within(_played("static-rrb", scenario).everything["latency_ms"], mean / (1 - LOAD))


def test_srpt_is_schrage_and_miller() -> None:
    times, shares = _service(_traffic())
    order = np.argsort(times, kind="stable")
    times, shares = times[order], shares[order]
    _, _, rate = _moments(_traffic())
    # Times are many and distinct: sums up to x count half of those that last exactly x.
    below = np.cumsum(shares) - shares / 2
    load = rate * (np.cumsum(shares * times) - shares * times / 2)
    square = np.cumsum(shares * times**2) - shares * times**2 / 2
    wait = rate * (square + times**2 * (1 - below)) / 2 / (1 - load) ** 2
    grid = np.concatenate([[0.0], times])
    rho = np.concatenate([[0.0], load])
    residence = np.cumsum(np.diff(grid) / (1 - (rho[1:] + rho[:-1]) / 2))
    found = _played("static-srpt", _traffic(), estimate="oracle").everything["latency_ms"]
    _within(found, float(shares @ (wait + residence)))


@pytest.mark.parametrize("name", ["np-fcfs", "static-hpf", "static-rrb", "np-hpf"])
def test_littles_law_holds_on_every_run(name: str) -> None:
    result = _played(name, _traffic())
    # Equal but for requests at the edges of the window: a handful in 120 000.
    assert result.in_system == pytest.approx(result.arrival_latency, rel=2e-3)
    assert result.utilisation == pytest.approx(LOAD, rel=0.02)


def test_a_run_that_cannot_keep_up_says_so_and_what_it_could() -> None:
    scenario = _traffic(load=1.3, requests=4_000)
    result = _played("np-fcfs", scenario)
    mean, _, _ = _moments(scenario)
    assert not result.keeps_up
    assert result.left > 500
    assert result.could_per_s == pytest.approx(1e3 / mean, rel=0.1)
    assert _played("np-fcfs", _traffic(requests=4_000)).keeps_up


def test_a_full_queue_rejects_as_m_d_1_k_does() -> None:
    # Nobody may wait: Erlang's loss formula with one server, whatever the service times.
    result = _played("np-fcfs", _traffic(queue_limit=0, requests=20_000))
    _within(result.everything["rejected"], LOAD / (1 + LOAD))


def test_late_requests_that_are_dropped_take_no_time_and_count_as_missed() -> None:
    overload = {"load": 1.2, "requests": 5_000, "slo_ms": 300.0}
    kept = _played("np-fcfs", _traffic(**overload))
    dropped = _played("np-fcfs", _traffic(**overload, drop="late"))
    row = dropped.everything
    assert row["dropped"].value > 0.05
    assert row["deadline_miss"].value >= row["dropped"].value
    assert row["goodput_per_s"].value > 2 * kept.everything["goodput_per_s"].value
    assert dropped.keeps_up or dropped.left < kept.left / 5


def test_policies_asked_in_python_play_the_same_run() -> None:
    scenario = _traffic(requests=60, warmup=5)
    settings = StreamSettings(runs=2, seed=3)
    policies: dict[str, Decider] = {"compiled": baselines.make("static-sjf"), "asked": Asked()}
    found = evaluate_streams(scenario, policies, settings).policies
    assert repr(found["compiled"].to_dict()) == repr(found["asked"].to_dict())


def test_threads_change_nothing() -> None:
    scenario = _traffic(requests=500)
    policies = {name: baselines.make(name) for name in ("np-fcfs", "dynamic-prema")}
    one, two = (
        evaluate_streams(scenario, policies, StreamSettings(runs=3), threads=threads).to_dict()
        for threads in (1, 2)
    )
    assert repr(one) == repr(two)
