"""Who has received less than a fair share? Stride scheduling and a scheduler like CFS.

Both advance a clock of each task's own, its *pass* (or virtual run time), by Δ/π while it runs for
Δ, and run whoever is furthest behind. A newcomer's clock must start where the others are, or it
would own the NPU until it has caught up with their whole past. Where it started is the one thing
that no table holds, so these policies carry it in the recurrent state of ``predict``: hand the
state back at each call, as with a recurrent network (``prema_gym.evaluation`` does). Called without
it, every call is the first one: all clocks are equal and the running task goes on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.policy import State
from prema_gym.baselines.preemption import Static
from prema_gym.baselines.table import Table
from prema_gym.checks import declared, number
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import (
    EXECUTED_MS,
    PRIORITY,
    QUANTUM_LEFT_MS,
    WAITED_MS,
)

Scores = NDArray[np.float64]  # (slots, envs)


def exact(table: Table, column: int) -> Scores:
    """One column in double precision."""
    return table.column(column).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class FairShare(Ordering):
    """An ordering by the tasks' own clocks."""

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the task to run if nothing is remembered."""
        return self.choose_by(table, np.zeros(table.present.shape, np.float32))

    @abstractmethod
    def choose_by(self, table: Table, passed: NDArray[np.float32]) -> NDArray[np.int64]:
        """Slot of the task to run, int64 (envs,), by the passes [ms], (slots, envs)."""

    @property
    def head_start_ms(self) -> float:
        """How far behind the least pass a newcomer starts [ms of pass]."""
        return 0.0

    @property
    def settles(self) -> bool:
        """No: whoever waits falls behind."""
        return False


@dataclass(frozen=True, kw_only=True)
class Stride(FairShare):
    """Stride: at the end of each quantum the task of the least pass is next."""

    sentence = (
        "Run for a quantum the task of the least pass, which grows by 1/priority per ms of run "
        "time and starts at the least pass of the others"
    )
    source = "Waldspurger & Weihl, MIT/LCS/TM-528, 1995"

    def choose_by(self, table: Table, passed: NDArray[np.float32]) -> NDArray[np.int64]:
        """Slot of the running task until its quantum ends, then of the least pass."""
        in_turn = table.value(QUANTUM_LEFT_MS, table.runner) > 0
        return np.where(in_turn, table.runner, table.least(passed))


@dataclass(frozen=True, kw_only=True)
class CompletelyFair(FairShare):
    """CFS-like: at every wake-up the least virtual run time, if it is less by enough.

    Attributes:
        granularity_ms: The running task goes on unless its virtual run time exceeds the least by
            more than this [ms at priority 1]. Default: the paper's scheduling quantum.
        latency_ms: A newcomer starts half of this behind the least [ms at priority 1], so that it
            is served soon. Default: also one quantum, so its start alone displaces nobody.
    """

    granularity_ms: float = declared(0.25, number(0.0), unit="ms", help="lead that is allowed")
    latency_ms: float = declared(0.25, number(0.0), unit="ms", help="twice a newcomer's head start")

    sentence = (
        "Run the task of the least virtual run time (run time / priority), the running one unless "
        "it is ahead of that by more than `granularity_ms`"
    )
    source = "the idea of Linux's Completely Fair Scheduler (2007), without groups and sleepers"

    def choose_by(self, table: Table, passed: NDArray[np.float32]) -> NDArray[np.int64]:
        """Slot of the least virtual run time, or of the running task if it is hardly ahead."""
        best = table.least(passed)
        envs = np.arange(passed.shape[1])
        ahead = passed[table.runner, envs] - passed[best, envs]
        stays = table.busy & (ahead <= np.float32(self.granularity_ms))
        return np.where(stays, table.runner, best)

    @property
    def head_start_ms(self) -> float:
        """Half the latency."""
        return self.latency_ms / 2


class Remembering(Static):
    """static- with a memory: where each task's clock started.

    The state is three float64 arrays (envs, slots): the pass at which the slot's task would have
    started from zero work, and the task's executed and waited times as last seen. A slot holds
    another task than before if one of these has fallen; as long as a task stays in the system they
    only grow. Should a newcomer go unnoticed (it takes, within one wake-up, the slot of a task that
    had never run and had waited no longer), it inherits the pass of a task that was chosen and so
    had the least: what is due to a newcomer.
    """

    def __init__(
        self, name: str, ordering: FairShare, mechanisms: Sequence[str] | None = None
    ) -> None:
        super().__init__(name, ordering, mechanisms)
        self._fair_share = ordering

    def decide(
        self, table: Table, state: State | None, episode_start: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], State | None]:
        """Actions by CHECKPOINT, and the clocks for the next call."""
        shape = table.present.shape
        executed, waited = exact(table, EXECUTED_MS), exact(table, WAITED_MS)
        offset, executed_before, waited_before = self._recall(shape, state, episode_start)
        used = executed / np.where(table.present, table.column(PRIORITY), 1)
        known = table.present & (executed >= executed_before) & (waited >= waited_before)
        least = np.where(known, offset + used, np.inf).min(axis=0)
        # Work done by a task first seen now was done alone, when there was nothing to be asked.
        head_start = np.where(executed == 0, self._fair_share.head_start_ms, 0)
        start = np.where(np.isfinite(least), least, 0) - head_start
        offset = np.where(known, offset, start - used)
        # Rounded, so that sums of thirds and ninths that are equal on paper are equal here.
        passed = (offset + used).astype(np.float32)
        slot = self._fair_share.choose_by(table, passed)
        executed[~table.present] = np.inf  # whoever comes next has done less
        memory = tuple(np.ascontiguousarray(array.T) for array in (offset, executed, waited))
        return self.displaced(table, slot), memory

    def _recall(
        self,
        shape: tuple[int, ...],
        state: State | None,
        episode_start: NDArray[np.bool_] | None,
    ) -> tuple[Scores, Scores, Scores]:
        """The remembered arrays, (slots, envs); +inf executed where there was no task."""
        if state is None:
            return np.zeros(shape), np.full(shape, np.inf), np.zeros(shape)
        if len(state) != 3 or any(array.shape != shape[::-1] for array in state):
            given = ", ".join(str(array.shape) for array in state)
            raise ConfigError(
                f"the state of {self.name!r} is three arrays of shape {shape[::-1]}, got {given}"
            )
        offset, executed, waited = (array.T for array in state)
        if episode_start is not None:
            executed = np.where(np.asarray(episode_start, bool), np.inf, executed)
        return offset, executed, waited
