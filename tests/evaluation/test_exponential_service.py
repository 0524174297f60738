"""M/M/1 and M/M/1/K: a log of exponential requests, played as it stands, meets the closed forms.

Arrivals are Poisson and output lengths exponential, both written to a trace's file; the network is
nothing but output steps. So the whole way from a file's columns to a percentile is held to theory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import stdtrit

from prema_gym import baselines, networks
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.stream_results import StreamResult
from prema_gym.evaluation.streams import StreamSettings, evaluate_streams
from prema_gym.metrics.dependent import Estimate
from prema_gym.networks import Network, registry
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import LayerList, Phase
from prema_gym.networks.tensor import Tensor
from prema_gym.workloads import compile_scenario
from prema_gym.workloads.lengths import LengthModel
from prema_gym.workloads.rates import mean_isolated_cycles
from prema_gym.workloads.scenario import Scenario

REQUESTS, LOAD = 60_000, 0.7
MEAN_STEPS = 500  # lengths are whole: the variance is off by a millionth


def _steps(input_length: int) -> tuple[Phase, ...]:
    net = LayerList()
    net.add(Linear("step", Tensor((128,)), out_features=128))
    return (net.phase("output"),)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A network of output steps alone, and a log of requests for it."""
    own = Network(
        name="steps-alone",
        title="Steps alone",
        source="made for the test",
        domain="text",
        build=_steps,
        input_unit="token",
        input_lengths=(1, 10),
    )
    monkeypatch = pytest.MonkeyPatch()  # other tests look at every network there is
    monkeypatch.setattr(registry, "_NETWORKS", dict(registry._NETWORKS))
    networks.register(own)
    rng = np.random.default_rng(2026)
    arrival = np.cumsum(rng.exponential(1.0, REQUESTS + REQUESTS // 10 + 10))
    steps = np.ceil(rng.exponential(MEAN_STEPS, len(arrival))).astype(int)
    path = tmp_path_factory.mktemp("log") / "log.csv"
    rows = "".join(f"{a:.6f},{s}\n" for a, s in zip(arrival, steps, strict=True))
    path.write_text(f"arrival_ms,output_length\n{rows}")
    yield path
    monkeypatch.undo()


@lru_cache
def _played(path: Path, queue_limit: int | None = None) -> tuple[StreamResult, float]:
    """What first come first served makes of it, and the mean service time [ms]."""
    scenario = Scenario(
        networks=("steps-alone",),
        batch_sizes=(1,),
        lengths=(LengthModel(network="steps-alone", input_lengths=(1,), ratio_median=500.0),),
        arrival="trace",
        trace=str(path),
        load=LOAD,
        requests=REQUESTS,
        quantum_ms=1000.0,
        queue_limit=queue_limit,
    )
    settings = StreamSettings(runs=1, play=PlaySettings(slots=1024))
    found = evaluate_streams(scenario, {"fcfs": baselines.make("np-fcfs")}, settings)
    mean = mean_isolated_cycles(compile_scenario(scenario).arrays)
    return found.policies["fcfs"], mean * 1e3 / scenario.hardware.clock_hz


def _z(found: Estimate, expected: float) -> float:
    """How many standard errors a value is off, as its own interval has them."""
    error = (found.high - found.low) / 2 / stdtrit(19, 0.975)
    assert 0 < error < 0.1 * expected
    return float((found.value - expected) / error)


def test_the_mean_response_is_that_of_m_m_1(log: Path) -> None:
    result, service = _played(log)
    assert abs(_z(result.everything["latency_ms"], service / (1 - LOAD))) < 3
    assert result.in_system == pytest.approx(LOAD / (1 - LOAD), rel=0.1)
    assert result.utilisation == pytest.approx(LOAD, rel=0.02)


@pytest.mark.parametrize(("name", "share"), [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)])
def test_responses_are_exponential(log: Path, name: str, share: float) -> None:
    result, service = _played(log)
    expected = -math.log(1 - share) * service / (1 - LOAD)
    found = result.everything[f"{name}_latency_ms"]
    assert abs(_z(found, expected)) < 3


def test_a_full_queue_rejects_as_m_m_1_k_does(log: Path) -> None:
    result, _ = _played(log, queue_limit=3)
    in_system = 3 + 1
    expected = (1 - LOAD) * LOAD**in_system / (1 - LOAD ** (in_system + 1))
    assert abs(_z(result.everything["rejected"], expected)) < 3
