"""How are the engine and the reference given one and the same case, and compared?

A ``Case`` is plain data. ``play_reference`` and ``play_engine`` each turn it into what their side
takes: tiles written out one by one, or segments. Nothing is translated from one side to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.layout import ProfileTable
from prema_gym.hardware.profile import build_profile, stack_profiles
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Network, Phase
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.work import Gemm, VectorWork
from prema_gym.simulator import (
    COLUMNS,
    NONE,
    ORDER,
    PRESENT,
    RUNNING,
    SLICE_KINDS,
    SchedulerOptions,
    Simulator,
)
from prema_gym.simulator.state import DROPPED, REJECTED
from prema_gym.workloads.fields import TASK_TABLE
from prema_gym.workloads.workload import Workload, WorkloadBatch
from tests.reference import Policy, ReferenceSimulator, TaskSpec, Tile, network_tiles

# What the engine writes in place of a completion.
GONE = {None: NONE, "dropped": DROPPED, "rejected": REJECTED}
# The engine's name of each task record, and the reference's.
TASK_RECORDS: dict[str, Callable[[Any], int]] = {
    "arrival_cycles": lambda task: task.spec.arrival,
    "first_run_cycles": lambda task: NONE if task.first_run is None else task.first_run,
    "completion_cycles": lambda task: (
        GONE[task.gone] if task.completion is None else task.completion
    ),
    "executed_cycles": lambda task: task.executed,
    "killed_cycles": lambda task: task.killed,
    "dispatches": lambda task: task.dispatches,
    "checkpoints": lambda task: task.checkpoints,
    "kills": lambda task: task.kills,
    "drains": lambda task: task.drains,
    "checkpoint_cycles": lambda task: task.checkpoint_cycles,
    "restore_cycles": lambda task: task.restore_cycles,
    "host_moves": lambda task: task.host_moves,
}
ENV_COUNTERS = {
    "busy_cycles": "busy",
    "switching_cycles": "switching",
    "idle_cycles": "idle",
    "decisions": "decisions",
    "wakeups": "wakeups",
    "illegal_actions": "illegal",
}


# A small machine with round numbers, for cases worked by hand (see test_contract.py).
MACHINE = NPUConfig(
    array_rows=4,
    array_cols=4,
    accumulator_rows=8,
    vector_lanes=4,
    clock_hz=1_000,
    ubuf_bytes=128,
    wbuf_bytes=64,
    dram_bytes=100_000,
    dram_bytes_per_s=16_000,
    dram_latency_cycles=4,
    host_link_bytes_per_s=4_000,
)


@dataclass(frozen=True)
class Works(Layer):
    """A layer given by its work items, whatever the batch."""

    works: tuple[Gemm | VectorWork, ...]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return ()

    @property
    def output_shape(self) -> tuple[int, ...]:
        return ()

    def work(self, batch: int) -> tuple[Gemm | VectorWork, ...]:
        return self.works


@dataclass(frozen=True)
class Net:
    """What a profile needs of a network: a name and phases, whatever the input length."""

    name: str
    layout: tuple[Phase, ...]

    def phases(self, input_length: int) -> tuple[Phase, ...]:
        return self.layout


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task asked for; times in cycles."""

    net: int  # position in the case's networks
    arrival: int
    priority: int = 1
    batch_size: int = 1
    output_length: int = 1
    estimated: int | None = None  # None: its isolated time
    deadline: int | None = None  # None: its arrival and twice its isolated time


@dataclass(frozen=True, kw_only=True)
class Case:
    """A machine, networks, tasks in order of arrival, and every option of the simulation."""

    config: NPUConfig
    nets: tuple[Net, ...]
    tasks: tuple[Task, ...]
    slots: int = 4
    mechanisms: tuple[str, ...] = ("checkpoint",)
    quantum_cycles: int = 1_000_000
    token_wait: str = "since_wakeup"
    sticky_drain: bool = False
    estimate: str = "algorithm1"
    only_when_free: bool = False
    max_decisions: int | None = None
    horizon_cycles: int | None = None
    drop: str = "never"
    queue_limit: int | None = None


@dataclass
class Outcome:
    """Everything one side says about a case."""

    tasks: list[dict[str, int]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    timeline: list[tuple[str, int, int, int]] = field(default_factory=list)
    # What was shown at each decision, and last what is shown at the end; the counters there.
    questions: list[tuple[NDArray[np.float32], NDArray[np.bool_]]] = field(default_factory=list)
    at_questions: list[dict[str, int]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    truncated: bool = False


# --- the reference's side -----------------------------------------------------------------------


@lru_cache(maxsize=64)
def tiles_of(config: NPUConfig, net: Net, batch_size: int, output_length: int) -> tuple[Tile, ...]:
    """A task's tiles one by one; kept, since many tasks run the same."""
    phases = net.phases(1)
    return tuple(
        network_tiles(
            config, phases, batch=batch_size, output_length=output_length, expect=expected_layer
        )
    )


def expected_layer(layer: Any) -> int:
    """A scheduler's guess at a layer that is not its true time; 0 without a GEMM."""
    return sum(work.macs for work in layer.work(1) if isinstance(work, Gemm)) // 3


def factor(net: int, batch_size: int) -> float:
    """A calibration that differs from kind to kind."""
    return 0.4 + 0.7 * net + 0.13 * batch_size


def case_tiles(case: Case, task: Task) -> tuple[Tile, ...]:
    return tiles_of(case.config, case.nets[task.net], task.batch_size, task.output_length)


def task_specs(case: Case) -> list[TaskSpec]:
    specs = []
    for task in case.tasks:
        tiles = case_tiles(case, task)
        isolated = sum(tile.cycles for tile in tiles)
        due = task.arrival + 2 * isolated
        specs.append(
            TaskSpec(
                arrival=task.arrival,
                priority=task.priority,
                tiles=tiles,
                estimated=isolated if task.estimated is None else task.estimated,
                deadline=due if task.deadline is None else task.deadline,
                batch_size=task.batch_size,
                calibration=factor(task.net, task.batch_size),
            )
        )
    return specs


def play_reference(case: Case, policy: Policy) -> Outcome:
    simulator = ReferenceSimulator(
        case.config,
        task_specs(case),
        slots=case.slots,
        mechanisms=case.mechanisms,
        quantum_cycles=case.quantum_cycles,
        token_wait=case.token_wait,
        sticky_drain=case.sticky_drain,
        estimate=case.estimate,
        only_when_free=case.only_when_free,
        max_decisions=case.max_decisions,
        horizon_cycles=case.horizon_cycles,
        drop=case.drop,
        queue_limit=case.queue_limit,
    ).run(policy)

    def counters(now: int, source: Any) -> dict[str, int]:
        return {"now_cycles": now} | {
            theirs: getattr(source, ours) for theirs, ours in ENV_COUNTERS.items()
        }

    outcome = Outcome(
        tasks=[
            {name: read(task) for name, read in TASK_RECORDS.items()}
            | {"waited_cycles": task.waited(max(simulator.now, task.spec.arrival))}
            for task in simulator.tasks
        ],
        counters=counters(simulator.now, simulator.counters),
        timeline=[
            (piece.kind, NONE if piece.task is None else piece.task, piece.start, piece.end)
            for piece in simulator.timeline
        ],
        questions=[(asked.observation, asked.mask) for asked in simulator.decisions],
        at_questions=[counters(asked.now, asked.counters) for asked in simulator.decisions],
        actions=[asked.action for asked in simulator.decisions],
        truncated=simulator.truncated,
    )
    assert simulator.observation is not None
    assert simulator.mask is not None
    outcome.questions.append((simulator.observation, simulator.mask))
    outcome.at_questions.append(outcome.counters)
    return outcome


# --- the engine's side --------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _table(
    config: NPUConfig, nets: tuple[Net, ...], kinds: tuple[tuple[int, int], ...]
) -> tuple[ProfileTable, tuple[Any, ...]]:
    profiles = tuple(
        build_profile(config, cast(Network, nets[net]), batch=batch, expect=expected_layer)
        for net, batch in kinds
    )
    factors = np.array([factor(net, batch) for net, batch in kinds])
    return stack_profiles(config, profiles)._replace(calibration=factors), profiles


def workload(case: Case) -> tuple[ProfileTable, Workload]:
    """The case's profile table, and its tasks as arrays."""
    kinds = tuple(sorted({(task.net, task.batch_size) for task in case.tasks}))
    table, profiles = _table(case.config, case.nets, kinds)
    rows = []
    for task in case.tasks:
        profile = kinds.index((task.net, task.batch_size))
        isolated = profiles[profile].total_cycles(task.output_length)
        rows.append(
            {
                "arrival_cycles": task.arrival,
                "profile": profile,
                "output_length": task.output_length,
                "priority": task.priority,
                "batch_size": task.batch_size,
                "network": task.net,
                "isolated_cycles": isolated,
                "estimated_cycles": isolated if task.estimated is None else task.estimated,
                "deadline_cycles": (
                    task.arrival + 2 * isolated if task.deadline is None else task.deadline
                ),
            }
        )
    # A field that changes nothing in the engine needs no line above.
    columns = {
        name: np.array([row.get(name, one.least) for row in rows], np.int64)
        for name, one in TASK_TABLE.items()
    }
    return table, Workload(**columns)


def make_simulator(
    case: Case, table: ProfileTable, *, num_envs: int = 1, record_timeline: bool = True
) -> Simulator:
    """The public façade, on a machine and networks that no scenario names."""
    scenario = SimpleNamespace(
        num_tasks=len(case.tasks),
        hardware=case.config,
        quantum_cycles=case.quantum_cycles,
        drop=case.drop,
        queue_limit=case.queue_limit,
    )
    horizon = case.horizon_cycles
    return Simulator(
        SimpleNamespace(scenario=scenario, table=table),  # type: ignore[arg-type]
        num_envs=num_envs,
        slots=case.slots,
        mechanisms=case.mechanisms,
        options=SchedulerOptions(token_wait=case.token_wait, sticky_drain=case.sticky_drain),
        estimate=case.estimate,
        only_when_free=case.only_when_free,
        record_timeline=record_timeline,
        max_decisions=case.max_decisions,
        horizon_ms=None if horizon is None else horizon * 1e3 / case.config.clock_hz,
    )


def load(simulator: Simulator, workloads: Sequence[Workload]) -> None:
    """Start workload i in environment i; unchecked, since no catalog was compiled for them."""
    rows = np.arange(len(workloads), dtype=np.int64)
    simulator.load_arrays(WorkloadBatch.of(workloads).arrays, rows)


def env_counters(simulator: Simulator, env: int = 0) -> dict[str, int]:
    names = ["now_cycles", *ENV_COUNTERS]
    return {name: int(simulator.env[name][env]) for name in names}


def task_records(simulator: Simulator, env: int = 0) -> list[dict[str, int]]:
    waited = simulator.waited_cycles
    return [
        {name: int(simulator.tasks[name][env, task]) for name in TASK_RECORDS}
        | {"waited_cycles": int(waited[env, task])}
        for task in range(int(simulator.env["num_tasks"][env]))
    ]


def timeline(simulator: Simulator, env: int = 0) -> list[tuple[str, int, int, int]]:
    return [
        (SLICE_KINDS[kind], int(task), int(start), int(end))
        for task, kind, start, end in simulator.timeline(env)
    ]


def play_engine(case: Case, policy: Policy, *, record_timeline: bool = True) -> Outcome:
    table, tasks = workload(case)
    simulator = make_simulator(case, table, record_timeline=record_timeline)
    load(simulator, [tasks])
    outcome = Outcome()
    while True:
        asked = (simulator.observation[0].copy(), simulator.mask[0].copy())
        outcome.questions.append(asked)
        outcome.at_questions.append(env_counters(simulator))
        if simulator.done[0]:
            break
        action = int(policy(asked[0].copy(), asked[1].copy()))
        outcome.actions.append(action)
        simulator.step(np.array([action]))
    outcome.tasks = task_records(simulator)
    outcome.counters = env_counters(simulator)
    outcome.truncated = bool(simulator.truncated[0])
    if record_timeline:
        outcome.timeline = timeline(simulator)
    return outcome


# --- playing ------------------------------------------------------------------------------------


def first_come(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
    """Continue what runs, else run the earliest arrival."""
    running = np.flatnonzero(observation[:, RUNNING])
    if running.size:
        return int(running[0])
    present = observation[:, PRESENT] > 0
    return int(np.argmin(np.where(present, observation[:, ORDER], np.inf)))


def replay(actions: Sequence[int]) -> Policy:
    """The same answers again; an extra question is answered with 0, and found by comparing."""
    left = list(actions)

    def answer(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        return left.pop(0) if left else 0

    return answer


# --- comparing ----------------------------------------------------------------------------------


def first_difference(reference: Outcome, engine: Outcome) -> str | None:
    """The first place, in order of time, where the two disagree; None if they do not."""
    asked = zip(reference.questions, engine.questions, strict=False)
    for number, ((table, mask), (their_table, their_mask)) in enumerate(asked):
        counters, theirs = reference.at_questions[number], engine.at_questions[number]
        for name, value in counters.items():
            if value != theirs[name]:
                return f"question {number}: {name} is {value}, the engine says {theirs[name]}"
        for slot, column in np.argwhere(table != their_table):
            return (
                f"question {number} at {counters['now_cycles']}: slot {slot} "
                f"{COLUMNS[column].name} is {table[slot, column]!r}, "
                f"the engine shows {their_table[slot, column]!r}"
            )
        if not np.array_equal(mask, their_mask):
            return f"question {number}: mask is {mask}, the engine's is {their_mask}"
    for index, (task, their_task) in enumerate(zip(reference.tasks, engine.tasks, strict=True)):
        for name, value in task.items():
            if value != their_task[name]:
                return f"task {index}: {name} is {value}, the engine says {their_task[name]}"
    for name in ("counters", "timeline", "actions", "truncated"):
        ours, theirs_too = getattr(reference, name), getattr(engine, name)
        if ours != theirs_too:
            return f"{name}: {ours}, the engine says {theirs_too}"
    return None
