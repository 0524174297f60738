"""What is there to see of a simulation? One episode so far, as a picture needs it.

Times are milliseconds. Made from a simulator's records and timeline, so a picture shows what the
metrics are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.evaluation.recording import Decision, Preemption, Recording
from prema_gym.files import as_given
from prema_gym.metrics import IntArray
from prema_gym.networks import is_file
from prema_gym.simulator import NONE, SLICE_KINDS, Simulator


class Slice(NamedTuple):
    """A stretch of time in which the machine did one thing for one task.

    Attributes:
        kind: One of ``SLICE_KINDS``: "run", "checkpoint" or "restore"; the rest is idle time.
        start_ms: When it began.
        end_ms: When it ended.
    """

    kind: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """One task that has arrived.

    Attributes:
        index: Its number in the workload.
        network: Its network's name.
        batch_size: Inputs it works on at once.
        priority: Its priority weight.
        arrival_ms: When it arrived.
        end_ms: When it completed; now, if it has not.
        deadline_ms: When it should be done.
        finished: Whether it has completed.
        slices: When it ran, and when its context was saved and restored, in order of time.
    """

    index: int
    network: str
    batch_size: int
    priority: int
    arrival_ms: float
    end_ms: float
    deadline_ms: float
    finished: bool
    slices: tuple[Slice, ...]

    def spans(self, *kinds: str) -> list[tuple[float, float]]:
        """(start, end) of each slice of these kinds [ms]."""
        return [(start, end) for kind, start, end in self.slices if kind in kinds]

    @property
    def late(self) -> bool:
        """Whether its deadline passed before it completed."""
        return self.end_ms > self.deadline_ms

    @property
    def label(self) -> str:
        """What a row of a chart is called; of a network from a file without its folder."""
        network = Path(self.network).name if is_file(self.network) else self.network
        return f"{self.index} {network} ×{self.batch_size} π={self.priority}"


@dataclass(frozen=True, kw_only=True)
class EpisodeView:
    """An episode so far.

    Attributes:
        now_ms: Time.
        num_tasks: Tasks of the workload, also those that have not arrived.
        decisions: Decisions taken.
        tasks: The tasks that have arrived, in order of arrival.
        slots: Task in each slot, or None.
        running_slot: Slot of the running task, or None.
        timeline: Slices (task, kind, start, end), int64 (slices, 4) [cycles], in order of time.
        clock_hz: Cycles a second.
        title: Whose schedule of what this is; empty: not said.
        policy: Who decided; empty: not said.
        seed: The workload's; None: it was given, or not said.
        trail: Every decision, if they were recorded.
        preemptions: When tasks gave way, if decisions were recorded.
    """

    now_ms: float
    num_tasks: int
    decisions: int
    tasks: tuple[TaskView, ...]
    slots: tuple[int | None, ...]
    running_slot: int | None
    timeline: IntArray = field(compare=False)
    clock_hz: int
    title: str = ""
    policy: str = ""
    seed: int | None = None
    trail: tuple[Decision, ...] = ()
    preemptions: tuple[Preemption, ...] = ()

    @property
    def headline(self) -> str:
        """One line on where the episode stands."""
        return self.headline_at(self.now_ms)

    def headline_at(self, time_ms: float) -> str:
        """One line on where it stood at a time; of decisions, if they are on record."""
        now_ms = min(time_ms, self.now_ms)
        arrived = sum(task.arrival_ms <= now_ms for task in self.tasks)
        finished = sum(task.finished and task.end_ms <= now_ms for task in self.tasks)
        text = f"{now_ms:.3f} ms: {arrived} of {self.num_tasks} tasks have arrived, "
        text += f"{finished} finished"
        if now_ms == self.now_ms:
            return f"{text}, {self.decisions} decisions"
        cycles = now_ms * self.clock_hz / 1e3
        taken = sum(one.cycles <= cycles for one in self.trail)
        return f"{text}, {taken} decisions" if self.trail else text


def view(simulator: Simulator, row: int) -> EpisodeView:
    """Read one environment of a simulator that keeps a timeline.

    Raises:
        ConfigError: It keeps none.
    """
    return episode_of(
        simulator.env[row],
        simulator.tasks[row],
        simulator.timeline(row),
        simulator.occupants(row),
        networks=simulator.catalog.scenario.networks,
        clock_hz=simulator.catalog.hardware.clock_hz,
    )


def view_recorded(recording: Recording, title: str = "", *, seed: int | None = None) -> EpisodeView:
    """Read a recorded workload: its end, with every decision on the way there.

    Args:
        recording: The workload under one policy.
        title: Whose schedule of what this is; empty: the policy's name.
        seed: The workload's; None: it was given.
    """
    return replace(
        view(recording.simulator, 0),
        title=title or recording.policy,
        policy=recording.policy,
        seed=seed,
        trail=tuple(recording.decisions),
        preemptions=tuple(recording.preemptions()),
    )


def episode_of(
    env: np.void,
    tasks: NDArray[np.void],
    timeline: IntArray,
    occupants: IntArray,
    *,
    networks: Sequence[str],
    clock_hz: int,
) -> EpisodeView:
    """Put an episode together from its plain records.

    Args:
        env: Clock and counters, one record (``state.ENV_DTYPE``).
        tasks: Task records (N,) (``state.TASK_DTYPE``).
        timeline: Slices (task, kind, start, end), int64 (slices, 4) [cycles].
        occupants: Index of the task in each slot, ``NONE`` where there is none, int64 (S,).
        networks: Names that the tasks' networks are numbers of.
        clock_hz: Cycles a second.
    """
    ms = 1e3 / clock_hz
    arrived = []
    slices = _slices_by_task(timeline, int(env["num_tasks"]), ms)
    for index in range(int(env["arrived"])):
        task = tasks[index]
        finished = task["completion_cycles"] != NONE
        arrived.append(
            TaskView(
                index=index,
                network=as_given(networks[int(task["network"])]),
                batch_size=int(task["batch_size"]),
                priority=int(task["priority"]),
                arrival_ms=float(task["arrival_cycles"] * ms),
                end_ms=float((task["completion_cycles"] if finished else env["now_cycles"]) * ms),
                deadline_ms=float(task["deadline_cycles"] * ms),
                finished=bool(finished),
                slices=slices[index],
            )
        )
    return EpisodeView(
        now_ms=float(env["now_cycles"] * ms),
        num_tasks=int(env["num_tasks"]),
        decisions=int(env["decisions"]),
        tasks=tuple(arrived),
        slots=tuple(None if index == NONE else int(index) for index in occupants),
        running_slot=None if env["runner"] == NONE else int(env["runner"]),
        timeline=timeline,
        clock_hz=clock_hz,
    )


def _slices_by_task(timeline: IntArray, num_tasks: int, ms: float) -> list[tuple[Slice, ...]]:
    """The slices of every task, in order of time."""
    found: list[list[Slice]] = [[] for _ in range(num_tasks)]
    for task, kind, start, end in timeline.tolist():
        if task != NONE:
            found[task].append(Slice(SLICE_KINDS[kind], start * ms, end * ms))
    return [tuple(slices) for slices in found]
