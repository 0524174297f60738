"""What can be read of simulations from their records alone? Who is done, who is there, who waited.

A base for whatever holds records: the simulator itself, or rows copied from one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from prema_gym.simulator.state import ASKING, DONE, TRUNCATED


class Readings(ABC):
    """B simulations of at most N tasks, seen through their records."""

    @property
    @abstractmethod
    def tasks(self) -> NDArray[np.void]:
        """Task records (B, N) (``state.TASK_DTYPE``); rows past ``num_tasks`` are meaningless."""

    @property
    @abstractmethod
    def env(self) -> NDArray[np.void]:
        """Clock and counters, one record an environment (``state.ENV_DTYPE``)."""

    @property
    def asking(self) -> NDArray[np.bool_]:
        """True where a decision is asked for, bool (B,)."""
        return np.asarray(self.env["status"] == ASKING)

    @property
    def done(self) -> NDArray[np.bool_]:
        """True where every task has finished or a limit was reached, bool (B,)."""
        return np.asarray(self.env["status"] >= DONE)

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """True where every task has finished, bool (B,)."""
        return np.asarray(self.env["status"] == DONE)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """True where a limit was reached with tasks unfinished, bool (B,)."""
        return np.asarray(self.env["status"] == TRUNCATED)

    @property
    def task_present(self) -> NDArray[np.bool_]:
        """True at (b, i) where workload b has a task i, bool (B, N)."""
        return np.asarray(np.arange(self.tasks.shape[1]) < self.env["num_tasks"][:, None])

    @property
    def waited_cycles(self) -> NDArray[np.int64]:
        """Time each task spent in the system and not running, up to now or its end, (B, N)."""
        tasks = self.tasks
        end = np.where(
            tasks["completion_cycles"] >= 0,
            tasks["completion_cycles"],
            np.maximum(self.env["now_cycles"][:, None], tasks["arrival_cycles"]),
        )
        waited = end - tasks["arrival_cycles"] - tasks["executed_cycles"] - tasks["killed_cycles"]
        return np.asarray(np.where(self.task_present, waited, 0))
