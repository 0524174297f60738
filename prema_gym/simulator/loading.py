"""How does an environment begin? Compiled: a workload's tasks at time 0, nothing done yet."""

from __future__ import annotations

from numba import literal_unroll

from prema_gym.compiled.jit import inlined
from prema_gym.compiled.straight import straight_line
from prema_gym.hardware.layout import AT_END, ProfileTable
from prema_gym.hardware.locate import first_segment
from prema_gym.simulator.clock import spend, take_arrivals
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.rules import Record, layer_cycles, observe
from prema_gym.simulator.state import ASKING, ENV_DTYPE, IDLE, NONE, TASK_INPUTS, State
from prema_gym.simulator.wakeups import play_on
from prema_gym.workloads.workload import WorkloadArrays

_ENV_FIELDS = ENV_DTYPE.names or ()

# Task ``i`` of row ``k`` of a workload, into its record.
_copy_inputs = straight_line(
    "copy_inputs",
    "task, workload, k, i",
    "task['{field}'] = workload.{field}[k, i]",
    TASK_INPUTS,
)


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
    _clear_env(state, b, workload.num_tasks[k])
    for i in range(workload.num_tasks[k]):
        task = state.task[b, i]
        _copy_inputs(task, workload, k, i)
        _clear_task(task, options.oracle)
        task["next_layer_cycles"] = layer_cycles(
            table, options, first_segment(table, task["profile"])
        )
    spend(state, b, NONE, IDLE, state.task[b, 0]["arrival_cycles"])
    take_arrivals(state, b)
    play_on(state, b, options, True)
    observe(state, b, table, options)


@inlined
def _clear_env(state: State, b: int, num_tasks: int) -> None:
    """Set an environment to time 0 with nothing present."""
    env = state.env[b]
    state.slots[b, :] = NONE
    for name in literal_unroll(_ENV_FIELDS):
        env[name] = 0
    env["status"] = ASKING
    env["num_tasks"] = num_tasks
    env["runner"] = NONE
    env["drain_slot"] = NONE


@inlined
def _clear_task(task: Record, oracle: bool) -> None:
    """Reset what happened to a task, and fix what the scheduler is shown of it."""
    task["first_run_cycles"] = NONE
    task["completion_cycles"] = NONE
    task["executed_cycles"] = 0
    task["killed_cycles"] = 0
    task["dispatches"] = 0
    task["checkpoints"] = 0
    task["kills"] = 0
    task["drains"] = 0
    task["checkpoint_cycles"] = 0
    task["restore_cycles"] = 0
    task["host_moves"] = 0
    task["shown_cycles"] = task["isolated_cycles"] if oracle else task["estimated_cycles"]
    task["token_waited_cycles"] = 0
    task["stopped_cycles"] = task["arrival_cycles"]
    task["context_bytes"] = 0
    task["resume_cycles"] = 0
    task["order"] = 0
    task["segment"] = AT_END
    task["on_host"] = 0
    task["token"] = task["priority"]
