"""What is the best value that any schedule of a workload can have, metric by metric?

Switches are free there, and all arrivals and true times known: ``prema_gym.bounds`` finds the
schedule, the metric's own code its value. Times are integer cycles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym import metrics
from prema_gym.bounds import OptimumBatch, fairness_bound, optimum_batch, regret
from prema_gym.errors import UnknownNameError
from prema_gym.evaluation.results import PolicyResult
from prema_gym.metrics import FloatArray, IntArray
from prema_gym.workloads.workload import WorkloadBatch


class Tasks(NamedTuple):
    """The tasks of W workloads; padding holds zeros."""

    arrival: IntArray  # (W, N)
    isolated: IntArray  # (W, N)
    priority: IntArray  # (W, N)
    deadline: IntArray  # (W, N)
    present: NDArray[np.bool_]  # (W, N)

    @property
    def num_tasks(self) -> IntArray:
        """Tasks of each workload, int64 (W,)."""
        return np.asarray(self.present.sum(axis=1), np.int64)


class Goal(NamedTuple):
    """A metric of ``prema_gym.metrics`` whose optimum is known.

    Attributes:
        objective: The objective of ``prema_gym.bounds`` that the same schedules are best in.
        value: The metric, float64 (W,), from NTT (W, N), completion [cycles] (W, N) and the tasks.
        weight: The objective's weights, float64 (W, N), if it takes some.
        due: Whether it takes the deadlines.
    """

    objective: str
    value: Callable[[FloatArray, IntArray, Tasks], FloatArray]
    weight: Callable[[Tasks], FloatArray] | None = None
    due: bool = False


def _missed(ntt: FloatArray, completion: IntArray, tasks: Tasks) -> FloatArray:
    missed = metrics.missed_deadlines(completion, tasks.deadline, tasks.present)
    return np.asarray(missed / tasks.num_tasks)


def _priority_per_cycle(tasks: Tasks) -> FloatArray:
    return np.asarray(tasks.priority / np.maximum(tasks.isolated, 1))  # padding is 0 long


GOALS: Mapping[str, Goal] = {
    "antt": Goal("antt", lambda ntt, completion, tasks: metrics.antt(ntt)),
    "stp": Goal("stp", lambda ntt, completion, tasks: metrics.stp(ntt)),
    "sla_violation": Goal("sla_curve", lambda ntt, completion, tasks: metrics.sla_violation(ntt)),
    # Σ π·NTT is Σ (π/P)·C less what the arrivals alone decide.
    "priority_antt": Goal(
        "weighted_completion",
        lambda ntt, completion, tasks: metrics.priority_antt(ntt, tasks.priority),
        weight=_priority_per_cycle,
    ),
    "deadline_miss": Goal("deadline_misses", _missed, due=True),
}
"""By the metric's name. Percentiles over pooled tasks have none per workload."""

FAIRNESS = "fairness"
"""Its bound is no optimum of that kind: no schedule but the limit of some reaches it, and only
work-conserving ones without KILL are held to it (`prema_gym.bounds.fairness`)."""


def best_values(batch: WorkloadBatch, metric: str, *, threads: int | None = None) -> FloatArray:
    """The best value any schedule of each workload can have, switches being free: float64 (W,).

    Args:
        batch: The workloads, of at most ``bounds.MAX_TASKS`` tasks each.
        metric: A name in :data:`GOALS`.
        threads: As for :func:`prema_gym.bounds.optimum_batch`.

    Raises:
        UnknownNameError: No optimum is known for ``metric``.
        ConfigError: A workload has too many tasks.
    """
    tasks = Tasks(
        arrival=batch.arrival_cycles,
        isolated=batch.isolated_cycles,
        priority=batch.priority,
        deadline=batch.deadline_cycles,
        present=np.arange(batch.arrival_cycles.shape[1]) < batch.num_tasks[:, np.newaxis],
    )
    completion = best_schedules(tasks, metric, threads).completion_cycles
    ntt = metrics.ntt(tasks.arrival, completion, tasks.isolated, tasks.present)
    return goal_of(metric).value(ntt, completion, tasks)


def optima(batches: Sequence[WorkloadBatch], threads: int) -> dict[str, FloatArray]:
    """The best value any schedule of each workload can have, by metric: float64 (workloads,)."""
    best = {
        name: np.concatenate([best_values(batch, name, threads=threads) for batch in batches])
        for name in GOALS
    }
    best[FAIRNESS] = np.concatenate([fairest_values(batch) for batch in batches])
    return best


def fairest_values(batch: WorkloadBatch, *, holding: bool = True) -> FloatArray:
    """The largest fairness of any work-conserving schedule of each workload: float64 (W,).

    Args:
        batch: The workloads.
        holding: See :func:`prema_gym.bounds.fairness_bound`.
    """
    return np.array(
        [
            fairness_bound(arrival[:n], isolated[:n], priority[:n], holding=holding)
            for arrival, isolated, priority, n in zip(
                batch.arrival_cycles,
                batch.isolated_cycles,
                batch.priority,
                batch.num_tasks.tolist(),
                strict=True,
            )
        ]
    )


def per_workload_regrets(result: PolicyResult, best: FloatArray, name: str) -> FloatArray:
    """How far each kept workload stays behind its own optimum, float64 (workloads,).

    NaN for 0/0, and where tasks were left undone.
    """
    values = result.per_workload[name]
    if result.unfinished:
        return np.full(len(values), math.nan)
    pairs = zip(values.tolist(), best.tolist(), strict=True)
    objective = _objective(name)
    return np.array([float(regret(objective, value, optimum)) for value, optimum in pairs])


def regrets(result: PolicyResult, optima: Mapping[str, float]) -> dict[str, float]:
    """How far a policy stays behind the optima, by metric; NaN where it left tasks undone."""
    # What is left undone costs nothing in some metrics: no distance from the optimum then.
    if result.unfinished:
        return dict.fromkeys(optima, math.nan)
    return {
        name: float(regret(_objective(name), result.metrics[name].mean, best))
        for name, best in optima.items()
    }


def _objective(metric: str) -> str:
    """The objective whose regret is measured alike: fairness is better if larger, as STP is."""
    return "stp" if metric == FAIRNESS else GOALS[metric].objective


def goal_of(metric: str) -> Goal:
    """The goal of that name.

    Raises:
        UnknownNameError: No optimum is known for ``metric``.
    """
    if metric not in GOALS:
        raise UnknownNameError("metric", metric, GOALS, "the metrics with a known optimum")
    return GOALS[metric]


def best_schedules(tasks: Tasks, metric: str, threads: int | None) -> OptimumBatch:
    """The schedules that are best in a metric, for each workload."""
    goal = goal_of(metric)
    return optimum_batch(
        tasks.arrival,
        tasks.isolated,
        goal.objective,
        num_tasks=tasks.num_tasks,
        weight=None if goal.weight is None else goal.weight(tasks),
        deadline=tasks.deadline if goal.due else None,
        threads=threads,
    )
