from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("cma")

from prema_gym.agents import seeds
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.evolution.course import COURSE, Leg, course_of, stretched
from prema_gym.agents.training.evolution.search import EvolutionStrategy
from prema_gym.errors import ConfigError
from prema_gym.workloads import compile_scenario, scenarios
from tests.agents.conftest import TINY

CONFIG = EvolutionConfig(hidden=2, readers=2, population=4, quantum_ms=4.0, floor=0.02)
STATE = Path("run/last.state")  # where a message says that it was kept
LEGS = (Leg(share=0.5, weight=1.0), Leg(tasks=0.5, share=0.5, weight=1.0))


def _search(seed: int = 1, threads: int = 1, objective: str = "balanced") -> EvolutionStrategy:
    return EvolutionStrategy(
        TINY, CONFIG, workloads=8, seed=seed, legs=LEGS, threads=threads, objective=objective
    )


def _vector(search: EvolutionStrategy) -> NDArray[np.float64]:
    return search.shape.join(search.weights)


def test_same_seed_same_weights_whatever_the_threads_and_the_global_generator() -> None:
    np.random.seed(5)  # noqa: NPY002 - what must not matter
    first = _search()
    before = _vector(first)
    reports = [first.step() for _ in range(3)]
    np.random.seed(6)  # noqa: NPY002
    second = _search(threads=2)
    again = [second.step() for _ in range(3)]
    assert [r.fitness for r in reports] == [r.fitness for r in again]
    assert np.array_equal(_vector(first), _vector(second))
    assert not np.array_equal(before, _vector(first))
    other = _search(seed=2)
    other.step()
    assert not np.array_equal(_vector(other), _vector(first))


def test_a_resumed_search_goes_on_to_the_bit() -> None:
    search = _search()
    search.step()
    state = search.state()
    ahead = [search.step() for _ in range(2)]
    resumed = _search()
    resumed.restore(state, STATE)
    assert resumed.generation == 1
    again = [resumed.step() for _ in range(2)]
    assert [r.fitness for r in ahead] == [r.fitness for r in again]
    assert [r.decisions for r in ahead] == [r.decisions for r in again]
    assert np.array_equal(_vector(search), _vector(resumed))


def test_decisions_rise_and_fitness_is_finite() -> None:
    search = _search()
    reports = [search.step() for _ in range(3)]
    assert all(np.isfinite(r.fitness) and np.isfinite(r.gains).all() for r in reports)
    counts = [r.decisions for r in reports]
    assert counts == sorted(set(counts))
    assert [r.index for r in reports] == [0, 1, 2]


def test_fitness_by_hand() -> None:
    search = _search()
    gained = np.zeros((2, 5))
    gained[0] = [0.1, 0.1, 0.1, 9.9, 0.1]  # beyond the ceiling of 0.5
    gained[1] = [0.1, 0.1, -0.18, 0.1, 0.1]  # 0.2 below the floor of 0.02
    first = (4 * 0.1 + 0.5) / 5
    second = (4 * 0.1 - 0.18 - 4 * 0.2) / 5
    assert search.fitness(gained) == pytest.approx((first + second) / 2)
    only = _search(objective="fairness")
    assert only.fitness(gained) == pytest.approx((0.1 - 0.18 - 4 * 0.2) / 2)


def test_the_floor_rises_when_it_is_time_to_refine() -> None:
    config = replace(CONFIG, refine_at=1, refine_floor=0.1)
    search = EvolutionStrategy(TINY, config, workloads=8, seed=1, legs=LEGS)
    gained = np.full((2, 5), 0.05)  # between the two floors
    assert search.fitness(gained) == pytest.approx(0.05)
    search.step()
    assert search.fitness(gained) == pytest.approx(0.05)
    search.step()
    assert search.fitness(gained) == pytest.approx(0.05 - 4 * 0.05)


def test_every_generation_draws_fresh_training_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[NDArray[np.int64]] = []
    original = seeds.training_workloads

    def spy(run_seed: int, round_index: int, count: int) -> NDArray[np.int64]:
        drawn.append(original(run_seed, round_index, count))
        return drawn[-1]

    monkeypatch.setattr(seeds, "training_workloads", spy)
    search = _search()
    for _ in range(3):
        search.step()
    everything = np.concatenate(drawn)
    assert len(everything) == len(set(everything.tolist())) == 3 * 8


def test_a_state_of_another_network_or_damaged_is_refused() -> None:
    search = _search()
    other = EvolutionStrategy(
        TINY, EvolutionConfig(hidden=1, readers=1), workloads=8, seed=1, legs=LEGS
    )
    with pytest.raises(ConfigError, match=r"run/last\.state holds a search for 47 weights"):
        other.restore(search.state(), STATE)
    # Half of it, nothing, and garbage that pickle raises an IndexError and an ImportError at.
    for state in (search.state()[:50], b"", b"0", b"cgone\nname\n."):
        with pytest.raises(ConfigError, match=r"^run/last\.state is damaged") as error:
            other.restore(state, STATE)
        assert "\n" not in str(error.value)


def test_legs_vary_tasks_and_window_and_shares_add_up() -> None:
    assert sum(leg.share for leg in COURSE) == pytest.approx(1)
    assert sum(leg.weight for leg in COURSE) == pytest.approx(1)
    variant = Leg(tasks=2.0, window=30.0, share=1, weight=1).scenario(TINY, 1.0)
    assert (variant.num_tasks, variant.window_ms, variant.quantum_ms) == (8, 300.0, 1.0)


def test_a_trace_is_stretched_by_its_speed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s\n" + "".join(f"{k}.0\n" for k in range(6)))
    scenario = replace(TINY, arrival="trace", trace=str(trace), trace_speed=3.0)
    assert stretched(scenario, 30.0).trace_speed == pytest.approx(0.1)
    last = [
        compile_scenario(one).arrays.trace_cycles[-1]
        for one in (scenario, Leg(window=2.0, share=1, weight=1).scenario(scenario, 1.0))
    ]
    assert last[1] == pytest.approx(2 * last[0], abs=1)


def test_a_trace_too_short_for_a_leg_is_explained(tmp_path: Path) -> None:
    trace = tmp_path / "short.csv"
    trace.write_text("arrival_s\n" + "".join(f"{k}.0\n" for k in range(6)))
    scenario = replace(TINY, arrival="trace", trace=str(trace), num_tasks=4)
    assert Leg(share=1, weight=1).scenario(scenario, 1.0).num_tasks == 4
    with pytest.raises(
        ConfigError, match=r"with 2 × its tasks and 1 × its window, and there .* 6 re"
    ):
        Leg(tasks=2.0, share=1, weight=1).scenario(scenario, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"population": 3}, "population must be a whole number of at least 4, got 3"),
        ({"sigma": 0.0}, "sigma must be a finite number above 0, got 0"),
        ({"floor": 0.6}, "floor must be below the ceiling of 0.5, got 0.6"),
        ({"refine_floor": 0.5}, "refine_floor must be below the ceiling of 0.5, got 0.5"),
        ({"refine_at": -1}, "refine_at must be a whole number of at least 0, got -1"),
    ],
)
def test_settings_are_checked(change: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EvolutionConfig(**change)  # type: ignore[arg-type]


def test_a_stream_has_a_course_of_its_own_and_is_stretched_by_what_sets_its_pace() -> None:
    cameras = scenarios.get("edge-camera")
    slower = stretched(cameras, 2.0)
    assert [s.rate_per_s for s in slower.streams] == [30.0, 60.0, 15.0]
    assert stretched(scenarios.get("bursty-90"), 1.5).load == pytest.approx(0.6)
    assert stretched(scenarios.get("poisson-70"), 2.0).load == pytest.approx(0.35)
    assert stretched(scenarios.get("poisson-70"), 0.0).window_ms == 0.0
    for name, estimates in (("algorithm1", {"algorithm1"}), ("both", {"algorithm1", "calibrated"})):
        legs = course_of(cameras, name)
        assert sum(leg.share for leg in legs) == pytest.approx(1)
        assert sum(leg.weight for leg in legs) == pytest.approx(1)
        assert {leg.estimate for leg in legs} == estimates
        assert all(leg.scenario(cameras, 0.25).num_tasks == 128 for leg in legs)
    assert course_of(scenarios.get("paper")) is COURSE
