"""How do policies compare on the same long runs? Play them all, at one load or at several.

Run i draws its requests from seed + i, the same for every policy and, closer together or further
apart, at every load. Results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from prema_gym.baselines.choosing import program_of
from prema_gym.checks import check_fields, declared, instance, whole
from prema_gym.compiled.cpus import num_cpus
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.stream_results import StreamResult, result_of
from prema_gym.evaluation.streaming import Run, play_runs
from prema_gym.evaluation.versions import versions
from prema_gym.metrics.groups import STREAM_COLUMNS
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.source import Traffic, traffic_of

Progress = Callable[[int, int], None]
Found = Callable[[int, StreamResult], None]
"""Called with a point's number and its result, as soon as that is known."""
DEFAULT_RUNS = 2


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """What every policy plays.

    Attributes:
        runs: Independent runs.
        seed: Run i is drawn from seed + i.
        play: What a policy plays with.
    """

    runs: int = declared(DEFAULT_RUNS, whole(1, 10_000), unit="runs", help="independent runs")
    seed: int = declared(0, whole(0), help="run i is drawn from seed + i")
    play: PlaySettings = declared(
        factory=PlaySettings,
        constraint=instance(PlaySettings, "PlaySettings"),
        help="what every policy plays with",
    )

    def __post_init__(self) -> None:
        check_fields(self)


class PointPlayer(Protocol):
    """Plays policies on scenarios as :func:`play_points` does, here or elsewhere."""

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
        """A result for each point, in their order; see :func:`play_points`."""
        ...


@dataclass(frozen=True, kw_only=True)
class StreamEvaluation:
    """The outcome of a comparison on long runs.

    Attributes:
        scenario: What was played.
        settings: How.
        policies: Results by policy, in the order given.
        versions: What it was computed with.
    """

    scenario: Scenario
    settings: StreamSettings
    policies: dict[str, StreamResult]
    versions: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data, the layout of the JSON report; may hold NaN."""
        return {
            "scenario": self.scenario.to_dict(),
            "settings": asdict(self.settings),
            "versions": self.versions,
            "columns": {
                c.name: {"unit": c.unit, "better": c.better, "formula": c.formula}
                for c in STREAM_COLUMNS
            },
            "policies": {name: result.to_dict() for name, result in self.policies.items()},
        }


def evaluate_streams(
    scenario: Scenario,
    policies: Mapping[str, Decider],
    settings: StreamSettings | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    player: PointPlayer | None = None,
) -> StreamEvaluation:
    """Play every policy on the same long runs.

    Args:
        scenario: A stream (``Scenario.is_stream``), or what is played as one.
        policies: Deciders by the name the report uses.
        settings: How; None: the defaults.
        threads: Threads that play; None: one a core.
        progress: Told how far it is, from the calling thread.
        player: Who plays; None: threads of this process.

    Raises:
        ConfigError: A setting or a policy is none.
    """
    settings = settings_for(scenario, StreamSettings() if settings is None else settings)
    points = [(name, scenario) for name in policies]
    play = play_points if player is None else player
    found = play(points, policies, settings, threads=threads, progress=progress)
    return StreamEvaluation(
        scenario=scenario,
        settings=settings,
        policies=dict(zip(policies, found, strict=True)),
        versions=versions(),
    )


def settings_for(scenario: Scenario, settings: StreamSettings) -> StreamSettings:
    """The same settings, but one run where every request is a trace's: others would repeat it."""
    traces = [one.trace for one in scenario.streams] or [scenario.trace]
    return settings if None in traces else replace(settings, runs=1)


def play_points(
    points: Sequence[tuple[str, Scenario]],
    policies: Mapping[str, Decider],
    settings: StreamSettings,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    found: Found = lambda i, result: None,
) -> list[StreamResult]:
    """Play policies on scenarios that differ in what arrives.

    Args:
        points: The policy's name and the scenario of each piece of work.
        policies: Deciders by name.
        settings: How.
        threads: Threads that play; None: one a core.
        progress: Told how many runs have been played, and of how many.
        found: Told each result as soon as it is known, from the calling thread.

    Returns:
        A result for each point, in their order.
    """
    threads = whole(1).check("threads", num_cpus() if threads is None else threads)
    seeds = range(settings.seed, settings.seed + settings.runs)
    worked_out: dict[Scenario, tuple[Catalog, Traffic]] = {}
    for _, scenario in points:
        if scenario not in worked_out:
            catalog = compile_scenario(_without_traffic(scenario))
            catalog = replace(catalog, scenario=scenario)
            worked_out[scenario] = catalog, traffic_of(catalog)
    parts: list[list[list[Run] | None]] = []
    results: list[StreamResult | None] = [None] * len(points)
    with ThreadPoolExecutor(threads) as pool:
        jobs: dict[Future[list[Run]], tuple[int, int]] = {}
        for i, (name, scenario) in enumerate(points):
            # A rule plays alone as fast; who is asked in Python is asked for all runs at once.
            alone = program_of(policies[name]) is not None
            groups = [[seed] for seed in seeds] if alone else [list(seeds)]
            parts.append([None] * len(groups))
            for j, group in enumerate(groups):
                arguments = (policies[name], *worked_out[scenario], group, settings.play)
                jobs[pool.submit(play_runs, *arguments)] = i, j
        try:
            for done, job in enumerate(as_completed(jobs), start=1):
                i, j = jobs.pop(job)
                parts[i][j] = job.result()
                if all(part is not None for part in parts[i]):
                    runs = [run for part in parts[i] for run in part or ()]
                    results[i] = one = result_of(runs, *worked_out[points[i][1]])
                    found(i, one)
                    parts[i] = []
                if progress is not None:
                    progress(done, done + len(jobs))
        except BaseException:  # also an interrupt: do not play the rest first
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [result for result in results if result is not None]


def _without_traffic(scenario: Scenario) -> Scenario:
    """What a catalog is worked out from, whatever arrives: points of a sweep share it."""
    return replace(
        scenario,
        load=None,
        rate_per_s=None,
        window_ms=Scenario.window_ms,
        requests=None,
        warmup=None,
        drop="never",
        queue_limit=None,
    )
