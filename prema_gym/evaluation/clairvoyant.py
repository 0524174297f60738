"""What would the best schedule cost on the real machine? The optimum, and the optimum played.

``prema_gym.bounds`` finds the best schedule of a workload on a machine whose switches are free. Its
order can be played as a policy: at every wake-up the task that stands first in it runs, displaced
by CHECKPOINT as soon as a better one arrives. What the played schedule loses against the bound is
the price of switching: tiles to be finished, contexts to be saved and restored.

Such a policy knows true times and the future, so it is no pure function of the observation table.
It is made for the workloads of one simulation: :meth:`Clairvoyant.prepare` looks at the loaded
simulator and returns what `evaluation.playing.play` can ask. Times are integer cycles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError
from prema_gym.evaluation.optima import GOALS, Tasks, best_schedules, goal_of
from prema_gym.metrics import UNFINISHED, IntArray
from prema_gym.simulator import ORDER, PRESENT, Simulator

PREFIX = "clairvoyant-"


def names() -> tuple[str, ...]:
    """Names of the clairvoyant policies, one a metric: ``clairvoyant-antt``, …."""
    return tuple(PREFIX + metric for metric in GOALS)


class Clairvoyant:
    """Plays the best schedule for one metric, found with true times and all arrivals known.

    Attributes:
        name: ``clairvoyant-`` and the metric.
        metric: What the schedule is best in, a name in :data:`GOALS`.
        mechanisms: CHECKPOINT only.
        rule: What it does, in one sentence.
        source: Where the rule comes from.
        parameters: None.
        concurrent: It may be played by several threads at once.
    """

    mechanisms = ("checkpoint",)
    concurrent = True
    source = "ours: the optimum of prema_gym.bounds, played with real switch costs"

    def __init__(self, metric: str) -> None:
        """Name the goal.

        Args:
            metric: A name in :data:`GOALS`.

        Raises:
            UnknownNameError: No optimum is known for it.
        """
        goal_of(metric)
        self.metric = metric
        self.name = PREFIX + metric
        self.parameters: dict[str, object] = {}
        self.rule = (
            f"Run the task that comes first in the order whose schedule has the best {metric}, "
            "found with true times and all arrivals known; checkpoint whichever task runs instead."
        )

    def prepare(self, simulator: Simulator) -> PlannedOrder:
        """Find the best order of every workload loaded.

        Args:
            simulator: Loaded, its first mechanism CHECKPOINT; the plan keeps looking at it.

        Raises:
            ConfigError: Its first mechanism is another, or a workload has too many tasks.
        """
        if simulator.mechanisms[:1] != self.mechanisms:
            raise ConfigError(
                f"{self.name} plays with checkpoint alone, which must come first: the simulator "
                f"has {', '.join(simulator.mechanisms)}"
            )
        records, present = simulator.tasks, simulator.task_present
        tasks = Tasks(
            arrival=np.where(present, records["arrival_cycles"], 0),
            isolated=np.where(present, records["isolated_cycles"], 0),
            priority=np.where(present, records["priority"], 0),
            deadline=np.where(present, records["deadline_cycles"], 0),
            present=present,
        )
        order = best_schedules(tasks, self.metric, None).order
        rank = np.full(order.shape, order.shape[1], np.int64)
        rows, places = np.nonzero(order >= 0)
        rank[rows, order[rows, places]] = places
        return PlannedOrder(simulator, rank)

    def predict(self, observation: object, **_: object) -> tuple[Any, Any]:
        """Refuse: the table does not hold what it takes.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            f"{self.name} cannot be asked for actions itself: load the simulator, then use what "
            "prepare(simulator) returns"
        )


class PlannedOrder:
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
                f"a planned order needs all tables, {self._simulator.observation.shape}, got "
                f"{observation.shape}"
            )
        tasks, index = self._simulator.tasks, np.arange(self._rank.shape[1])
        admitted = index < self._simulator.env["admitted"][:, np.newaxis]
        here = admitted & (tasks["completion_cycles"] == UNFINISHED)
        first = np.where(here, self._rank, self._rank.shape[1]).argmin(axis=1)
        order = (here & (index < first[:, np.newaxis])).sum(axis=1)
        row = (observation[:, :, PRESENT] > 0) & (observation[:, :, ORDER] == order[:, np.newaxis])
        return row.argmax(axis=1), ()
