"""How does an environment begin? Compiled: a workload's tasks at time 0, nothing done yet."""

from __future__ import annotations

from prema_gym.compiled.jit import inlined
from prema_gym.compiled.straight import straight_line
from prema_gym.hardware.layout import AT_END, ProfileTable
from prema_gym.hardware.locate import first_segment
from prema_gym.simulator.clock import spend, take_arrivals
from prema_gym.simulator.options import EngineOptions, Shown
from prema_gym.simulator.rules import Record, calibrated_cycles, layer_cycles, observe
from prema_gym.simulator.state import (
    ASKING,
    ENV_DTYPE,
    IDLE,
    NONE,
    TASK_INPUTS,
    TASK_MOVING,
    State,
)
from prema_gym.simulator.wakeups import play_on
from prema_gym.workloads.workload import WorkloadArrays

_CALIBRATED, _ORACLE = int(Shown.CALIBRATED), int(Shown.ORACLE)

# Task ``i`` of row ``k`` of a workload, into its record.
_copy_inputs = straight_line(
    "copy_inputs",
    "task, workload, k, i",
    "task['{field}'] = workload.{field}[k, i]",
    TASK_INPUTS,
)
_zero_env = straight_line("zero_env", "env", "env['{field}'] = 0", ENV_DTYPE.names or ())
_zero_task = straight_line("zero_task", "task", "task['{field}'] = 0", TASK_MOVING)


@inlined
def start_one(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    workload: WorkloadArrays,
    k: int,
    b: int,
) -> None:
    """Load row ``k`` of ``workload`` into environment ``b`` and play to its first decision."""
    clear_env(state, b, workload.num_tasks[k])
    for i in range(workload.num_tasks[k]):
        add_task(state.task[b, i], table, options, workload, k, i)
    spend(state, b, NONE, IDLE, state.task[b, 0]["arrival_cycles"])
    take_arrivals(state, b, options)
    play_on(state, b, options, True)
    observe(state, b, table, options)


@inlined
def add_task(
    task: Record,
    table: ProfileTable,
    options: EngineOptions,
    workload: WorkloadArrays,
    k: int,
    i: int,
) -> None:
    """Make task ``i`` of row ``k`` of a workload one to which nothing has happened yet."""
    _copy_inputs(task, workload, k, i)
    _clear_task(task, table, options)
    profile = task["profile"]
    first = first_segment(table, profile)
    task["next_layer_cycles"] = layer_cycles(table, options, profile, first)


@inlined
def clear_env(state: State, b: int, num_tasks: int) -> None:
    """Set an environment to time 0 with nothing present."""
    env = state.env[b]
    state.slots[b, :] = NONE
    _zero_env(env)
    env["status"] = ASKING
    env["num_tasks"] = num_tasks
    env["runner"] = NONE
    env["drain_slot"] = NONE


@inlined
def _clear_task(task: Record, table: ProfileTable, options: EngineOptions) -> None:
    """Reset what happened to a task, and fix what the scheduler is shown of it."""
    _zero_task(task)
    task["first_run_cycles"] = NONE
    task["completion_cycles"] = NONE
    shown = task["estimated_cycles"]
    if options.estimate == _ORACLE:
        shown = task["isolated_cycles"]
    elif options.estimate == _CALIBRATED:
        shown = calibrated_cycles(table, task["profile"], shown)
    task["shown_cycles"] = shown
    task["stopped_cycles"] = task["arrival_cycles"]
    task["segment"] = AT_END
    task["token"] = task["priority"]
