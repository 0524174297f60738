"""What is there to see of a simulation? One episode so far, as a picture needs it.

Times are milliseconds. Read off the simulator's records and timeline, so a picture shows what the
metrics are computed from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prema_gym.metrics import IntArray
from prema_gym.networks import is_file
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.state import CHECKPOINTING, NONE, RESTORING, RUN


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
        runs: (start, end) of each run.
        checkpoints: (start, end) of each save of its context.
        restores: (start, end) of each restore.
    """

    index: int
    network: str
    batch_size: int
    priority: int
    arrival_ms: float
    end_ms: float
    deadline_ms: float
    finished: bool
    runs: tuple[tuple[float, float], ...]
    checkpoints: tuple[tuple[float, float], ...]
    restores: tuple[tuple[float, float], ...]

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
    """

    now_ms: float
    num_tasks: int
    decisions: int
    tasks: tuple[TaskView, ...]
    slots: tuple[int | None, ...]
    running_slot: int | None

    @property
    def headline(self) -> str:
        """One line on where the episode stands."""
        finished = sum(task.finished for task in self.tasks)
        return (
            f"{self.now_ms:.3f} ms: {len(self.tasks)} of {self.num_tasks} tasks have arrived, "
            f"{finished} finished, {self.decisions} decisions"
        )


def view(simulator: Simulator, row: int) -> EpisodeView:
    """Read one environment of a simulator that keeps a timeline.

    Raises:
        ConfigError: It keeps none.
    """
    env, tasks = simulator.env[row], simulator.tasks[row]
    ms = 1e3 / simulator.catalog.hardware.clock_hz
    timeline = simulator.timeline(row)
    arrived = []
    for index in range(int(env["arrived"])):
        task = tasks[index]
        finished = task["completion_cycles"] != NONE
        own = timeline[timeline[:, 0] == index]
        arrived.append(
            TaskView(
                index=index,
                network=simulator.catalog.scenario.networks[int(task["network"])],
                batch_size=int(task["batch_size"]),
                priority=int(task["priority"]),
                arrival_ms=float(task["arrival_cycles"] * ms),
                end_ms=float((task["completion_cycles"] if finished else env["now_cycles"]) * ms),
                deadline_ms=float(task["deadline_cycles"] * ms),
                finished=bool(finished),
                runs=tuple(_slices(own, RUN, ms)),
                checkpoints=tuple(_slices(own, CHECKPOINTING, ms)),
                restores=tuple(_slices(own, RESTORING, ms)),
            )
        )
    return EpisodeView(
        now_ms=float(env["now_cycles"] * ms),
        num_tasks=int(env["num_tasks"]),
        decisions=int(env["decisions"]),
        tasks=tuple(arrived),
        slots=tuple(None if index == NONE else int(index) for index in simulator.occupants(row)),
        running_slot=None if env["runner"] == NONE else int(env["runner"]),
    )


def _slices(own: IntArray, kind: int, ms: float) -> Iterator[tuple[float, float]]:
    for _, _, start, end in own[own[:, 1] == kind].tolist():
        yield start * ms, end * ms
