"""How is a scheduler bred? CMA-ES on the network's weights, judged by whole workloads.

The gain over PREMA is a property of finished workloads, a percentile among them, so it is no sum of
rewards and has no gradient that a sample shows. An evolution strategy needs neither: every round
draws fresh workloads, plays all candidates and PREMA on the same ones (common random numbers), and
moves the search distribution towards the better. Source: CMA-ES, Hansen, "The CMA Evolution
Strategy: A Tutorial", arXiv 1604.00772, in the package ``cma``.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.agents.policies.old_names import unpickle
from prema_gym.agents.policies.weights_file import AnyWeights
from prema_gym.agents.scorer.balancer_shape import BalancerShape
from prema_gym.agents.scorer.shape import ScorerShape
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.evolution.course import Leg, course_of, tracks
from prema_gym.agents.training.evolution.errands import Round, judged, seeds_of_legs
from prema_gym.agents.training.objective import FIVE, gains, weights_of
from prema_gym.baselines import PREMA
from prema_gym.checks import damaged
from prema_gym.distribution.executors import Executor
from prema_gym.errors import ConfigError
from prema_gym.workloads.scenario import Scenario


class Normals:
    """Standard normal numbers for ``cma`` from a generator of our own; it can be pickled."""

    def __init__(self, seed: int) -> None:
        """Seed the generator."""
        self._rng = np.random.default_rng(np.random.SeedSequence((seed, 0xE5)))

    def __call__(self, *shape: int) -> NDArray[np.float64]:
        """Numbers of the given shape."""
        return self._rng.standard_normal(shape)


@dataclass(frozen=True)
class Generation:
    """What one generation brought.

    Attributes:
        index: Its number, from 0.
        decisions: Scheduling decisions taken in the run so far.
        fitness: Fitness of the best candidate.
        spread: The search's step size.
        gains: Gains of the best candidate, float64 (legs, 5).
        length: Decisions that it took for a workload.
    """

    index: int
    decisions: int
    fitness: float
    spread: float
    gains: NDArray[np.float64]
    length: float


class EvolutionStrategy:
    """The search: ask for candidates, play them, tell how they did; over and over."""

    def __init__(
        self,
        scenario: Scenario,
        config: EvolutionConfig,
        *,
        workloads: int,
        seed: int,
        objective: str = "balanced",
        initial: AnyWeights | None = None,
        legs: Sequence[Leg] | None = None,
        threads: int = 1,
        executor: Executor | None = None,
    ) -> None:
        """Start a search.

        Args:
            scenario: What to be good at.
            config: See :class:`.EvolutionConfig`.
            workloads: Workloads that each candidate plays in a generation, over all legs.
            seed: Seed of the search and of its workloads.
            objective: A name of :func:`prema_gym.agents.training.objective.objective_names`.
            initial: Weights to start from; default: random encoders and a score that prefers
                tasks that are short, urgent and slowed down, as every good rule does.
            legs: Variants of the scenario to be judged on; default: its course's.
            threads: Threads that play candidates; the result does not depend on it.
            executor: Plays candidates in their place; nor on that.
        """
        legs = course_of(scenario, config.course) if legs is None else legs
        self._executor = executor
        self._round = Round(scenario, tuple(legs), workloads, config.quantum_ms, seed)
        self.scenario, self.config, self.seed, self.threads = scenario, config, seed, threads
        self.shape = config.shape
        self._weights_of_metrics = weights_of(objective)
        self._weights_of_legs = np.array([leg.weight for leg in legs])
        self._weights_of_legs /= self._weights_of_legs.sum()
        self._tracks = tracks(
            scenario,
            legs,
            workloads=workloads,
            quantum_ms=config.quantum_ms,
            threads=threads,
        )
        self._reference = baselines.make(PREMA)
        self.generation = 0
        self.decisions = 0
        self._floor = config.floor
        normals = Normals(seed)
        start = initial or first_guess(self.shape, seed)
        import cma  # late: settings of a run can be read without the package

        self._search = cma.CMAEvolutionStrategy(
            self.shape.join(start),
            config.sigma,
            # seed: NaN keeps cma's hands off NumPy's global generator.
            {"popsize": config.population, "randn": normals, "seed": np.nan, "verbose": -9},
        )

    @property
    def weights(self) -> AnyWeights:
        """The centre of the search, which is what is kept: single candidates are lucky ones."""
        return self.shape.split(np.asarray(self._search.mean, dtype=np.float64))

    def step(self) -> Generation:
        """Breed and judge one generation."""
        config = self.config
        refining = 0 < config.refine_at <= self.decisions
        self._floor = config.refine_floor if refining else config.floor
        candidates = self._search.ask()
        results = self._judged(candidates)
        scores = [self.fitness(gained) for gained, _ in results]
        self.decisions += sum(decisions for _, decisions in results)
        self._search.tell(candidates, [-score for score in scores])
        best = int(np.argmax(scores))
        report = Generation(
            self.generation,
            self.decisions,
            scores[best],
            self._search.sigma,
            results[best][0],
            results[best][1] / sum(track.workloads for track in self._tracks),
        )
        self.generation += 1
        return report

    def fitness(self, gained: NDArray[np.float64]) -> float:
        """Weighted gain over legs (first axis) and metrics, with the floor and the ceiling."""
        config = self.config
        below = np.maximum(self._floor - gained, 0.0)
        worth = np.minimum(gained, config.ceiling) - config.floor_weight * below
        return float(self._weights_of_legs @ worth @ self._weights_of_metrics)

    def _judged(
        self, candidates: Sequence[NDArray[np.float64]]
    ) -> list[tuple[NDArray[np.float64], int]]:
        """Gains of every candidate, float64 (legs, 5), and the decisions it took."""
        if self._executor is None:
            self._draw()
            with ThreadPoolExecutor(self.threads) as pool:
                return list(pool.map(self._judge, candidates))
        reference, *others = judged(
            self._executor, self._round, self.generation, self.shape, candidates
        )
        self.decisions += sum(decisions for _, decisions in reference)
        return [
            (
                np.stack(
                    [gains(own, base) for (own, _), (base, _) in zip(one, reference, strict=True)]
                ),
                sum(decisions for _, decisions in one),
            )
            for one in others
        ]

    def _draw(self) -> None:
        """Give every leg fresh workloads."""
        drawn = seeds_of_legs(self._tracks, self.seed, self.generation)
        for track, mine in zip(self._tracks, drawn, strict=True):
            self.decisions += track.draw(mine, self._reference)

    def _judge(self, candidate: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
        """Gains of one candidate, float64 (legs, 5), and the decisions it took."""
        weights = self.shape.split(np.asarray(candidate, dtype=np.float64))
        gained = np.empty((len(self._tracks), len(FIVE)))
        decisions = 0
        for row, track in zip(gained, self._tracks, strict=True):
            own, taken = track.play(weights)
            row[:] = gains(own, track.reference)
            decisions += taken
        return gained, decisions

    def state(self) -> bytes:
        """Everything that a resumed search needs to go on exactly as this one would."""
        return pickle.dumps((self.generation, self.decisions, self._search.pickle_dumps()))

    def restore(self, state: bytes, path: Path) -> None:
        """Go on from :meth:`state`. Only for files of one's own runs: pickle can run code.

        Args:
            state: What :meth:`state` gave.
            path: Where it was kept, for messages.

        Raises:
            ConfigError: The state is damaged or of a network of another size.
        """
        try:
            generation, decisions, dumped = unpickle(state)
            search: Any = unpickle(dumped)
            fits = self.shape.size == search.N
        except Exception as error:  # whatever pickle makes of bytes that mean nothing
            raise damaged(path, error) from None
        if not fits:
            raise ConfigError(
                f"{path} holds a search for {search.N} weights, but the network that the run's "
                f"config.toml asks for has {self.shape.size}"
            )
        self.generation, self.decisions, self._search = generation, decisions, search


def first_guess(shape: ScorerShape | BalancerShape, seed: int) -> AnyWeights:
    """Random encoders, unread, beside a line that prefers short, urgent and slowed-down tasks.

    The line weighs length (twice, as remaining and as whole time, whose logarithms are halved)
    against priority and slowdown, all alike: a rule of thumb, and a start that costs the search
    fewer generations than scores of zero, under which the first slot wins every time.
    """
    weights = shape.initial(np.random.default_rng(np.random.SeedSequence((seed, 0x1D))))
    # remaining, estimate, priority, slowdown, running: the first of both networks' inputs. The
    # scorer's line has a column for each mechanism, one here.
    weights.line.reshape(len(weights.line), -1)[:5, 0] = (-1.0, -1.0, 2.0, 2.0, 0.1)
    return weights
