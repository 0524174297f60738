"""What may be done, what does it cost, and what does the policy see of it?

The rules that the engine and its callers share: the one legality predicate, the costs of saving
and restoring, and the writer of the observation table (``observation.COLUMNS``). Nothing here moves
time. Source: ``docs/simulator.md``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prema_gym.simulator.observation as col
from prema_gym.compiled.jit import inlined
from prema_gym.hardware.layout import (
    AT_END,
    DRAM_BYTES,
    LAYER_CYCLES,
    LAYER_ESTIMATED_CYCLES,
    SWITCH_CYCLES,
    ProfileTable,
)
from prema_gym.hardware.locate import locate_inlined
from prema_gym.hardware.transfers import dram_cycles, host_cycles
from prema_gym.simulator.options import EngineOptions, Shown
from prema_gym.simulator.state import ASKING, NONE, State

_CALIBRATED, _ORACLE = int(Shown.CALIBRATED), int(Shown.ORACLE)

Record = np.void  # one structured record, seen as a reference
Row = NDArray[Any]  # one row of a table (columns,), or rows (tasks, columns): float32 or float64


@inlined
def is_legal(asking: bool, runner: int, slot: int, occupant: int, mechanism_index: int) -> bool:
    """Say whether an action may be taken: the one predicate behind masks and checks.

    Args:
        asking: The environment waits for a decision.
        runner: Running slot, or NONE.
        slot: Slot named by the action, in range.
        occupant: Task in that slot, or NONE.
        mechanism_index: Position in the simulation's mechanisms, in range.
    """
    if not asking:
        return mechanism_index == 0 and slot == 0  # nothing is left to decide: a no-op
    if occupant == NONE:
        return False
    return mechanism_index == 0 or (runner != NONE and slot != runner)


@inlined
def earliest_slot(state: State, b: int) -> int:
    """Slot of the present task that arrived first, or NONE."""
    present = state.env[b]["admitted"] > state.env[b]["finished"]
    return int(state.by_arrival[b, 0]) if present else NONE


@inlined
def waited_cycles(task: Record, now: int) -> int:
    """Time an unfinished task spent in the system and not running [cycles]."""
    ran = task["executed_cycles"] + task["killed_cycles"]
    return int(now - task["arrival_cycles"] - ran)


@inlined
def save_cycles(env: Record, machine: NDArray[np.int64], context_bytes: int) -> tuple[int, bool]:
    """Time to save a context as things stand [cycles], and whether it must go to the host."""
    if env["dram_used_bytes"] + context_bytes <= machine[DRAM_BYTES]:
        return dram_cycles(machine, context_bytes), False
    return host_cycles(machine, context_bytes), True


@inlined
def resume_cycles(
    machine: NDArray[np.int64],
    context_bytes: int,
    reload_bytes: int,
    refill_cycles: int,
    on_host: bool,
) -> int:
    """Time to bring back a context, weights and inputs, and to fill the array [cycles]."""
    if on_host:
        loading = host_cycles(machine, context_bytes) + dram_cycles(machine, reload_bytes)
    else:
        loading = dram_cycles(machine, context_bytes + reload_bytes)
    return loading + refill_cycles


@inlined
def calibrated_cycles(table: ProfileTable, profile: int, estimated_cycles: int) -> int:
    """An estimate × the calibration of its profile, rounded, and at least one cycle."""
    return int(max(1, math.floor(estimated_cycles * table.calibration[profile] + 0.5)))


@inlined
def layer_cycles(table: ProfileTable, options: EngineOptions, profile: int, segment: int) -> int:
    """What the scheduler is shown of the layer with this segment [cycles]; 0 at a task's end."""
    if segment == AT_END:
        return 0
    if options.estimate == _ORACLE:
        return int(table.segments[segment, LAYER_CYCLES])
    estimated = int(table.segments[segment, LAYER_ESTIMATED_CYCLES])
    if options.estimate == _CALIBRATED:
        return int(calibrated_cycles(table, profile, estimated))
    return estimated


@inlined
def _write_task(row: Row, task: Record, place: int, now: int, ms: float) -> None:
    """Write what a waiting task shows, but for its zeros: values are rounded to float32."""
    executed = task["executed_cycles"]
    remaining = max(task["shown_cycles"] - executed, 0)
    age = now - task["arrival_cycles"]
    row[col.PRESENT] = 1.0
    row[col.PRIORITY] = np.float32(task["priority"])
    row[col.ORDER] = np.float32(place)
    row[col.AGE_MS] = np.float32(age * ms)
    row[col.WAITED_MS] = np.float32((age - executed - task["killed_cycles"]) * ms)
    row[col.SINCE_RUN_MS] = np.float32((now - task["stopped_cycles"]) * ms)
    row[col.ESTIMATED_MS] = np.float32(task["shown_cycles"] * ms)
    row[col.EXECUTED_MS] = np.float32(executed * ms)
    row[col.REMAINING_MS] = np.float32(remaining * ms)
    row[col.NEXT_LAYER_MS] = np.float32(task["next_layer_cycles"] * ms)
    row[col.TOKEN] = np.float32(task["token"])
    row[col.SLACK_MS] = np.float32((task["deadline_cycles"] - now - remaining) * ms)
    row[col.RESTORE_MS] = np.float32(task["resume_cycles"] * ms)
    row[col.CONTEXT_BYTES] = np.float32(task["context_bytes"])
    row[col.BATCH_SIZE] = np.float32(task["batch_size"])
    row[col.PREEMPTIONS] = np.float32(task["checkpoints"] + task["kills"])


@inlined
def _write_runner(
    state: State, b: int, table: ProfileTable, options: EngineOptions, row: Row
) -> None:
    """Find the next boundary of the running task, and write what it shows beyond a waiting one."""
    env = state.env[b]
    task = state.task[b, state.slots[b, env["runner"]]]
    ms = options.ms_per_cycle
    executed = task["executed_cycles"]
    boundary, context_bytes, reload_bytes, refill_cycles, segment = locate_inlined(
        table, task["profile"], task["output_length"], executed, task["segment"]
    )
    task["segment"] = segment
    saving, to_host = save_cycles(env, table.machine, context_bytes)
    saving += table.machine[SWITCH_CYCLES] * (segment != AT_END)  # a task that ends just leaves
    next_layer = layer_cycles(table, options, task["profile"], segment)
    env["boundary_cycles"] = boundary
    env["boundary_context_bytes"] = context_bytes
    env["boundary_save_cycles"] = saving
    env["boundary_resume_cycles"] = resume_cycles(
        table.machine, context_bytes, reload_bytes, refill_cycles, to_host
    )
    env["boundary_to_host"] = to_host
    env["boundary_next_layer_cycles"] = next_layer
    row[col.RUNNING] = 1.0
    row[col.SINCE_RUN_MS] = 0.0
    row[col.NEXT_LAYER_MS] = np.float32(next_layer * ms)
    row[col.PREEMPT_MS] = np.float32((boundary - executed + saving) * ms)
    row[col.CONTEXT_BYTES] = np.float32(context_bytes)
    row[col.QUANTUM_LEFT_MS] = np.float32((env["quantum_end_cycles"] - env["now_cycles"]) * ms)


@inlined
def observe(state: State, b: int, table: ProfileTable, options: EngineOptions) -> None:
    """Write the observation table and the legality mask of one environment."""
    env = state.env[b]
    rows = state.observation
    rows[b] = 0.0
    for place in range(env["admitted"] - env["finished"]):
        slot = state.by_arrival[b, place]
        task = state.task[b, state.slots[b, slot]]
        _write_task(rows[b, slot], task, place, env["now_cycles"], options.ms_per_cycle)
    if env["runner"] != NONE:
        _write_runner(state, b, table, options, rows[b, env["runner"]])
    write_mask(env, state.slots, state.mask, b)


@inlined
def write_present(
    state: State, b: int, table: ProfileTable, options: EngineOptions, rows: Row
) -> int:
    """Write the rows of the present tasks alone, in order of arrival: for rules in compiled code.

    Args:
        state: Read, but for the boundary that the running task shows.
        b: The environment.
        table: ``ProfileTable`` of the scenario.
        options: ``EngineOptions``.
        rows: float64 (slots, columns); the first rows are written. The row of ``by_arrival[p]`` is
            ``rows[p]``.

    Returns:
        How many.
    """
    env = state.env[b]
    present = env["admitted"] - env["finished"]
    for place in range(present):
        slot = state.by_arrival[b, place]
        row = rows[place]
        row[col.RUNNING] = 0.0
        row[col.PREEMPT_MS] = 0.0
        row[col.QUANTUM_LEFT_MS] = 0.0
        task = state.task[b, state.slots[b, slot]]
        _write_task(row, task, place, env["now_cycles"], options.ms_per_cycle)
        if slot == env["runner"]:
            _write_runner(state, b, table, options, row)
    return int(present)


@inlined
def write_mask(env: Record, slots: NDArray[np.int64], mask: NDArray[np.bool_], b: int) -> None:
    """Write which actions are legal in environment ``b``."""
    num_slots = slots.shape[1]
    asking = env["status"] == ASKING
    for mechanism_index in range(mask.shape[1] // num_slots):
        for slot in range(num_slots):
            mask[b, mechanism_index * num_slots + slot] = is_legal(
                asking, env["runner"], slot, slots[b, slot], mechanism_index
            )
