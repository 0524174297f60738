"""How is a run played that has no end? `StreamSimulator`: tasks are loaded as those before arrive.

Time stops whenever every loaded task has arrived (`short`). The caller reads what has become of the
finished ones (``tasks``), has them removed (:meth:`StreamSimulator.make_room_for`) and adds more.
What happens is what happens where all tasks are loaded from the start, to the cycle; memory holds
those in the system and the next few. Unchecked, like what it is made of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator.clock import spend, take_arrivals
from prema_gym.simulator.loading import add_task, clear_env
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.rules import observe
from prema_gym.simulator.state import (
    ASKING,
    IDLE,
    NONE,
    SHORT_AWAKE,
    SHORT_RUNNING,
    TASK_DTYPE,
    State,
    aligned,
)
from prema_gym.simulator.unchecked import UncheckedSimulator
from prema_gym.simulator.wakeups import play_on
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadArrays


class StreamSimulator(UncheckedSimulator):
    """Runs side by side, each with tasks that are loaded as time goes on.

    Args:
        catalog: The compiled scenario.
        options: What stays fixed; with ``refills``.
        num_envs: Runs (B).
        slots: Rows of the context table (S).
    """

    def __init__(
        self, catalog: Catalog, options: EngineOptions, *, num_envs: int = 1, slots: int
    ) -> None:
        super().__init__(
            catalog, options, num_envs=num_envs, slots=slots, max_tasks=1, record_timeline=False
        )
        for b in range(num_envs):
            clear_env(self._state, b, 0)
        self._state.env["status"] = SHORT_RUNNING

    @property
    def short(self) -> NDArray[np.bool_]:
        """True where more tasks must be loaded before time goes on, bool (B,)."""
        return np.asarray(self._state.env["status"] < 0)

    def make_room_for(self, count: int, b: int) -> None:
        """Remove the finished tasks of a run, and see that ``count`` more can be added."""
        words, _ = self.words
        remove_finished(self._state, words, np.empty(self.max_tasks, np.int64), b)
        needed = int(self._state.env["num_tasks"][b]) + count
        if needed <= self.max_tasks:
            return
        task = aligned(np.zeros((self.num_envs, needed), TASK_DTYPE))
        room = task.view(np.int64).reshape(self.num_envs, needed, -1)
        room[:, : self.max_tasks] = words
        self.max_tasks = needed
        self._state = self._state._replace(task=task)
        self._words = None

    def add(
        self, arrays: WorkloadArrays, streams: NDArray[np.int64], first_number: int, b: int
    ) -> None:
        """Load more tasks into a run for which there is room, and play on to a decision.

        Args:
            arrays: int64 (1, count), in order of arrival, none before the last one loaded.
            streams: int64 (count,), which stream each comes from.
            first_number: Number of the first of them among all that ever arrived.
            b: The run.
        """
        add_tasks(*self.engine_arguments, arrays, streams, first_number, b)


@in_place
def remove_finished(
    state: State, words: NDArray[np.int64], moved: NDArray[np.int64], b: int
) -> None:
    """Close the gaps that finished, dropped and rejected tasks leave; the others keep their order.

    Args:
        state: ``State``; written in place.
        words: The memory of ``state.task``, int64 (B, N, words).
        moved: Working space, (N,).
        b: The environment.
    """
    env = state.env[b]
    kept, of_arrived, of_admitted = 0, 0, 0
    for index in range(env["num_tasks"]):
        moved[index] = kept
        if index < env["arrived"] and state.task[b, index]["completion_cycles"] != NONE:
            of_arrived += 1
            of_admitted += index < env["admitted"]
            continue
        if kept < index:
            for word in range(words.shape[2]):
                words[b, kept, word] = words[b, index, word]
        kept += 1
    for slot in range(state.slots.shape[1]):
        if state.slots[b, slot] != NONE:
            state.slots[b, slot] = moved[state.slots[b, slot]]
    env["num_tasks"] = kept
    env["arrived"] -= of_arrived
    env["admitted"] -= of_admitted
    env["finished"] -= of_admitted


@in_place
def add_tasks(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    workload: WorkloadArrays,
    streams: NDArray[np.int64],
    first_number: int,
    b: int,
) -> None:
    """Do what :meth:`StreamSimulator.add` does."""
    env = state.env[b]
    for i in range(streams.shape[0]):
        task = state.task[b, env["num_tasks"]]
        add_task(task, table, options, workload, 0, i)
        task["stream"] = streams[i]
        task["number"] = first_number + i
        env["num_tasks"] += 1
    wake = env["status"] == SHORT_AWAKE
    env["status"] = ASKING
    if env["runner"] == NONE and not wake:  # the beginning
        spend(state, b, NONE, IDLE, state.task[b, 0]["arrival_cycles"])
    arrived = take_arrivals(state, b, options)
    play_on(state, b, options, wake or arrived)
    observe(state, b, table, options)
