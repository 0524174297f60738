"""How are long runs shared out? One point, a policy at a load, is one piece of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prema_gym.distribution.executors import Executor
from prema_gym.distribution.recipes import Recipe, policy_of
from prema_gym.errors import ConfigError, in_one_line
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.stream_results import StreamResult
from prema_gym.evaluation.streams import Found, Progress, StreamSettings, play_points
from prema_gym.workloads.scenario import Scenario


@dataclass(frozen=True)
class Point:
    """A policy on a scenario's long runs, as it travels to whoever plays it."""

    name: str
    recipe: Recipe
    digest: str
    scenario: Scenario
    settings: StreamSettings


def play_point(point: Point) -> StreamResult:
    """Play a point.

    Raises:
        ConfigError: The policy fails.
    """
    policies = {point.name: policy_of(point.recipe, point.digest)}
    try:
        (result,) = play_points([(point.name, point.scenario)], policies, point.settings, threads=1)
    except ConfigError:
        raise
    except Exception as error:
        seeds = f"seeds {point.settings.seed} to {point.settings.seed + point.settings.runs - 1}"
        raise ConfigError(
            f"policy {point.name!r} fails on the runs of {seeds} at load {point.scenario.load}: "
            f"{in_one_line(error, point.recipe.files)}"
        ) from error
    return result


@dataclass(frozen=True)
class SharedPoints:
    """Plays points by an executor; called like `evaluation.streams.play_points`.

    Attributes:
        executor: Who plays.
        recipe: How each policy is made, from its name.
    """

    executor: Executor
    recipe: Callable[[str], Recipe]

    def __call__(
        self,
        points: Sequence[tuple[str, Scenario]],
        policies: Mapping[str, Decider],
        settings: StreamSettings,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        found: Found = lambda i, result: None,
    ) -> list[StreamResult]:
        """Play all points; see `evaluation.streams.play_points`."""
        del threads  # the executor knows its workers
        recipes = {name: self.recipe(name) for name in policies}
        digests = {name: recipe.digest() for name, recipe in recipes.items()}
        errands = (Point(n, recipes[n], digests[n], scenario, settings) for n, scenario in points)
        results: dict[int, StreamResult] = {}
        for i, result in self.executor.run(play_point, errands):
            results[i] = result
            found(i, result)
            if progress is not None:
                progress(len(results) * settings.runs, len(points) * settings.runs)
        return [results[i] for i in range(len(points))]
