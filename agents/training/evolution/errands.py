"""How does another process judge a candidate? One candidate on one leg of a generation: an errand.

Only weights travel there, and five metrics back. The workloads are drawn where they are played.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.scorer.balancer_shape import BalancerShape
from prema_gym.agents.scorer.shape import ScorerShape
from prema_gym.agents.training.evolution.course import Leg, Track, tracks
from prema_gym.agents.training.objective import Gains
from prema_gym.baselines import PREMA
from prema_gym.distribution.executors import Executor
from prema_gym.workloads.scenario import Scenario

Judged = tuple[Gains, int]
"""The five metrics on one leg, and the decisions taken."""


@dataclass(frozen=True)
class Round:
    """What all generations of a search share: see `EvolutionStrategy`."""

    scenario: Scenario
    legs: tuple[Leg, ...]
    workloads: int
    quantum_ms: float
    seed: int


@dataclass(frozen=True, eq=False)
class JudgeErrand:
    """One candidate, or PREMA where there is none, on one leg of a generation."""

    round: Round
    generation: int
    leg: int
    shape: ScorerShape | BalancerShape
    candidate: NDArray[np.float64] | None


def judge(errand: JudgeErrand) -> Judged:
    """Play an errand, in whatever process."""
    track = _loaded(errand.round, errand.generation, threading.get_ident())[errand.leg]
    if errand.candidate is None:
        return track.play_by(baselines.make(PREMA))
    return track.play(errand.shape.split(errand.candidate))


def judged(
    executor: Executor,
    round: Round,
    generation: int,
    shape: ScorerShape | BalancerShape,
    candidates: Sequence[NDArray[np.float64]],
) -> list[list[Judged]]:
    """PREMA and every candidate on every leg, in this order, whoever plays.

    Args:
        executor: Who plays.
        round: The search.
        generation: Its generation.
        shape: Of the network.
        candidates: Weights, float64 (size,) each.
    """
    legs = range(len(round.legs))

    def errands() -> Iterator[JudgeErrand]:
        for candidate in (None, *(np.asarray(one, np.float64) for one in candidates)):
            for leg in legs:
                yield JudgeErrand(round, generation, leg, shape, candidate)

    found = dict(executor.run(judge, errands()))
    return [[found[row * len(legs) + leg] for leg in legs] for row in range(len(candidates) + 1)]


def seeds_of_legs(
    all_tracks: Sequence[Track], seed: int, generation: int
) -> list[NDArray[np.int64]]:
    """The seeds of a generation's workloads, leg by leg."""
    ends = np.cumsum([track.workloads for track in all_tracks])
    drawn = seeds.training_workloads(seed, generation, int(ends[-1]))
    return np.split(drawn, ends[:-1])


def _loaded(round: Round, generation: int, thread: int) -> list[Track]:
    """Every leg with a generation's workloads, for one thread."""
    found, drawn = _tracks(round, thread)
    if drawn != [generation]:
        drawn.clear()  # should drawing be broken off
        each = seeds_of_legs(found, round.seed, generation)
        for track, mine in zip(found, each, strict=True):
            track.load(mine)
        drawn.append(generation)
    return found


@lru_cache(maxsize=8)  # some threads, and a search or two
def _tracks(round: Round, thread: int) -> tuple[list[Track], list[int]]:
    """The legs' simulators, and which generation's workloads they hold."""
    del thread
    made = tracks(
        round.scenario,
        round.legs,
        workloads=round.workloads,
        quantum_ms=round.quantum_ms,
        threads=1,
    )
    return made, []
