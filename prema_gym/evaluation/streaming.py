"""What becomes of a stream of requests under one policy? `play_runs`: long runs, in little memory.

Requests are drawn some thousands ahead, and the finished ones folded into a tally. A run ends when
its last request arrives. Times inside are integer cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from prema_gym.baselines.choosing import program_of
from prema_gym.errors import ConfigError
from prema_gym.evaluation.compiled import play_by
from prema_gym.evaluation.playing import Asking, PlaySettings
from prema_gym.evaluation.policy import Decider, check_takes_masks, mechanisms_of
from prema_gym.metrics.tally import Fold, Tally, fold_finished, fold_left, new_tally
from prema_gym.simulator.options import engine_options
from prema_gym.simulator.streaming import StreamSimulator
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.source import Source, Traffic, priorities_of

CHUNK = 2048
"""Requests drawn at once: a few hundred kilobytes."""
_UNKNOWN = 2**62
_COUNTERS = ("busy_cycles", "switching_cycles", "idle_cycles", "decisions")


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What is known of one run.

    Attributes:
        tally: Of the requests that count.
        fold: How they were folded.
        end_cycles: When the last request arrived.
        busy_cycles: Time spent running in the window in which requests count.
        switching_cycles: Saving and restoring.
        idle_cycles: With nothing to do.
        decisions: Times the policy was asked.
        left: Requests in the system at the end.
        most_loaded: Most requests held in memory at once.
    """

    tally: Tally
    fold: Fold
    end_cycles: int
    busy_cycles: int
    switching_cycles: int
    idle_cycles: int
    decisions: int
    left: int
    most_loaded: int


def play_runs(
    policy: Decider,
    catalog: Catalog,
    traffic: Traffic,
    seeds: Sequence[int],
    settings: PlaySettings | None = None,
) -> list[Run]:
    """Play one long run for each seed under one policy.

    Args:
        policy: Decides.
        catalog: The compiled scenario.
        traffic: Its streams, at the rates to play.
        seeds: Of the runs' requests.
        settings: What it plays with; None: the defaults.

    Raises:
        ConfigError: The policy cannot be played, or a trace is too short.
    """
    settings = PlaySettings() if settings is None else settings
    if hasattr(policy, "prepare"):
        raise ConfigError("an optimum knows every arrival: it is for workloads, not for long runs")
    check_takes_masks(policy)
    scenario = catalog.scenario
    options = engine_options(
        settings.options,
        mechanisms_of(policy),
        quantum_cycles=scenario.quantum_cycles,
        clock_hz=scenario.hardware.clock_hz,
        estimate=settings.estimate,
        drop=scenario.drop,
        queue_limit=scenario.queue_limit,
        refills=True,
    )
    simulator = StreamSimulator(catalog, options, num_envs=len(seeds), slots=settings.slots)
    going = [
        _Going(simulator, b, Source(traffic, seed), traffic, catalog)
        for b, seed in enumerate(seeds)
    ]
    play_on = _player(simulator, policy)
    while sum(one.refill() for one in going):  # every one, not only the first that goes on
        play_on()
    return [one.end() for one in going]


def _player(simulator: StreamSimulator, policy: Decider) -> Callable[[], None]:
    """What plays every run to where it is short of requests."""
    program = program_of(policy)
    if program is not None:
        return lambda: play_by(simulator, program)
    return Asking(simulator, policy).on


class _Going:
    """One run that is going on."""

    def __init__(
        self, simulator: StreamSimulator, b: int, source: Source, traffic: Traffic, catalog: Catalog
    ) -> None:
        scenario = catalog.scenario
        weights = sorted(set().union(*map(priorities_of, traffic.arrays)))
        first_priority = 1 + len(scenario.networks)
        self._simulator, self._b, self._source = simulator, b, source
        self._fold = Fold(
            warmup=scenario.num_warmup,
            requests=scenario.num_requests,
            start_cycles=_UNKNOWN,
            priorities=np.array(weights, np.int64),
            first_priority=first_priority,
            first_stream=first_priority + len(weights),
        )
        self._tally = new_tally(self._fold.first_stream + len(traffic.streams))
        self._given = 0
        self._before = dict.fromkeys(_COUNTERS, 0)
        self._most_loaded = 0

    def refill(self) -> bool:
        """Fold what has finished and load more requests; False: all have arrived."""
        simulator, b, fold = self._simulator, self._b, self._fold
        env = simulator.env[b]
        fold_finished(simulator.tasks[b], int(env["num_tasks"]), fold, self._tally)
        left = fold.warmup + fold.requests - self._given
        if self._given < fold.warmup:
            left = fold.warmup - self._given
        elif self._given == fold.warmup:
            self._before = {name: int(env[name]) for name in _COUNTERS}
        simulator.make_room_for(0, b)
        if left == 0:
            return False
        # As many as there are in an overloaded system, so that moving them costs no more.
        count = min(left, max(CHUNK, int(env["num_tasks"])))
        arrays, streams = self._source.next(count)
        if self._given == fold.warmup:
            self._fold = fold._replace(start_cycles=int(arrays.arrival_cycles[0, 0]))
        simulator.make_room_for(count, b)
        simulator.add(arrays, streams, self._given, b)
        self._given += count
        self._most_loaded = max(self._most_loaded, int(simulator.env["num_tasks"][b]))
        return True

    def end(self) -> Run:
        """What is known at the end."""
        env = self._simulator.env[self._b]
        now, left = int(env["now_cycles"]), int(env["num_tasks"])
        fold_left(self._simulator.tasks[self._b], left, now, self._fold, self._tally)
        return Run(
            tally=self._tally,
            fold=self._fold,
            end_cycles=now,
            left=left,
            most_loaded=self._most_loaded,
            **{name: int(env[name]) - self._before[name] for name in _COUNTERS},
        )
