"""What is best for all that are here? A planner that needs no training: `replan`.

Whenever a task has arrived or ended it plans all that are in the table anew (``plans.py``) and runs
the first of its order; one that would be done too early for fairness is held back by keeping its
last half a millisecond. Holding back raises fairness as the metric defines it without helping
anybody; ``holding=false`` leaves it out. What tables do not hold is remembered in the state of
``predict``: the plan, and the progress of those that have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import prema_gym.simulator.observation as col
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.plans import Job, Space, new_space, plan
from prema_gym.baselines.policy import State
from prema_gym.baselines.preemption import Static
from prema_gym.baselines.remembered import (
    AGE,
    ESTIMATE,
    HIGH,
    HIGHEST,
    KEPT_OF_SLOT,
    KEPT_OF_TABLE,
    LEFT,
    LOW,
    PRIORITY,
    SEEN,
    forget,
    notice,
)
from prema_gym.baselines.table import Table
from prema_gym.checks import declared, number, truth
from prema_gym.compiled.jit import kernel
from prema_gym.errors import ConfigError

HELD_MS = 0.5
"""Work that is kept of a task that is held back: two of the paper's quanta."""
# The planner's own columns of a slot's memory, after those of ``remembered.py``.
_PLACE, _HELD_UNTIL = KEPT_OF_SLOT, KEPT_OF_SLOT + 1
_SLOT_FIELDS = KEPT_OF_SLOT + 2


@dataclass(frozen=True, kw_only=True)
class Replan(Ordering):
    """What the planner aims at.

    Attributes:
        fairness: λ, the ANTT that 1 of fairness is worth.
        tail: How much more NTT of the highest priority counts.
        holding: Whether a task may be held back for fairness.
    """

    fairness: float = declared(4.5, number(0.0, 1e6), help="ANTT that 1 of fairness is worth")
    tail: float = declared(3.0, number(0.0, 1e6), help="extra weight of NTT of top priority")
    holding: bool = declared(True, truth(), help="a task may be held back for fairness")

    sentence = (
        "Plan all tasks anew at each arrival and end, by a recursion over their subsets, for the "
        "best `fairness` · fairness − ANTT (the highest priority counts `tail` more), and run the "
        "first; who would be done too early for fairness keeps its last 0.5 ms (`holding`)"
    )
    source = "ours: the recursion of prema_gym.bounds on what the table shows"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the first of the plan, with nothing remembered."""
        slots, _ = self.remember(table, None, None)
        return slots

    def remember(
        self, table: Table, state: State | None, episode_start: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], State]:
        """Slots of the tasks to run, int64 (envs,), and the memory for the next call."""
        tables = table.observation
        envs, slots = tables.shape[:2]
        shapes = ((envs, slots, _SLOT_FIELDS), (envs, KEPT_OF_TABLE))
        if state is None:
            of_slots, of_tables = (np.zeros(shape) for shape in shapes)
            fresh = np.ones(envs, np.bool_)
        else:
            if tuple(array.shape for array in state) != shapes:
                given = ", ".join(str(array.shape) for array in state)
                raise ConfigError(f"the state of 'replan' is arrays {shapes}, got {given}")
            of_slots, of_tables = (array.copy() for array in state)
            fresh = np.zeros(envs, np.bool_)
            if episode_start is not None:
                fresh |= np.asarray(episode_start, np.bool_)
        chosen = np.zeros(envs, np.int64)
        aims = (self.fairness, self.tail, self.holding)
        replan_all(np.ascontiguousarray(tables), fresh, aims, of_slots, of_tables, chosen)
        return chosen, (of_slots, of_tables)

    @property
    def settles(self) -> bool:
        """No: who is held back runs again later."""
        return False


class Planner(Static):
    """static- with a memory: the plan, and the progress of those that have ended."""

    def __init__(
        self, name: str, ordering: Replan, mechanisms: Sequence[str] | None = None
    ) -> None:
        super().__init__(name, ordering, mechanisms)
        self._replan = ordering

    def decide(
        self, table: Table, state: State | None, episode_start: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], State | None]:
        """Actions by CHECKPOINT, and the plans for the next call."""
        chosen, memory = self._replan.remember(table, state, episode_start)
        return self.displaced(table, chosen), memory


@kernel
def replan_all(
    tables: NDArray[np.float32],
    fresh: NDArray[np.bool_],
    aims: tuple[float, float, bool],
    of_slots: NDArray[np.float64],
    of_tables: NDArray[np.float64],
    chosen: NDArray[np.int64],
) -> None:
    """Choose the slot to run in every table.

    Args:
        tables: float32 (B, S, C); only read.
        fresh: bool (B,), where nothing is remembered.
        aims: λ, the tail's extra weight, and whether tasks may be held back.
        of_slots: Memory (B, S, 6), read and written.
        of_tables: Memory (B, 4), read and written.
        chosen: int64 (B,), written; 0 where a table is empty.
    """
    space = new_space(tables.shape[1])
    for b in range(tables.shape[0]):
        slots = _present(tables[b])
        if fresh[b]:
            forget(of_slots[b], of_tables[b])
        changed, _ = notice(tables[b], of_slots[b], of_tables[b])
        if len(slots) == 0:
            continue
        if changed:
            _plan_anew(tables[b], slots, aims, of_slots[b], of_tables[b], space)
        chosen[b] = _first(tables[b], slots, of_slots[b])


@kernel
def _present(table: NDArray[np.float32]) -> NDArray[np.int64]:
    """Slots that hold a task, by arrival."""
    slots = np.flatnonzero(table[:, col.PRESENT] > 0)
    return slots[np.argsort(table[slots, col.ORDER])]


@kernel
def _plan_anew(
    table: NDArray[np.float32],
    slots: NDArray[np.int64],
    aims: tuple[float, float, bool],
    of_slots: NDArray[np.float64],
    of_table: NDArray[np.float64],
    space: Space,
) -> None:
    """Plan the tasks of one table; each slot remembers its place, and until when it is held."""
    fairness, tail, holding = aims
    num_tasks = len(slots)
    job = Job(np.empty(num_tasks), np.empty(num_tasks), np.empty(num_tasks), np.empty(num_tasks))
    runner = -1
    leave_ms = 0.0
    for k in range(num_tasks):
        known, row = of_slots[slots[k]], table[slots[k]]
        job.age[k] = known[AGE]
        job.left[k] = known[LEFT] + row[col.RESTORE_MS]
        job.scale[k] = known[ESTIMATE] / known[PRIORITY]
        weight = 1.0 + tail if known[PRIORITY] >= of_table[HIGHEST] else 1.0
        job.rate[k] = weight / known[ESTIMATE]
        if row[col.RUNNING] > 0.0:
            runner = k
            leave_ms = float(row[col.PREEMPT_MS])
    order = np.arange(num_tasks)
    past = np.array([of_table[LOW], of_table[HIGH], of_table[SEEN]])
    cap = plan(job, runner, leave_ms, past, fairness, holding, space, order)
    for place in range(num_tasks):
        known = of_slots[slots[order[place]]]
        known[_PLACE] = place
        known[_HELD_UNTIL] = job.scale[order[place]] / cap if holding else 0.0


@kernel
def _first(
    table: NDArray[np.float32], slots: NDArray[np.int64], of_slots: NDArray[np.float64]
) -> int:
    """Slot of the first in the plan that is not held back; the first of all if everybody is."""
    best = best_free = -1
    for slot in slots:
        known = of_slots[slot]
        if best < 0 or known[_PLACE] < of_slots[best, _PLACE]:
            best = slot
        left = table[slot, col.REMAINING_MS]
        held = left <= HELD_MS and known[AGE] + left < known[_HELD_UNTIL]
        if not held and (best_free < 0 or known[_PLACE] < of_slots[best_free, _PLACE]):
            best_free = slot
    return int(best if best_free < 0 else best_free)
