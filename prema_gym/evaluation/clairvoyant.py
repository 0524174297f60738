"""What would the best schedule cost on the real machine? The optimum, and the optimum played.

``prema_gym.bounds`` finds the best schedule of a workload on a machine whose switches are free. Its
order can be played as a policy: at every wake-up the task that stands first in it runs, displaced
by CHECKPOINT as soon as a better one arrives. What the played schedule loses against the bound is
the price of switching: tiles to be finished, contexts to be saved and restored.

Such a policy knows true times and the future, so it is no pure function of the observation table.
It is made for the workloads of one simulation: :meth:`Clairvoyant.prepare` looks at the loaded
simulator and returns what `evaluation.play.run_policy` can ask. Times are integer cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym import metrics
from prema_gym.bounds import OptimumBatch, optimum_batch
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.metrics import UNFINISHED, FloatArray, IntArray
from prema_gym.simulator.observation import ORDER, PRESENT
from prema_gym.simulator.simulator import Simulator
from prema_gym.workloads.workload import WorkloadBatch

PREFIX = "clairvoyant-"


class _Tasks(NamedTuple):
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
    value: Callable[[FloatArray, IntArray, _Tasks], FloatArray]
    weight: Callable[[_Tasks], FloatArray] | None = None
    due: bool = False


def _missed(ntt: FloatArray, completion: IntArray, tasks: _Tasks) -> FloatArray:
    missed = metrics.missed_deadlines(completion, tasks.deadline, tasks.present)
    return np.asarray(missed / tasks.num_tasks)


def _priority_per_cycle(tasks: _Tasks) -> FloatArray:
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
"""By the metric's name. Fairness has no optimum of this kind, percentiles over pooled tasks none
per workload; see ``prema_gym.bounds``."""


def names() -> tuple[str, ...]:
    """Names of the clairvoyant policies, one a metric: ``clairvoyant-antt``, …."""
    return tuple(PREFIX + metric for metric in GOALS)


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
    tasks = _Tasks(
        arrival=batch.arrival_cycles,
        isolated=batch.isolated_cycles,
        priority=batch.priority,
        deadline=batch.deadline_cycles,
        present=np.arange(batch.arrival_cycles.shape[1]) < batch.num_tasks[:, np.newaxis],
    )
    completion = _best(tasks, metric, threads).completion_cycles
    ntt = metrics.ntt(tasks.arrival, completion, tasks.isolated, tasks.present)
    return _goal(metric).value(ntt, completion, tasks)


class Clairvoyant:
    """Plays the best schedule for one metric, found with true times and all arrivals known.

    Attributes:
        name: ``clairvoyant-`` and the metric.
        metric: What the schedule is best in, a name in :data:`GOALS`.
        mechanisms: CHECKPOINT only.
        rule: What it does, in one sentence.
        source: Where the rule comes from.
        parameters: None.
    """

    mechanisms = ("checkpoint",)
    source = "ours: the optimum of prema_gym.bounds, played with real switch costs"

    def __init__(self, metric: str) -> None:
        """Name the goal.

        Args:
            metric: A name in :data:`GOALS`.

        Raises:
            UnknownNameError: No optimum is known for it.
        """
        _goal(metric)
        self.metric = metric
        self.name = PREFIX + metric
        self.parameters: dict[str, object] = {}
        self.rule = (
            f"Run the task that comes first in the order whose schedule has the best {metric}, "
            "found with true times and all arrivals known; checkpoint whichever task runs instead."
        )

    def prepare(self, simulator: Simulator) -> Plan:
        """Find the best order of every workload loaded.

        Args:
            simulator: Loaded, with the mechanism CHECKPOINT alone; the plan keeps looking at it.

        Raises:
            ConfigError: The simulator has other mechanisms, or a workload too many tasks.
        """
        if simulator.mechanisms != self.mechanisms:
            raise ConfigError(
                f"{self.name} plays with checkpoint alone, the simulator has "
                f"{', '.join(simulator.mechanisms)}"
            )
        records, present = simulator.tasks, simulator.task_present
        tasks = _Tasks(
            arrival=np.where(present, records["arrival_cycles"], 0),
            isolated=np.where(present, records["isolated_cycles"], 0),
            priority=np.where(present, records["priority"], 0),
            deadline=np.where(present, records["deadline_cycles"], 0),
            present=present,
        )
        order = _best(tasks, self.metric, None).order
        rank = np.full(order.shape, order.shape[1], np.int64)
        rows, places = np.nonzero(order >= 0)
        rank[rows, order[rows, places]] = places
        return Plan(simulator, rank)

    def predict(self, observation: object, **_: object) -> tuple[Any, Any]:
        """Refuse: the table does not hold what it takes.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            f"{self.name} cannot be asked for actions itself: load the simulator, then use what "
            "prepare(simulator) returns"
        )


class Plan:
    """Priority orders for the workloads of one simulator; call it with all of its tables.

    The table of a simulation holds the tasks admitted and not yet finished, and its ORDER column
    counts them by index. So the r-th of these tasks by index is the row of order r: the simulator's
    records say which task each row is, exactly.

    Args:
        simulator: Whose tables it will see.
        rank: int64 (B, N), place of each task in its workload's order, 0 first.
    """

    mechanisms = Clairvoyant.mechanisms

    def __init__(self, simulator: Simulator, rank: IntArray) -> None:
        self._simulator = simulator
        self._rank = rank

    def predict(
        self,
        observation: NDArray[np.float32],
        state: object = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[IntArray, tuple[()]]:
        """The slot of the first task of the order that is there, for every environment.

        Args:
            observation: The simulator's tables as they are now, float32 (B, S, C).
            state: Ignored.
            episode_start: Ignored.
            deterministic: Ignored.
            action_masks: Ignored: what is named is in the table.

        Returns:
            Actions int64 (B,), and an empty state: a policy with a state is asked about all rows.

        Raises:
            ConfigError: ``observation`` is not one table for each environment.
        """
        if observation.shape != self._simulator.observation.shape:
            raise ConfigError(
                f"a plan needs all tables, {self._simulator.observation.shape}, got "
                f"{observation.shape}"
            )
        tasks, index = self._simulator.tasks, np.arange(self._rank.shape[1])
        admitted = index < self._simulator.env["admitted"][:, np.newaxis]
        here = admitted & (tasks["completion_cycles"] == UNFINISHED)
        first = np.where(here, self._rank, self._rank.shape[1]).argmin(axis=1)
        order = (here & (index < first[:, np.newaxis])).sum(axis=1)
        row = (observation[:, :, PRESENT] > 0) & (observation[:, :, ORDER] == order[:, np.newaxis])
        return row.argmax(axis=1), ()


def _goal(metric: str) -> Goal:
    if metric not in GOALS:
        raise UnknownNameError("metric", metric, GOALS, "the metrics with a known optimum")
    return GOALS[metric]


def _best(tasks: _Tasks, metric: str, threads: int | None) -> OptimumBatch:
    goal = _goal(metric)
    return optimum_batch(
        tasks.arrival,
        tasks.isolated,
        goal.objective,
        num_tasks=tasks.num_tasks,
        weight=None if goal.weight is None else goal.weight(tasks),
        deadline=tasks.deadline if goal.due else None,
        threads=threads,
    )
