"""How many decisions a second does the compiled engine take on one core?

Real tile-exact profiles (scenario ``paper``), observation and mask written at every decision,
actions drawn outside the timing. Each figure is the median over steps in which every environment
decides; the machines are noisy, so compare figures of one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.evaluation.compare import evaluate
from prema_gym.simulator import Simulator
from prema_gym.simulator import observation as col
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch

Actions = Callable[[Simulator, np.random.Generator], NDArray[np.int64]]
STEPS = 60  # by then no workload of eight tasks has ended
WARM_STEPS = 10
CYCLE_BY_CYCLE_SECONDS = 20.0  # a public cycle-by-cycle simulator of PREMA, one two-task workload


def random_legal(simulator: Simulator, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray((rng.random(simulator.mask.shape) * simulator.mask).argmax(axis=1))


def keep_running(simulator: Simulator, rng: np.random.Generator) -> NDArray[np.int64]:
    running = simulator.env["runner"]
    return np.where(running >= 0, running, random_legal(simulator, rng))


def first_come(simulator: Simulator, rng: np.random.Generator) -> NDArray[np.int64]:
    table = simulator.observation
    order = np.where(table[:, :, col.PRESENT] > 0, table[:, :, col.ORDER], np.inf)
    return np.asarray(order.argmin(axis=1))


def decisions_per_second(num_envs: int, slots: int, choose: Actions, rounds: int = 5) -> float:
    """Median rate over the steps of a few episodes [decisions/s]."""
    catalog = compile_scenario(scenarios.get("paper"))
    batch = sample_batch(catalog, range(num_envs))
    simulator = Simulator(catalog, num_envs=num_envs, slots=slots)
    rates = []
    for round_ in range(rounds):
        simulator.load(batch)
        rng = np.random.default_rng(round_)
        for step in range(STEPS):
            actions = choose(simulator, rng)
            asking = int(simulator.asking.sum())
            start = time.perf_counter()
            simulator.step_range(actions, 0, num_envs)
            seconds = time.perf_counter() - start
            if step >= WARM_STEPS:
                rates.append(asking / seconds)
    return float(np.median(rates))


def main() -> None:
    for num_envs in (64, 1024, 8192):
        for choose in (random_legal, keep_running, first_come):
            rate = decisions_per_second(num_envs, 8, choose)
            print(f"B={num_envs:5d} slots=8  {choose.__name__:13s} {rate / 1e6:6.2f} M decisions/s")
    print(
        f"B= 1024 slots=16 random_legal  {decisions_per_second(1024, 16, random_legal) / 1e6:6.2f}"
        " M decisions/s"
    )

    scenario = scenarios.get("paper")
    policy = {name: baselines.make(name) for name in ("np-fcfs", baselines.PREMA)}
    for workloads in (200, 1000, 4000):
        start = time.perf_counter()
        evaluate(scenario, policy, workloads=workloads)
        seconds = time.perf_counter() - start
        per_second = 2 * workloads / seconds
        print(f"evaluate, two policies × {workloads} workloads: {per_second:7.0f} workloads/s")
    print(
        f"a cycle-by-cycle simulator: {1 / CYCLE_BY_CYCLE_SECONDS:.2f} workloads/s of two tasks; "
        f"ours {per_second * CYCLE_BY_CYCLE_SECONDS:.0f} times as many, of eight"
    )


if __name__ == "__main__":
    main()
