"""How is a run played that has no end? `StreamSimulator`: tasks are loaded as those before arrive.

Time stops whenever it is not known who arrives next (`short`). The caller reads what has become of
the finished ones (``tasks``), has them removed (:meth:`StreamSimulator.make_room_for`), adds more
and lets it go on. What happens is what happens where all tasks are loaded from the start, to the
cycle; memory holds those in the system and the next few. A closed loop's requests are laid ready
without an arrival; the engine sends one whenever an answer has come and its client has thought.
Unchecked, like what it is made of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator.clock import make_place, spend, take_arrivals
from prema_gym.simulator.loading import add_task, clear_env
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.rules import observe
from prema_gym.simulator.state import (
    ASKING,
    IDLE,
    LOOP_FIELDS,
    LOOP_READY,
    LOOP_RESERVE,
    LOOP_SENT,
    LOOP_THOUGHT,
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
        """Remove the finished tasks of a run; see that ``count`` more can be added, or sent."""
        words, _ = self.words
        remove_finished(self._state, words, np.empty(self.max_tasks, np.int64), b)
        loops = self._state.loops[b]
        ready = int((loops[:, LOOP_READY] - loops[:, LOOP_SENT]).sum())
        needed = int(self._state.env["num_tasks"][b]) + ready + count
        if needed <= self.max_tasks:
            return
        task = aligned(np.zeros((self.num_envs, needed), TASK_DTYPE))
        room = task.view(np.int64).reshape(self.num_envs, needed, -1)
        room[:, : self.max_tasks] = words
        self.max_tasks = needed
        self._state = self._state._replace(task=task)
        self._words = None

    def add(self, arrays: WorkloadArrays, streams: NDArray[np.int64], b: int) -> None:
        """Load more tasks into a run for which there is room; time stands still.

        Args:
            arrays: int64 (1, count), none earlier than what has been played.
            streams: int64 (count,), which stream each comes from.
            b: The run.
        """
        add_tasks(*self.engine_arguments, arrays, streams, b)

    def close_loops(self, reserves: NDArray[np.int64], most_ready: int) -> None:
        """Say which streams are closed loops, before anything is loaded.

        Args:
            reserves: int64 (streams,), time stops when fewer requests lie ready; 0: no closed loop.
            most_ready: Requests that do at most.
        """
        shape = self.num_envs, reserves.size
        loops = np.zeros((*shape, LOOP_FIELDS), np.int64)
        loops[..., LOOP_RESERVE] = reserves
        upcoming = np.zeros((*shape, most_ready), TASK_DTYPE)
        self._state = self._state._replace(upcoming=upcoming, loops=loops)

    def thinking(self, b: int) -> NDArray[np.int64]:
        """Requests that closed loops have sent after an answer, and the think times before them.

        Returns:
            int64 (streams, 2), the latter a sum [cycles]; (0, 2) without a closed loop.
        """
        return np.array(self._state.loops[b][:, [LOOP_SENT, LOOP_THOUGHT]])

    def to_prepare(self, stream: int, b: int) -> int:
        """How many requests of a closed loop can be laid ready."""
        loop = self._state.loops[b, stream]
        lying = int(loop[LOOP_READY] - loop[LOOP_SENT])
        return self._state.upcoming.shape[2] - lying if loop[LOOP_RESERVE] else 0

    def prepare(self, arrays: WorkloadArrays, stream: int, b: int) -> None:
        """Lay requests of a closed loop ready, to be sent when answers come.

        Args:
            arrays: int64 (1, count), no more than :meth:`to_prepare`; their clock starts with the
                think time before each.
            stream: Which.
            b: The run.
        """
        prepare_tasks(*self.engine_arguments, arrays, stream, b)

    def go_on(self, known_cycles: int, stop_number: int, b: int) -> None:
        """Play a run on to a decision, or until it is short.

        Args:
            known_cycles: Time from which on more arrivals must be loaded.
            stop_number: Stop when so many tasks have ever arrived.
            b: The run.
        """
        play_further(*self.engine_arguments, known_cycles, stop_number, b)


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
    b: int,
) -> None:
    """Do what :meth:`StreamSimulator.add` does."""
    for i in range(streams.shape[0]):
        place = make_place(state, b, workload.arrival_cycles[0, i])
        add_task(state.task[b, place], table, options, workload, 0, i)
        state.task[b, place]["stream"] = streams[i]


@in_place
def prepare_tasks(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    workload: WorkloadArrays,
    stream: int,
    b: int,
) -> None:
    """Do what :meth:`StreamSimulator.prepare` does."""
    for i in range(workload.num_tasks[0]):
        ready = state.loops[b, stream, LOOP_READY]
        task = state.upcoming[b, stream, ready % state.upcoming.shape[2]]
        add_task(task, table, options, workload, 0, i)
        task["stream"] = stream
        state.loops[b, stream, LOOP_READY] = ready + 1


@in_place
def play_further(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    known_cycles: int,
    stop_number: int,
    b: int,
) -> None:
    """Do what :meth:`StreamSimulator.go_on` does."""
    env = state.env[b]
    env["known_cycles"] = known_cycles
    env["stop_number"] = stop_number
    wake = env["status"] == SHORT_AWAKE
    env["status"] = ASKING
    if env["runner"] == NONE and not wake:  # the beginning
        spend(state, b, NONE, IDLE, state.task[b, 0]["arrival_cycles"])
    arrived = take_arrivals(state, b, options)
    play_on(state, b, options, wake or arrived)
    observe(state, b, table, options)
