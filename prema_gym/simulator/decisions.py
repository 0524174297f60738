"""What does one decision do? Compiled: continue, start, or preempt by a mechanism.

All functions work in place on environment ``b`` of the batch. Times are int64 cycles.
"""

from __future__ import annotations

from prema_gym.compiled.jit import inlined
from prema_gym.hardware.layout import SWITCH_CYCLES, ProfileTable
from prema_gym.hardware.locate import first_segment
from prema_gym.simulator.clock import run_for, spend, take_arrivals
from prema_gym.simulator.mechanisms import Mechanism
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.rules import earliest_slot, is_legal, layer_cycles
from prema_gym.simulator.state import CHECKPOINTING, NONE, RESTORING, State

_DRAIN = int(Mechanism.DRAIN)
_KILL = int(Mechanism.KILL)


@inlined
def act(state: State, b: int, table: ProfileTable, options: EngineOptions, action: int) -> bool:
    """Carry out one decision; say whether the scheduler must wake as soon as it is done."""
    env = state.env[b]
    num_slots = state.slots.shape[1]
    mechanism_index, slot = 0, action
    while slot >= num_slots and mechanism_index < options.num_mechanisms:
        slot -= num_slots
        mechanism_index += 1
    in_range = 0 <= slot < num_slots and mechanism_index < options.num_mechanisms
    if not in_range or not is_legal(
        True, env["runner"], slot, state.slots[b, slot], mechanism_index
    ):
        env["illegal_actions"] += 1
        mechanism_index = 0
        slot = env["runner"] if env["runner"] != NONE else earliest_slot(state, b)
    env["decisions"] += 1
    mechanism = options.mechanisms[mechanism_index]
    if slot == env["runner"]:
        env["draining"] = 0
        return False
    if env["runner"] == NONE:
        return dispatch(state, b, options, slot)
    if mechanism == _DRAIN:
        env["draining"] = 1
        if options.sticky_drain:
            env["drain_slot"] = slot
        return False
    completed = _stop_runner(state, b, table, options, mechanism)
    arrived = dispatch(state, b, options, slot)
    return completed or arrived


@inlined
def dispatch(state: State, b: int, options: EngineOptions, slot: int) -> bool:
    """Restore the task in ``slot`` and start it; say whether a task arrived meanwhile."""
    env = state.env[b]
    index = state.slots[b, slot]
    task = state.task[b, index]
    cycles = task["resume_cycles"]
    if task["on_host"] == 0:
        env["dram_used_bytes"] -= task["context_bytes"]
    task["context_bytes"] = 0
    task["resume_cycles"] = 0
    task["on_host"] = 0
    task["restore_cycles"] += cycles
    spend(state, b, index, RESTORING, cycles)
    env["runner"] = slot
    env["draining"] = 0
    task["dispatches"] += 1
    first = task["first_run_cycles"]
    task["first_run_cycles"] = env["now_cycles"] if first == NONE else first
    env["quantum_end_cycles"] = env["now_cycles"] + options.quantum_cycles
    return take_arrivals(state, b, options)


@inlined
def _stop_runner(
    state: State, b: int, table: ProfileTable, options: EngineOptions, mechanism: int
) -> bool:
    """Finish the instruction in flight, then checkpoint or kill; say whether it completed."""
    env = state.env[b]
    index = state.slots[b, env["runner"]]
    task = state.task[b, index]
    env["draining"] = 0
    if run_for(state, b, env["boundary_cycles"] - task["executed_cycles"]):
        return True
    if mechanism == _KILL:
        task["killed_cycles"] += task["executed_cycles"]
        task["executed_cycles"] = 0
        task["kills"] += 1
        task["next_layer_cycles"] = layer_cycles(
            table, options, task["profile"], first_segment(table, task["profile"])
        )
        task["stopped_cycles"] = env["now_cycles"]
        task["checkpoint_cycles"] += table.machine[SWITCH_CYCLES]
        spend(state, b, index, CHECKPOINTING, table.machine[SWITCH_CYCLES])
    else:
        task["context_bytes"] = env["boundary_context_bytes"]
        task["resume_cycles"] = env["boundary_resume_cycles"]
        task["next_layer_cycles"] = env["boundary_next_layer_cycles"]
        task["on_host"] = env["boundary_to_host"]
        task["checkpoints"] += 1
        task["checkpoint_cycles"] += env["boundary_save_cycles"]
        task["host_moves"] += env["boundary_to_host"]
        task["stopped_cycles"] = env["now_cycles"]
        if env["boundary_to_host"] == 0:
            env["dram_used_bytes"] += env["boundary_context_bytes"]
        spend(state, b, index, CHECKPOINTING, env["boundary_save_cycles"])
    env["runner"] = NONE
    return False
