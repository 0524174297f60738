"""How do policies compare on the very same workloads? Run them all, then summarise.

Policies are given as objects (:class:`Decider`); none is known by name. Workload i of a comparison
is drawn from seed + i alone, once, and handed to every policy. Results do not depend on how the
workloads are cut into chunks nor on the number of threads. Times inside are integer cycles.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from prema_gym.bounds import MAX_TASKS, regret
from prema_gym.compiled.cpus import num_cpus
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.evaluation.bootstrap import RESAMPLES, Bootstrap, interval
from prema_gym.evaluation.clairvoyant import GOALS, best_values
from prema_gym.evaluation.play import Decider, mechanisms_of, outcomes_of, run_policy
from prema_gym.evaluation.results import Estimate, Evaluation, PolicyResult
from prema_gym.metrics import (
    METRICS,
    SLA_TARGETS,
    Outcomes,
    mean_of_known,
    sla_curve,
    times_better,
    values_of,
)
from prema_gym.simulator import DEFAULT_SLOTS, SchedulerOptions, Simulator
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.storage import WorkloadLike, as_batch
from prema_gym.workloads.workload import WorkloadBatch

__all__ = [
    "Decider",
    "Estimate",
    "Evaluation",
    "PolicyResult",
    "evaluate",
    "evaluate_settings",
    "mechanisms_of",
    "outcomes_of",
    "run_policy",
    "versions",
]

DEFAULT_WORKLOADS = 200
"""Workloads in a comparison: enough for intervals of a few percent; the paper takes 25."""

MAX_WORKLOADS = 100_000
"""Workloads in a comparison at most: intervals are then a twentieth as wide as at the default, and
the records of one policy still fit in a few hundred megabytes."""

LEAST_LIMIT = 100_000
"""Least number of decisions after which a run is cut off, some hundred times what a workload of
eight tasks takes; without a limit, a policy that kills at every quantum would never end."""

CHUNK = 1024
"""Workloads simulated in lock step: a few megabytes of state, and NumPy's overhead per call spread
thin."""


Progress = Callable[[int, int], None]
"""Called with (workloads played so far, workloads to play), summed over policies."""


def evaluate(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    policies: Mapping[str, Decider],
    *,
    workloads: int | None = None,
    seed: int = 0,
    workload: WorkloadLike | None = None,
    relative_to: str = "np-fcfs",
    oracle: bool = False,
    slots: int = DEFAULT_SLOTS,
    options: SchedulerOptions | None = None,
    max_decisions: int | None = None,
    resamples: int = RESAMPLES,
    per_workload: bool = False,
    bounds: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Run every policy on the same workloads and summarise with bootstrap intervals.

    Args:
        scenario: What is drawn, and the machine; a registered name, a TOML file or a dict stand
            for it.
        policies: Deciders by the name the report uses.
        workloads: Number of workloads, from 1 to ``MAX_WORKLOADS``; default
            ``DEFAULT_WORKLOADS``, or as many as are given.
        seed: Workload i is drawn from seed + i; the intervals' resamples from ``seed`` too.
        workload: Play this workload, batch of workloads or file; nothing is drawn then.
        relative_to: Name in ``policies`` that ratios compare with.
        oracle: Show policies true isolated times in place of estimates.
        slots: Rows of the context table.
        options: Open points of the scheduler.
        max_decisions: Cut a workload off after so many decisions; None: several times what any
            policy needs that gets on with the work.
        resamples: Bootstrap resamples.
        per_workload: Keep each workload's values.
        bounds: Find the clairvoyant optimum of each workload (at most 20 tasks), and regrets.
        threads: Threads that play chunks of workloads; default: one a core.
        progress: Told how far the simulation is, from the calling thread.

    Raises:
        ConfigError: No policy, no workload, or a policy that cannot be evaluated, or not on these
            seeds, which it was trained on.
        UnknownNameError: ``relative_to`` is not in ``policies``.
        WorkloadError: A workload that does not belong to the scenario.
    """
    if isinstance(scenario, str | os.PathLike):
        scenario = scenarios.get(scenario)
    elif isinstance(scenario, Mapping):
        scenario = Scenario.from_dict(scenario)
    if not isinstance(scenario, Scenario):
        raise ConfigError(
            f"scenario must be a Scenario, a name, a file or a dict, given {scenario!r}"
        )
    if not isinstance(policies, Mapping):
        raise ConfigError(f"policies must be policies by name, a mapping, given {policies!r}")
    if not policies:
        raise ConfigError("evaluate needs at least one policy, given none")
    if not isinstance(relative_to, str):
        raise ConfigError(f"relative_to must be a policy's name, given {relative_to!r}")
    if relative_to not in policies:
        raise UnknownNameError("policy", relative_to, policies, "relative_to")
    threads = num_cpus() if threads is None else threads
    for name, value in (
        ("workloads", DEFAULT_WORKLOADS if workloads is None else workloads),
        ("resamples", resamples),
        ("threads", threads),
        ("slots", slots),
        ("max_decisions", 1 if max_decisions is None else max_decisions),
        ("seed", seed),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ConfigError(f"{name} must be a whole number, given {value!r}")
        if value < 1 and (name != "seed" or value < 0):
            least = 0 if name == "seed" else 1
            raise ConfigError(f"{name} must be at least {least}, given {value}")
    if workloads is not None and workloads > MAX_WORKLOADS:
        raise ConfigError(f"workloads must be at most {MAX_WORKLOADS}, given {workloads}")
    for name, flag in (("oracle", oracle), ("per_workload", per_workload), ("bounds", bounds)):
        if not isinstance(flag, bool):
            raise ConfigError(f"{name} must be True or False, given {flag!r}")
    options = SchedulerOptions() if options is None else options
    if not isinstance(options, SchedulerOptions):
        raise ConfigError(f"options must be SchedulerOptions or None, given {options!r}")
    if options.sticky_drain and not any("drain" in mechanisms_of(p) for p in policies.values()):
        raise ConfigError(
            "sticky_drain changes nothing: no policy was made with 'drain' among its mechanisms"
        )
    catalog = compile_scenario(scenario)
    given = None if workload is None else as_batch(workload, catalog)
    if given is None:
        count = DEFAULT_WORKLOADS if workloads is None else workloads
        _refuse_trained_on(policies, range(seed, seed + count))
    else:
        count = len(given)
        if workloads not in (None, count):
            raise ConfigError(f"workloads is {workloads}, but {count} are given: leave it out")
    batches = [
        sample_batch(catalog, range(seed + start, seed + min(start + CHUNK, count)))
        if given is None
        else given.rows(range(start, min(start + CHUNK, count)))
        for start in range(0, count, CHUNK)
    ]
    most_tasks = max(int(batch.num_tasks.max()) for batch in batches)
    if bounds and most_tasks > MAX_TASKS:
        raise ConfigError(
            f"bounds are for workloads of at most {MAX_TASKS} tasks, given {most_tasks}: leave "
            "them out"
        )
    if max_decisions is None:
        max_decisions = _enough_decisions(scenario, batches)

    def play(policy: Decider, batch: WorkloadBatch) -> Outcomes:
        simulator = Simulator(
            catalog,
            num_envs=len(batch),
            slots=slots,
            max_tasks=batch.profile.shape[1],
            mechanisms=mechanisms_of(policy),
            options=options,
            oracle=oracle,
            max_decisions=max_decisions,
        )
        return run_policy(simulator, policy, batch)

    outcomes = _play_all(play, policies, batches, threads, progress)
    draws = Bootstrap(count, resamples=resamples, seed=seed)
    statistics = {name: _Statistics(result, draws) for name, result in outcomes.items()}
    base = statistics[relative_to]
    results = {
        name: own.summary(base, mechanisms_of(policies[name]), per_workload)
        for name, own in statistics.items()
    }
    optimum = _optimum(batches, threads) if bounds else {}
    for result in results.values():
        for name, best in optimum.items():
            found = result.metrics[name].mean
            # What is left undone costs nothing in some metrics: no distance from the optimum then.
            whole = result.unfinished == 0
            away = float(regret(GOALS[name].objective, found, best)) if whole else math.nan
            result.regret[name] = away
    settings = {
        "scenario": _portable(scenario),
        "policies": list(policies),
        "mechanisms": {name: list(mechanisms_of(policy)) for name, policy in policies.items()},
        "workloads": count,
        "seed": seed,
        "workload": None if given is None else given.to_dict(),
        "relative_to": relative_to,
        "oracle": oracle,
        "slots": slots,
        "options": asdict(options),
        "max_decisions": max_decisions,
        "resamples": resamples,
        "per_workload": per_workload,
        "bounds": bounds,
    }
    return Evaluation(
        scenario=scenario.name,
        seed=seed if given is None else None,
        workloads=count,
        most_tasks=most_tasks,
        relative_to=relative_to,
        versions=versions(),
        workload_digest=_digest(batches),
        settings=settings,
        policies=results,
        optimum=optimum,
    )


def _refuse_trained_on(policies: Mapping[str, Decider], seeds: range) -> None:
    """Refuse policies that learned from workloads of these seeds."""
    for name, policy in policies.items():
        allowed = getattr(policy, "test_seeds", None)
        if allowed is not None and not (seeds[0] in allowed and seeds[-1] in allowed):
            raise ConfigError(
                f"policy {name!r} may be compared on seeds {allowed[0]} to {allowed[-1]}, given "
                f"{seeds[0]} to {seeds[-1]}: it may have been trained or selected on the others"
            )


def _enough_decisions(scenario: Scenario, batches: Sequence[WorkloadBatch]) -> int:
    """A limit that only a policy which loses most of its work can reach.

    A policy is asked at most once a quantum and twice a task; four times the quanta that the work
    and the arrivals span leaves room for work that is killed and done again.
    """
    work = max(int(batch.isolated_cycles.sum(axis=1).max()) for batch in batches)
    last = max(int(batch.arrival_cycles.max()) for batch in batches)
    quanta = (work + last) // scenario.quantum_cycles
    return int(max(LEAST_LIMIT, 4 * quanta + 100 * batches[0].arrival_cycles.shape[1]))


def _optimum(batches: Sequence[WorkloadBatch], threads: int) -> dict[str, float]:
    """Mean over workloads of the best value any schedule can have, by metric."""
    return {
        name: float(np.concatenate([best_values(b, name, threads=threads) for b in batches]).mean())
        for name in GOALS
    }


def evaluate_settings(
    settings: Mapping[str, Any],
    make: Callable[..., Decider],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Repeat a comparison from the ``settings`` of its report (also after JSON): equal numbers.

    Args:
        settings: ``Evaluation.settings``.
        make: Makes a policy from its name, given ``mechanisms`` too: ``baselines.make``, say.
        threads: As for :func:`evaluate`.
        progress: As for :func:`evaluate`.
    """
    keywords = dict(settings)
    scenario = _restored(keywords.pop("scenario"))
    options = SchedulerOptions(**keywords.pop("options"))
    mechanisms = keywords.pop("mechanisms")
    if keywords.get("workload") is not None:
        keywords["workload"] = WorkloadBatch.from_dict(keywords["workload"])
    policies = {
        name: make(name, mechanisms=tuple(mechanisms[name])) for name in keywords.pop("policies")
    }
    return evaluate(
        scenario, policies, options=options, threads=threads, progress=progress, **keywords
    )


def versions() -> dict[str, str]:
    """Versions a result depends on."""
    found = {"python": platform.python_version()}
    for package in ("prema-gym", "numpy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout that was never installed
            found[package] = "unknown"
    return found


def _play_all(
    play: Callable[[Decider, WorkloadBatch], Outcomes],
    policies: Mapping[str, Decider],
    batches: Sequence[WorkloadBatch],
    threads: int,
    progress: Progress | None,
) -> dict[str, Outcomes]:
    """Play every policy on every chunk, in threads: compiled code releases the GIL."""
    todo = len(policies) * sum(len(batch) for batch in batches)
    played = 0
    parts: dict[str, list[Outcomes]] = {}
    with ThreadPoolExecutor(threads) as pool:
        jobs: dict[Future[Outcomes], tuple[str, int]] = {
            pool.submit(play, policy, batch): (name, i)
            for name, policy in policies.items()
            for i, batch in enumerate(batches)
        }
        try:
            for job in as_completed(jobs):
                job.result()
                played += len(batches[jobs[job][1]])
                if progress is not None:
                    progress(played, todo)
        except BaseException:  # also an interrupt: do not play the rest first
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        for job, (name, _) in jobs.items():
            parts.setdefault(name, []).append(job.result())
    return {name: Outcomes.concatenate(chunks) for name, chunks in parts.items()}


class _Statistics:
    """Every metric and every point of the SLA curve of one policy, as columns of arrays.

    Attributes:
        values: float64 (W, K), each workload.
        point: float64 (K,), what is reported.
        draws: float64 (resamples, K), the same in every resample.
    """

    def __init__(self, outcomes: Outcomes, bootstrap: Bootstrap) -> None:
        self.outcomes = outcomes
        curve = sla_curve(outcomes.ntt).T
        self.values = np.stack([*values_of(outcomes).values(), *curve], axis=-1)
        self.point = np.array([*(m.reported(outcomes) for m in METRICS), *mean_of_known(curve)])
        self.draws = bootstrap.means(self.values)
        for column, metric in enumerate(METRICS):
            if metric.pool is not None:
                pool = metric.pool(outcomes)
                self.draws[:, column] = bootstrap.percentiles(pool, metric.percent)

    def summary(
        self, base: _Statistics, mechanisms: tuple[str, ...], per_workload: bool
    ) -> PolicyResult:
        """Estimates with intervals, and ratios to ``base``."""
        estimates: list[Estimate] = []
        directions = [metric.better for metric in METRICS] + ["lower"] * len(SLA_TARGETS)
        low, high = interval(self.draws)
        known = len(self.values) > 1  # one workload says nothing about the spread between them
        for k, better in enumerate(directions):
            ratio = times_better(base.point[k], self.point[k], better)
            ratios = times_better(base.draws[:, k], self.draws[:, k], better)
            ratio_low, ratio_high = interval(ratios)
            estimates.append(
                Estimate(
                    mean=float(self.point[k]),
                    ci95=(float(low[k]), float(high[k])) if known else _NO_INTERVAL,
                    ratio=float(ratio),
                    ratio_ci95=(float(ratio_low), float(ratio_high)) if known else _NO_INTERVAL,
                )
            )
        named = dict(zip((metric.name for metric in METRICS), estimates, strict=False))
        columns = zip(named, self.values.T, strict=False)
        return PolicyResult(
            metrics=named,
            sla_curve=dict(zip(SLA_TARGETS, estimates[len(METRICS) :], strict=True)),
            mechanisms=mechanisms,
            tasks=int(self.outcomes.present.sum()),
            unfinished=int(self.outcomes.unfinished.sum()),
            truncated=int(self.outcomes.truncated.sum()),
            per_workload={name: column.copy() for name, column in columns} if per_workload else {},
        )


_NO_INTERVAL = (math.nan, math.nan)


def _digest(batches: Sequence[WorkloadBatch]) -> str:
    """Digest of what every policy was given, whatever the padding and the chunking."""
    digest = hashlib.sha256()
    for batch in batches:
        for row, count in enumerate(batch.num_tasks):
            for name in TASK_FIELDS:
                digest.update(np.ascontiguousarray(getattr(batch, name)[row, :count]).tobytes())
    return digest.hexdigest()


def _portable(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plain data that strict JSON can hold: an unlimited bandwidth is text."""
    data = scenario.to_dict()
    hardware = data["hardware"].items()
    return data | {"hardware": {key: _INF if v == math.inf else v for key, v in hardware}}


def _restored(data: Mapping[str, Any]) -> Scenario:
    """Undo :func:`_portable`."""
    hardware = data["hardware"].items()
    values = {**data, "hardware": {key: math.inf if v == _INF else v for key, v in hardware}}
    return Scenario.from_dict(values, where="settings")


_INF = "inf"
