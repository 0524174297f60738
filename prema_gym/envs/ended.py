"""What became of episodes that ended? Their task records and metrics, as plain arrays.

Sub-environments are reset as their episodes end, so what is to be reported is taken out first: a
few rows of the simulator's records. Metrics are computed by the same code as ``prema-gym
evaluate``.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prema_gym.evaluation.outcomes import outcomes_of
from prema_gym.metrics import FloatArray, IntArray, values_of
from prema_gym.simulator.readings import Readings
from prema_gym.simulator.state import ENV_DTYPE, TASK_DTYPE, TASK_INPUTS, TASK_RECORDS
from prema_gym.workloads.catalog import Catalog

RECORD_FIELDS = (*TASK_INPUTS, *TASK_RECORDS)
"""Columns of ``info["tasks"]``, all int64: what came in, then what happened."""


class EndedEpisodes(Readings):
    """K episodes that ended: a simulator's records of them, copied; reads like the simulator.

    Args:
        catalog: The compiled scenario.
        tasks: int64 (K, N, …), the words of task records.
        env: int64 (K, …), the words of clocks and counters.
    """

    def __init__(self, catalog: Catalog, tasks: IntArray, env: IntArray) -> None:
        self.catalog = catalog
        self._words = tasks, env

    @cached_property
    def tasks(self) -> NDArray[np.void]:
        """Task records (K, N) (``state.TASK_DTYPE``)."""
        return self._words[0].view(TASK_DTYPE)[..., 0]

    @cached_property
    def env(self) -> NDArray[np.void]:
        """Clock and counters (K,) (``state.ENV_DTYPE``)."""
        return self._words[1].view(ENV_DTYPE)[..., 0]

    def metrics(self) -> dict[str, FloatArray]:
        """Every metric of every row: name → float64 (K,)."""
        return values_of(outcomes_of(self))

    def task_arrays(self, width: int = 0) -> dict[str, IntArray]:
        """Every task record: name → int64 (K, tasks), 0 where there is no task.

        Args:
            width: Tasks at least; default: as many as the longest workload has.
        """
        most = int(self.env["num_tasks"].max())
        present = self.task_present[:, :most]
        room = ((0, 0), (0, max(width - most, 0)))
        return {
            name: np.pad(np.where(present, self.tasks[name][:, :most], 0), room)
            for name in RECORD_FIELDS
        }
