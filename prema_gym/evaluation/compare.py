"""How do policies compare on the very same workloads? Play them all, then summarise.

Policies are given as objects (`Decider`); none is known by name. Workload i of a comparison is
drawn from seed + i alone, once, and handed to every policy. Results do not depend on how the
workloads are cut into chunks nor on the number of threads. Times inside are integer cycles.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prema_gym.bounds import MAX_TASKS
from prema_gym.checks import whole
from prema_gym.compiled.cpus import num_cpus
from prema_gym.errors import ConfigError
from prema_gym.evaluation.bootstrap import RESAMPLES
from prema_gym.evaluation.concurrent import Player, Progress, play_all
from prema_gym.evaluation.optima import optima, regrets
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.policy import Decider, mechanisms_of
from prema_gym.evaluation.results import Evaluation
from prema_gym.evaluation.settings import BASELINE, EvaluationSettings
from prema_gym.evaluation.summary import summarise
from prema_gym.evaluation.versions import versions
from prema_gym.simulator import DEFAULT_ESTIMATE, DEFAULT_SLOTS, SchedulerOptions, one_estimate
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.storage import WorkloadLike, as_batch
from prema_gym.workloads.workload import WorkloadBatch

LEAST_LIMIT = 100_000
"""Least number of decisions after which a workload is cut off, some hundred times what one of
eight tasks takes; without a limit, a policy that kills at every quantum would never end."""

CHUNK = 1024
"""Workloads simulated in lock step: a few megabytes of state, and NumPy's overhead per call spread
thin."""


def evaluate(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    policies: Mapping[str, Decider],
    *,
    workloads: int | None = None,
    seed: int = 0,
    workload: WorkloadLike | None = None,
    relative_to: str = BASELINE,
    estimate: str = DEFAULT_ESTIMATE,
    oracle: bool = False,
    slots: int = DEFAULT_SLOTS,
    options: SchedulerOptions | None = None,
    max_decisions: int | None = None,
    resamples: int = RESAMPLES,
    per_workload: bool = False,
    per_task: bool = False,
    bounds: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    player: Player = play_all,
) -> Evaluation:
    """Play every policy on the same workloads and summarise with bootstrap intervals.

    Args:
        scenario: What is drawn, and the machine: a `Scenario`, a name, a TOML file or a dict.
        policies: Deciders by the name the report uses.
        workloads: How many, at most ``MAX_WORKLOADS``; None: ``DEFAULT_WORKLOADS``, or all given.
        seed: Workload i is drawn from seed + i; the intervals' resamples from ``seed`` too.
        workload: Play this workload, batch of workloads or file; nothing is drawn then.
        relative_to: Name in ``policies`` that ratios compare with.
        estimate: Isolated times that policies see: ``algorithm1``, ``calibrated`` or ``oracle``.
        oracle: The same as ``estimate="oracle"``.
        slots: Rows of the table.
        options: Open points of the scheduler.
        max_decisions: Cut a workload off after so many; None: far more than any policy needs.
        resamples: Bootstrap resamples.
        per_workload: Keep each workload's values.
        per_task: Keep what became of each task, in memory.
        bounds: Find the clairvoyant optimum of each workload (at most 20 tasks), and regrets.
        threads: Threads that play; None: one a core.
        progress: Told how far it is, from the calling thread.
        player: Who plays; default: threads of this process.

    Raises:
        ConfigError, WorkloadError: What was given does not fit, or was trained on these seeds.
    """
    settings = EvaluationSettings(
        **(named := _named(scenario)),
        policies=_names(policies),
        mechanisms={name: mechanisms_of(policy) for name, policy in policies.items()},
        workloads=workloads,
        seed=seed,
        workload=None if workload is None else _given(workload, named["scenario"]),
        relative_to=relative_to,
        play=_play_settings(one_estimate(estimate, oracle), slots, options, max_decisions),
        resamples=resamples,
        per_workload=per_workload,
        bounds=bounds,
    )
    return _compare(settings, policies, threads, progress, player=player, per_task=per_task)


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

    Raises:
        ConfigError: The settings are none.
    """
    known = EvaluationSettings.from_dict(settings)
    policies = {name: make(name, mechanisms=known.mechanisms[name]) for name in known.policies}
    return _compare(known, policies, threads, progress)


def _compare(
    settings: EvaluationSettings,
    policies: Mapping[str, Decider],
    threads: int | None,
    progress: Progress | None,
    *,
    player: Player = play_all,
    per_task: bool = False,
) -> Evaluation:
    threads = whole(1).check("threads", num_cpus() if threads is None else threads)
    catalog = compile_scenario(settings.scenario)
    if settings.workload is None:
        _refuse_trained_on(policies, range(settings.seed, settings.seed + settings.num_workloads))
    batches = _chunks(settings, catalog)
    most_tasks = max(int(batch.num_tasks.max()) for batch in batches)
    if settings.bounds and most_tasks > MAX_TASKS:
        raise ConfigError(
            f"bounds are for workloads of at most {MAX_TASKS} tasks, got {most_tasks}: leave them "
            "out"
        )
    if settings.play.max_decisions is None:
        settings = settings.limited_to(_enough_decisions(settings.scenario, batches))

    outcomes = player(policies, catalog, batches, settings.play, threads=threads, progress=progress)
    results = summarise(outcomes, settings)
    best = optima(batches, threads) if settings.bounds else {}
    optimum = {name: float(values.mean()) for name, values in best.items()}
    return Evaluation(
        scenario=settings.scenario.name,
        seed=settings.seed if settings.workload is None else None,
        workloads=settings.num_workloads,
        most_tasks=most_tasks,
        relative_to=settings.relative_to,
        versions=versions(),
        workload_digest=_digest(batches),
        settings=settings.to_dict(),
        policies={
            name: replace(
                found,
                regret=regrets(found, optimum),
                outcomes=outcomes[name] if per_task else None,
            )
            for name, found in results.items()
        },
        optimum=optimum,
        per_workload_optimum=best if settings.per_workload else {},
    )


def _named(given: Scenario | str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """The scenario that a name, a file or a dict stands for, and the options that name it.

    What is no scenario is left to the settings to refuse.
    """
    if isinstance(given, str | os.PathLike):
        return {"scenario": scenarios.get(given), "drawn_by": ("--scenario", os.fspath(given))}
    scenario = Scenario.from_dict(given) if isinstance(given, Mapping) else given
    name = getattr(scenario, "name", None)
    registered = name in scenarios.names() and scenario == scenarios.get(name)
    return {"scenario": scenario, "drawn_by": ("--scenario", name) if registered else ()}


def _given(workload: WorkloadLike, scenario: Scenario) -> WorkloadBatch:
    return as_batch(workload, compile_scenario(scenario))


def _play_settings(
    estimate: str, slots: int, options: SchedulerOptions | None, max_decisions: int | None
) -> PlaySettings:
    return PlaySettings(
        estimate=estimate,
        slots=slots,
        options=SchedulerOptions() if options is None else options,
        max_decisions=max_decisions,
    )


def _names(policies: Mapping[str, Decider]) -> tuple[str, ...]:
    if not isinstance(policies, Mapping) or not policies:
        raise ConfigError(f"policies must be at least one policy by name, got {policies!r}")
    return tuple(policies)


def _refuse_trained_on(policies: Mapping[str, Decider], seeds: range) -> None:
    """Refuse policies that learned from workloads of these seeds."""
    for name, policy in policies.items():
        allowed = getattr(policy, "test_seeds", None)
        if allowed is not None and not (seeds[0] in allowed and seeds[-1] in allowed):
            raise ConfigError(
                f"policy {name!r} may be compared on seeds {allowed[0]} to {allowed[-1]}, got "
                f"{seeds[0]} to {seeds[-1]}: it may have been trained or selected on the others"
            )


def _chunks(settings: EvaluationSettings, catalog: Catalog) -> list[WorkloadBatch]:
    """The workloads, drawn or given, in batches that are played in lock step."""
    given, count = settings.workload, settings.num_workloads
    spans = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    if given is not None:
        return [given.rows(span) for span in spans]
    seed = settings.seed
    return [sample_batch(catalog, range(seed + span.start, seed + span.stop)) for span in spans]


def _enough_decisions(scenario: Scenario, batches: Sequence[WorkloadBatch]) -> int:
    """A limit that only a policy which loses most of its work can reach.

    A policy is asked at most once a quantum and twice a task; four times the quanta that the work
    and the arrivals span leaves room for work that is killed and done again.
    """
    work = max(int(batch.isolated_cycles.sum(axis=1).max()) for batch in batches)
    last = max(int(batch.arrival_cycles.max()) for batch in batches)
    quanta = (work + last) // scenario.quantum_cycles
    return int(max(LEAST_LIMIT, 4 * quanta + 100 * batches[0].arrival_cycles.shape[1]))


def _digest(batches: Sequence[WorkloadBatch]) -> str:
    """Digest of what every policy was given, whatever the padding and the chunking."""
    digest = hashlib.sha256()
    for batch in batches:
        for row, count in enumerate(batch.num_tasks):
            for name in TASK_FIELDS:
                digest.update(np.ascontiguousarray(getattr(batch, name)[row, :count]).tobytes())
    return digest.hexdigest()
