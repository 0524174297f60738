from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.outcomes import energy_mj, outcomes_of
from prema_gym.evaluation.playing import finish, play, play_on, simulator_for
from prema_gym.hardware.energy import energy_of_network, static_energy_mj
from prema_gym.metrics import METRICS
from prema_gym.simulator import Simulator
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from tests.evaluation.helpers import TINY, fcfs, priority_first

CATALOG = compile_scenario(TINY)


@pytest.mark.small
def test_energy_is_that_of_the_inferences_and_of_the_time() -> None:
    batch = sample_batch(CATALOG, range(2))
    outcomes = play(fcfs(), CATALOG, batch)
    for row in range(2):
        work = sum(
            energy_of_network(TINY.hardware, CATALOG.networks[network], batch=1).dynamic_mj
            for network in batch.network[row]
        )
        static = static_energy_mj(TINY.hardware, float(outcomes.elapsed_cycles[row]))
        assert outcomes.energy_mj[row] == pytest.approx(work + static, rel=1e-12)


@pytest.mark.small
def test_energy_of_switches_counts_the_time_spent_moving() -> None:
    batch = sample_batch(CATALOG, range(6))
    outcomes = play(priority_first(), CATALOG, batch)
    plain = play(fcfs(), CATALOG, batch)
    added = outcomes.energy_mj - plain.energy_mj
    hardware = TINY.hardware
    bytes_moved = outcomes.switching_cycles / hardware.clock_hz * hardware.dram_bytes_per_s
    static = np.array(
        [
            static_energy_mj(hardware, float(c))
            for c in outcomes.elapsed_cycles - plain.elapsed_cycles
        ]
    )
    # 31.2 pJ/B in memory and 12.5 pJ/B in the buffer, as documented in EnergyModel.
    assert added == pytest.approx(bytes_moved * 43.7e-9 + static, abs=1e-9)
    assert added.max() > 0


@pytest.mark.small
def test_outcomes_are_copies_of_the_records() -> None:
    batch = sample_batch(CATALOG, range(2))
    simulator = simulator_for(fcfs(), CATALOG, batch)
    outcomes = play_on(simulator, fcfs(), batch)
    again = outcomes_of(simulator)
    assert outcomes.completion_cycles.tolist() == again.completion_cycles.tolist()
    assert outcomes.energy_mj.tolist() == energy_mj(simulator).tolist()
    simulator.load(batch)  # starts anew: what was taken out stays
    assert (outcomes.completion_cycles > 0).all()
    assert (energy_mj(simulator) < outcomes.energy_mj).all()


def test_tasks_that_have_not_arrived_are_in_no_metric() -> None:
    catalog = compile_scenario(scenarios.get("light"))
    simulator = Simulator(catalog, num_envs=20, horizon_ms=60.0)
    simulator.load(sample_batch(catalog, range(20)))
    finish(simulator, baselines.make("static-prema"))
    outcomes = outcomes_of(simulator)
    assert np.array_equal(outcomes.elapsed_cycles, simulator.env["now_cycles"])
    assert np.array_equal(outcomes.arrived.sum(axis=1), simulator.env["arrived"])
    assert (outcomes.arrived.sum(axis=1) < outcomes.num_tasks).any()
    assert np.isnan(outcomes.ntt[~outcomes.arrived]).all()
    (violations,) = (one.values(outcomes) for one in METRICS if one.name == "sla_violation")
    for row, now in enumerate(simulator.env["now_cycles"]):
        here = [task for task in simulator.tasks[row] if 0 <= task["arrival_cycles"] <= now]
        ends = [now if t["completion_cycles"] < 0 else t["completion_cycles"] for t in here]
        late = [end > task["deadline_cycles"] for end, task in zip(ends, here, strict=True)]
        assert outcomes.missed[row] == pytest.approx(np.mean(late))
        slow = [
            (end - t["arrival_cycles"]) / t["isolated_cycles"]
            for end, t in zip(ends, here, strict=True)
        ]
        over = np.mean([[one > n for n in range(2, 21)] for one in slow])
        assert violations[row] == pytest.approx(over)
