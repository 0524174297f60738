"""On which workloads is a scheduler trained? The scenario itself, and milder and harsher kin of it.

How the five metrics trade against each other depends on how many tasks wait at once. So evolution
sees the scenario beside variants with half and twice the tasks and with room between arrivals, and
is judged on all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents.policies.files import chooser
from prema_gym.agents.policies.weights_file import AnyWeights
from prema_gym.agents.training.objective import Gains, measure
from prema_gym.errors import ConfigError
from prema_gym.evaluation.outcomes import outcomes_of
from prema_gym.evaluation.playing import play_on
from prema_gym.evaluation.policy import Decider
from prema_gym.simulator import DEFAULT_ESTIMATE, Simulator
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenario_rules import NO_TRACE
from prema_gym.workloads.streams import Stream
from prema_gym.workloads.workload import WorkloadBatch


def stretched(scenario: Scenario, factor: float) -> Scenario:
    """The same with ``factor`` times the time between arrivals; 0: all at once."""
    if factor == 0.0 and not scenario.streams:
        return _at_once(scenario)
    slower = _slower(scenario, factor)
    if scenario.load is not None or scenario.rate_per_s is not None:
        return replace(scenario, **slower)  # streams' own are proportions
    if not scenario.streams:
        return replace(scenario, window_ms=scenario.window_ms * factor, **slower)
    streams = tuple(replace(stream, **_slower(stream, factor)) for stream in scenario.streams)
    return replace(scenario, streams=streams)


def _slower(paced: Scenario | Stream, factor: float) -> dict[str, Any]:
    """What of a scenario or stream says how often tasks arrive, for ``factor`` times the gaps."""
    given = {name: getattr(paced, name) for name in ("load", "rate_per_s", "trace_speed")}
    return {name: value / factor for name, value in given.items() if value is not None}


def _at_once(scenario: Scenario) -> Scenario:
    """The same with all tasks there from the start, also where a trace says when they arrive."""
    changes: dict[str, Any] = {"window_ms": 0.0, "arrival": "uniform", **NO_TRACE}
    changes |= {"load": None, "rate_per_s": None}
    return replace(scenario, **changes)


@dataclass(frozen=True, kw_only=True)
class Leg:
    """One variant of the scenario and its share of the attention.

    Attributes:
        tasks: Factor on the scenario's number of tasks.
        window: Factor on the time between its arrivals; 0: all tasks at once.
        share: Share of the workloads of a round.
        weight: Weight of its gains in a candidate's fitness.
        estimate: What is shown as isolated times, to candidates and reference alike.
    """

    tasks: float = 1.0
    window: float = 1.0
    share: float
    weight: float
    estimate: str = DEFAULT_ESTIMATE

    def scenario(self, scenario: Scenario, quantum_ms: float) -> Scenario:
        """The variant of ``scenario``, with the quantum used in training [ms].

        Raises:
            ConfigError: It cannot be played: its trace is too short for more tasks, say.
        """
        arriving = stretched(scenario, self.window)
        variant = replace(
            arriving,
            name=f"{scenario.name}×{self.tasks:g}×{self.window:g}",
            num_tasks=max(2, round(scenario.num_tasks * self.tasks)),
            quantum_ms=quantum_ms,
        )
        try:
            compile_scenario(variant)  # needed anyway, and kept
        except ConfigError as error:
            if self.tasks == self.window == 1.0:
                raise
            raise ConfigError(
                f"training also plays {scenario.name!r} with {self.tasks:g} × its tasks and "
                f"{self.window:g} × its window, and there {error}"
            ) from None
        return variant


COURSE: tuple[Leg, ...] = (
    Leg(share=0.4, weight=0.4),
    # An arrival window 30 times as long turns the paper's crowd into a queue with pauses.
    Leg(window=30.0, share=0.2, weight=0.2),
    Leg(tasks=2.0, share=0.15, weight=0.2),  # fewer workloads: each has twice the tasks
    Leg(tasks=0.5, share=0.25, weight=0.2),
)
# A stream is a queue with pauses as it is: beside it a calmer one, since policies know no load.
STREAM_COURSE: tuple[Leg, ...] = (
    Leg(share=0.6, weight=0.6),
    Leg(window=1.5, share=0.4, weight=0.4),
)
BOTH: tuple[Leg, ...] = (
    # Users have either estimate. What a network gains with Algorithm 1's is harder to come by.
    Leg(share=0.35, weight=0.35),
    Leg(share=0.25, weight=0.25, estimate="calibrated"),
    Leg(window=30.0, share=0.1, weight=0.1),
    Leg(tasks=2.0, share=0.1, weight=0.1, estimate="calibrated"),
    Leg(tasks=0.5, share=0.1, weight=0.1),
    Leg(window=0.0, share=0.1, weight=0.1, estimate="calibrated"),  # all at once
)

COURSES: dict[str, tuple[Leg, ...]] = {"algorithm1": COURSE, "both": BOTH}
"""By the name that settings call them."""


def course_of(scenario: Scenario, name: str = "algorithm1") -> tuple[Leg, ...]:
    """On which variants of a scenario a scheduler is trained.

    Args:
        scenario: What to be good at.
        name: One of :data:`COURSES`, which says whose estimates are shown.
    """
    if not scenario.streams:
        return COURSES[name]
    shown = dict.fromkeys(leg.estimate for leg in COURSES[name])
    return tuple(
        replace(leg, share=leg.share / len(shown), weight=leg.weight / len(shown), estimate=one)
        for leg in STREAM_COURSE
        for one in shown
    )


class Track:
    """One leg, ready to be played: simulators, this round's workloads, the reference's result.

    Candidates may be played from several threads at once; each call borrows a simulator.
    """

    def __init__(
        self, catalog: Catalog, workloads: int, threads: int, estimate: str = DEFAULT_ESTIMATE
    ) -> None:
        """Build ``threads`` simulators of ``workloads`` environments each."""
        self.catalog = catalog
        self.workloads = workloads
        # As many slots as tasks: no queue, and no empty rows to scan.
        self._idle: SimpleQueue[Simulator] = SimpleQueue()
        for _ in range(threads):
            slots = catalog.scenario.num_tasks
            self._idle.put(Simulator(catalog, num_envs=workloads, slots=slots, estimate=estimate))
        self._batch: WorkloadBatch | None = None
        self.reference: Gains = np.zeros(0)

    def draw(self, seeds: NDArray[np.int64], reference: Decider) -> int:
        """Draw this round's workloads and play the reference on them; return its decisions."""
        self.load(seeds)
        self.reference, decisions = self.play_by(reference)
        return decisions

    def load(self, seeds: NDArray[np.int64]) -> None:
        """Draw this round's workloads."""
        self._batch = sample_batch(self.catalog, seeds.tolist())

    def play_by(self, policy: Decider) -> tuple[Gains, int]:
        """Play this round's workloads under any policy: the five metrics, and decisions taken."""

        def play(simulator: Simulator, batch: WorkloadBatch) -> None:
            play_on(simulator, policy, batch)

        return self._play(play)

    def play(self, weights: AnyWeights) -> tuple[Gains, int]:
        """Play this round's workloads with a network: the five metrics, and decisions taken."""

        def play(simulator: Simulator, batch: WorkloadBatch) -> None:
            choose = chooser(weights, simulator.num_envs, simulator.slots)
            actions = np.zeros(simulator.num_envs, np.int64)
            simulator.load(batch)
            while True:
                asking = simulator.asking
                if not asking.any():
                    return
                choose(simulator.observation, asking, actions)
                simulator.step_range(actions, 0, simulator.num_envs)

        return self._play(play)

    def _play(self, play: Callable[[Simulator, WorkloadBatch], None]) -> tuple[Gains, int]:
        assert self._batch is not None, "draw() comes first"
        simulator = self._idle.get()
        try:
            play(simulator, self._batch)
            return measure(outcomes_of(simulator)), int(simulator.env["decisions"].sum())
        finally:
            self._idle.put(simulator)


def tracks(
    scenario: Scenario,
    legs: Sequence[Leg],
    *,
    workloads: int,
    quantum_ms: float,
    threads: int,
) -> list[Track]:
    """A track for every leg, ``workloads`` in all (at least two a leg)."""
    return [
        Track(
            compile_scenario(leg.scenario(scenario, quantum_ms)),
            max(2, round(workloads * leg.share)),
            threads,
            leg.estimate,
        )
        for leg in legs
    ]
