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
from prema_gym.metrics.formulas import IntArray
from prema_gym.metrics.tally import Fold, Tally, fold_finished, fold_left, new_tally
from prema_gym.simulator.options import engine_options
from prema_gym.simulator.streaming import StreamSimulator
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.source import Source, Traffic, priorities_of

CHUNK = 2048
"""Requests drawn at once: a few hundred kilobytes."""
CHUNK_AMONG_CLIENTS = 128
"""Where clients think, fewer: a request that is sent moves all those behind it by a place."""
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
        thinking: Requests that each closed loop sent in the window after an answer, and the sum of
            the think times before them [cycles]: int64 (streams, 2); (0, 2) without closed loops.
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
    thinking: IntArray


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
    if traffic.closed:
        clients = np.array([stream.clients or 0 for stream in traffic.streams])
        # In one call of the engine a client hears of three answers at most: one that ran on, one
        # that was dropped, one that found the queue full after a switch.
        reserves = 4 * clients
        simulator.close_loops(reserves, CHUNK_AMONG_CLIENTS + 2 * int(reserves.max()))
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
        self._traffic = traffic
        self._fold = Fold(
            warmup=scenario.num_warmup,
            requests=scenario.num_requests,
            start_cycles=_UNKNOWN,
            priorities=np.array(weights, np.int64),
            first_priority=first_priority,
            first_stream=first_priority + len(weights),
        )
        self._tally = new_tally(self._fold.first_stream + len(traffic.streams))
        self._known = -1  # when the last loaded request of an open stream arrives
        self._before = dict.fromkeys(_COUNTERS, 0)
        self._thought = simulator.thinking(b)
        self._most_loaded = 0
        self._first_clients()

    def _first_clients(self) -> None:
        """Every client of a closed loop begins by thinking."""
        for i, stream in enumerate(self._traffic.streams):
            if stream.clients is not None:
                self._simulator.make_room_for(stream.clients, self._b)
                arrays = self._source.asks(i, stream.clients)
                self._simulator.add(arrays, np.full(stream.clients, i), self._b)

    def refill(self) -> bool:
        """Fold what has finished and load more requests; False: all have arrived."""
        simulator, b, fold = self._simulator, self._b, self._fold
        env = simulator.env[b]
        fold_finished(simulator.tasks[b], int(env["num_tasks"]), fold, self._tally)
        arrived = int(env["numbered"])
        if arrived >= fold.warmup and fold.start_cycles == _UNKNOWN:
            self._fold = fold._replace(start_cycles=int(env["now_cycles"]))
            self._before = {name: int(env[name]) for name in _COUNTERS}
            self._thought = simulator.thinking(b)
        stop = fold.warmup if arrived < fold.warmup else fold.warmup + fold.requests
        simulator.make_room_for(0, b)
        if arrived >= stop:
            return False
        self._load(stop - arrived)
        simulator.make_room_for(0, b)
        self._most_loaded = max(self._most_loaded, int(simulator.env["num_tasks"][b]))
        simulator.go_on(self._known, stop, b)
        return True

    def _load(self, most: int) -> None:
        """Load as many requests as are wanted, and lay those of closed loops ready."""
        simulator, b = self._simulator, self._b
        env = simulator.env[b]
        ready = [simulator.to_prepare(i, b) for i in self._traffic.closed]
        for i, count in zip(self._traffic.closed, ready, strict=True):
            if count:
                simulator.prepare(self._source.asks(i, count), i, b)
        if not self._traffic.is_open:
            self._known = _UNKNOWN
        elif self._known <= int(env["now_cycles"]):
            # As many as there are in an overloaded system, so that moving them costs no more.
            count = min(most, max(CHUNK, int(env["num_tasks"])))
            if self._traffic.closed:
                count = min(count, CHUNK_AMONG_CLIENTS)
            arrays, streams = self._source.next(count)
            simulator.make_room_for(count, b)
            simulator.add(arrays, streams, b)
            self._known = int(arrays.arrival_cycles[0, -1])

    def end(self) -> Run:
        """What is known at the end."""
        env = self._simulator.env[self._b]
        now, left = int(env["now_cycles"]), int(env["arrived"])
        fold_left(self._simulator.tasks[self._b], left, now, self._fold, self._tally)
        return Run(
            tally=self._tally,
            fold=self._fold,
            end_cycles=now,
            left=left,
            most_loaded=self._most_loaded,
            thinking=self._simulator.thinking(self._b) - self._thought,
            **{name: int(env[name]) - self._before[name] for name in _COUNTERS},
        )
