"""Plays a hand-made workload under a policy, on the engine and on the slow reference alike.

One cycle is one millisecond, memory is infinitely fast and a task is a chain of one-tile layers:
with ``tile=1`` a task can be preempted at every cycle for nothing, so schedules can be worked out
on paper. With ``costly`` each task is one layer and memory has a latency of one cycle: its first
tile waits one cycle for its load, and saving or restoring a context takes one cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple, cast

import numpy as np

from prema_gym import baselines
from prema_gym.evaluation.playing import finish as play_to_the_end
from prema_gym.evaluation.policy import Decider
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.profile import build_profile, stack_profiles
from prema_gym.networks.network import Network
from prema_gym.networks.work import VectorWork
from prema_gym.simulator import SchedulerOptions, Simulator
from prema_gym.workloads.fields import TASK_TABLE
from prema_gym.workloads.workload import Workload, WorkloadBatch
from tests.reference import ReferenceSimulator, TaskSpec, Tile

NEVER = 1_000  # a quantum longer than any schedule here
OUTPUT_BYTES = 2  # of one tile: one element


class Task(NamedTuple):
    """Times in cycles; ``length`` is a multiple of ``tile``."""

    arrival: int
    length: int
    priority: int = 1
    estimate: int | None = None  # None: exact
    tile: int = 1


class Schedule(NamedTuple):
    """What happened, a number per task."""

    completions: tuple[int, ...]
    checkpoints: tuple[int, ...]
    kills: tuple[int, ...]
    drains: tuple[int, ...]


def play(
    name: str,
    tasks: Sequence[Task],
    *,
    quantum: int = NEVER,
    mechanisms: tuple[str, ...] | None = None,
    sticky_drain: bool = False,
    costly: bool = False,
    slots: int = 4,
) -> Schedule:
    """Play ``tasks`` (in order of arrival) under the policy on both, and see that they agree."""
    policy = baselines.make(name, mechanisms=mechanisms)
    simulator = loaded(
        tasks,
        quantum=quantum,
        mechanisms=policy.mechanisms,
        sticky_drain=sticky_drain,
        costly=costly,
        slots=slots,
    )
    engine = finish(simulator, policy)
    reference = _reference(policy, tasks, _machine(costly), quantum, sticky_drain, costly, slots)
    assert engine == reference
    return engine


def _machine(costly: bool) -> NPUConfig:
    return NPUConfig(
        clock_hz=1_000,  # one cycle a millisecond
        dram_bytes_per_s=math.inf,
        host_link_bytes_per_s=math.inf,
        dram_latency_cycles=int(costly),
    )


def loaded(
    tasks: Sequence[Task],
    *,
    quantum: int = NEVER,
    mechanisms: tuple[str, ...] = ("checkpoint",),
    sticky_drain: bool = False,
    costly: bool = False,
    slots: int = 4,
) -> Simulator:
    """A simulator at the first decision of ``tasks``."""
    config = _machine(costly)
    networks = [_network(task, costly) for task in tasks]
    profiles = [build_profile(config, cast(Network, network), batch=1) for network in networks]
    isolated = [profile.total_cycles() for profile in profiles]
    assert isolated == [task.length for task in tasks]

    def column(values: Sequence[int]) -> np.ndarray:
        return np.array(values, np.int64)

    columns = {name: column([one.least] * len(tasks)) for name, one in TASK_TABLE.items()} | {
        "arrival_cycles": column([task.arrival for task in tasks]),
        "profile": np.arange(len(tasks)),
        "priority": column([task.priority for task in tasks]),
        "network": np.arange(len(tasks)),
        "isolated_cycles": column(isolated),
        "estimated_cycles": column([_estimate(task) for task in tasks]),
        "deadline_cycles": column([_deadline(task) for task in tasks]),
    }
    workload = Workload(**columns)
    catalog = SimpleNamespace(
        scenario=SimpleNamespace(
            num_tasks=len(tasks),
            hardware=config,
            quantum_cycles=quantum,
            drop="never",
            queue_limit=None,
        ),
        table=stack_profiles(config, profiles),
        check=lambda workloads: None,  # costs as the profiles say, see `isolated`
    )
    simulator = Simulator(
        catalog,  # type: ignore[arg-type]
        slots=slots,
        mechanisms=mechanisms,
        options=SchedulerOptions(sticky_drain=sticky_drain),
    )
    simulator.load(WorkloadBatch.of([workload]))
    return simulator


def finish(simulator: Simulator, policy: Decider) -> Schedule:
    """Play a simulator with one environment to the end; every action must be legal."""
    play_to_the_end(simulator, policy)
    assert simulator.env["illegal_actions"][0] == 0
    records = simulator.tasks[0]
    return Schedule(
        *(
            tuple(int(value) for value in records[field])
            for field in ("completion_cycles", "checkpoints", "kills", "drains")
        )
    )


def _reference(
    policy: baselines.Policy,
    tasks: Sequence[Task],
    config: NPUConfig,
    quantum: int,
    sticky_drain: bool,
    costly: bool,
    slots: int,
) -> Schedule:
    specs = [
        TaskSpec(
            arrival=task.arrival,
            priority=task.priority,
            tiles=_tiles(task, costly),
            estimated=_estimate(task),
            deadline=_deadline(task),
        )
        for task in tasks
    ]
    state = None

    def act(observation: np.ndarray, mask: np.ndarray) -> int:
        nonlocal state
        action, state = policy.predict(observation, state)
        return int(action)

    simulator = ReferenceSimulator(
        config,
        specs,
        slots=slots,
        mechanisms=policy.mechanisms,
        quantum_cycles=quantum,
        sticky_drain=sticky_drain,
    ).run(act)
    played = simulator.tasks
    return Schedule(
        tuple(-1 if task.completion is None else task.completion for task in played),
        tuple(task.checkpoints for task in played),
        tuple(task.kills for task in played),
        tuple(task.drains for task in played),
    )


def _network(task: Task, costly: bool) -> SimpleNamespace:
    """What a profile needs of a network: phases of layers made of work."""
    # One element is one lane's work; the first tile of a costly task waits one cycle for its load.
    tiles = task.length - 1 if costly else task.length // task.tile
    work = VectorWork("tile", 1, task.tile, input_elements=0, count=tiles if costly else 1)
    layer = SimpleNamespace(name="layer", work=lambda batch: (work,))
    phase = SimpleNamespace(layers=(layer,), repeat=1 if costly else tiles)
    return SimpleNamespace(name="hand-made", phases=lambda input_length: (phase,))


def _tiles(task: Task, costly: bool) -> list[Tile]:
    """The same, tile by tile, as the reference takes it."""
    count = task.length - 1 if costly else task.length // task.tile
    return [
        Tile(
            cycles=2 if costly and i == 0 else task.tile,
            load_bytes=0,
            output_bytes=OUTPUT_BYTES,
            starts_layer=i == 0 or not costly,
            ends_layer=i == count - 1 or not costly,
            layer_cycles=task.length if costly else task.tile,
            layer_expected=task.length if costly else task.tile,
        )
        for i in range(count)
    ]


def _estimate(task: Task) -> int:
    return task.length if task.estimate is None else task.estimate


def _deadline(task: Task) -> int:
    return task.arrival + 2 * task.length
