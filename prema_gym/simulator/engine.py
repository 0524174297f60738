"""How does a decision play out? The compiled event engine, from one decision to the next.

Implements ``docs/simulator.md``; the slow twin in ``tests/reference.py`` holds it to the cycle.
All functions work in place on environment ``b`` of the batch; :func:`advance` and :func:`start`
loop over it. Time only moves in ``_spend``. Integers are cycles, bytes and indices; the only floats
are tokens and the observation table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place, inlined, prefetch
from prema_gym.hardware.profile import (
    AT_END,
    FIRST_PHASE,
    PHASE_FIELDS,
    SEGMENT_FIELDS,
    ProfileTable,
    first_segment,
)
from prema_gym.simulator.observation import Mechanism
from prema_gym.simulator.rules import (
    Record,
    earliest_slot,
    is_legal,
    layer_cycles,
    observe,
    waited_cycles,
    write_mask,
)
from prema_gym.simulator.state import (
    ASKING,
    CACHE_LINE,
    CHECKPOINTING,
    DONE,
    ENV_DTYPE,
    HOT_BYTES,
    IDLE,
    NONE,
    RESTORING,
    RUN,
    TASK_DTYPE,
    TRUNCATED,
    EngineOptions,
    State,
)
from prema_gym.workloads.workload import WorkloadArrays

_DRAIN = int(Mechanism.DRAIN)
_KILL = int(Mechanism.KILL)
_ENV_BYTES, _TASK_BYTES, _SLOT_BYTES = ENV_DTYPE.itemsize, TASK_DTYPE.itemsize, 8
_SEGMENT_BYTES, _PHASE_BYTES = 8 * SEGMENT_FIELDS, 8 * PHASE_FIELDS
_SINCE_WAKEUP, _TOTAL, _SINCE_RUN = range(3)  # state.TOKEN_WAITS


@inlined
def _spend(state: State, b: int, task_index: int, kind: int, cycles: int) -> None:
    """Let ``cycles`` pass in one way, and note the slice where a timeline is kept."""
    env = state.env[b]
    start = env["now_cycles"]
    env["now_cycles"] = start + cycles
    if kind == RUN:
        env["busy_cycles"] += cycles
    elif kind == IDLE:
        env["idle_cycles"] += cycles
    else:
        env["switching_cycles"] += cycles
    if state.timeline.shape[1] == 0 or cycles == 0:
        return
    last = env["num_slices"] - 1
    if (
        last >= 0
        and state.timeline[b, last, 0] == task_index
        and state.timeline[b, last, 1] == kind == RUN
    ):
        state.timeline[b, last, 3] = start + cycles
        return
    state.timeline[b, last + 1, 0] = task_index
    state.timeline[b, last + 1, 1] = kind
    state.timeline[b, last + 1, 2] = start
    state.timeline[b, last + 1, 3] = start + cycles
    env["num_slices"] = last + 2


@inlined
def _arrivals(state: State, b: int) -> bool:
    """Record every arrival up to now; say whether there was one."""
    env = state.env[b]
    before = env["arrived"]
    while (
        env["arrived"] < env["num_tasks"]
        and state.task[b, env["arrived"]]["arrival_cycles"] <= env["now_cycles"]
    ):
        env["arrived"] += 1
    return bool(env["arrived"] > before)


@inlined
def _run_for(state: State, b: int, cycles: int) -> bool:
    """Run the running task for ``cycles``; say whether it completed."""
    env = state.env[b]
    index = state.slots[b, env["runner"]]
    task = state.task[b, index]
    _spend(state, b, index, RUN, cycles)
    task["executed_cycles"] += cycles
    if task["executed_cycles"] < task["isolated_cycles"]:
        return False
    task["completion_cycles"] = env["now_cycles"]
    task["drains"] = env["draining"]
    env["draining"] = 0
    state.slots[b, env["runner"]] = NONE
    env["runner"] = NONE
    env["finished"] += 1
    for place in range(task["order"], env["admitted"] - env["finished"]):
        slot = state.by_arrival[b, place + 1]
        state.by_arrival[b, place] = slot
        state.task[b, state.slots[b, slot]]["order"] = place
    return True


@inlined
def _dispatch(state: State, b: int, options: EngineOptions, slot: int) -> bool:
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
    _spend(state, b, index, RESTORING, cycles)
    env["runner"] = slot
    env["draining"] = 0
    task["dispatches"] += 1
    first = task["first_run_cycles"]
    task["first_run_cycles"] = env["now_cycles"] if first == NONE else first
    env["quantum_end_cycles"] = env["now_cycles"] + options.quantum_cycles
    return _arrivals(state, b)


@inlined
def _stop_runner(
    state: State, b: int, table: ProfileTable, options: EngineOptions, mechanism: int
) -> bool:
    """Finish the instruction in flight, then checkpoint or kill; say whether it completed."""
    env = state.env[b]
    index = state.slots[b, env["runner"]]
    task = state.task[b, index]
    env["draining"] = 0
    if _run_for(state, b, env["boundary_cycles"] - task["executed_cycles"]):
        return True
    if mechanism == _KILL:
        task["killed_cycles"] += task["executed_cycles"]
        task["executed_cycles"] = 0
        task["kills"] += 1
        task["next_layer_cycles"] = layer_cycles(
            table, options, first_segment(table, task["profile"])
        )
        task["stopped_cycles"] = env["now_cycles"]
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
        _spend(state, b, index, CHECKPOINTING, env["boundary_save_cycles"])
    env["runner"] = NONE
    return False


@inlined
def _act(state: State, b: int, table: ProfileTable, options: EngineOptions, action: int) -> bool:
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
        return _dispatch(state, b, options, slot)
    if mechanism == _DRAIN:
        env["draining"] = 1
        if options.sticky_drain:
            env["drain_slot"] = slot
        return False
    completed = _stop_runner(state, b, table, options, mechanism)
    arrived = _dispatch(state, b, options, slot)
    return completed or arrived


@inlined
def _admit(state: State, b: int) -> None:
    """Give free slots to tasks of the queue."""
    env = state.env[b]
    for slot in range(state.slots.shape[1]):
        if state.slots[b, slot] == NONE and env["admitted"] < env["arrived"]:
            place = env["admitted"] - env["finished"]
            state.slots[b, slot] = env["admitted"]
            state.by_arrival[b, place] = slot
            state.task[b, env["admitted"]]["order"] = place
            env["admitted"] += 1


@inlined
def _wake(state: State, b: int, options: EngineOptions) -> None:
    """Fill free slots from the queue and give waiting tasks their tokens (Algorithm 2)."""
    env = state.env[b]
    env["wakeups"] += 1
    now = env["now_cycles"]
    if env["admitted"] < env["arrived"]:
        _admit(state, b)
    for place in range(env["admitted"] - env["finished"]):
        slot = state.by_arrival[b, place]
        task = state.task[b, state.slots[b, slot]]
        before = task["token_waited_cycles"]
        waited = waited_cycles(task, now)
        if options.token_wait == _SINCE_WAKEUP:
            wait = waited - before
        elif options.token_wait == _TOTAL:
            wait = waited
        else:
            wait = now - task["stopped_cycles"]
        # Values are chosen, not ways: who runs is a toss-up to the processor.
        wait = 0 if slot == env["runner"] else wait
        task["token"] += task["priority"] * (wait / task["shown_cycles"])
        task["token_waited_cycles"] = before if slot == env["runner"] else waited


@inlined
def _run_on(state: State, b: int, options: EngineOptions) -> None:
    """Let the running task run to the next wake-up."""
    env = state.env[b]
    now = env["now_cycles"]
    env["quantum_end_cycles"] += options.quantum_cycles * (env["quantum_end_cycles"] == now)
    task = state.task[b, state.slots[b, env["runner"]]]
    until = now + task["isolated_cycles"] - task["executed_cycles"]
    if env["arrived"] < env["num_tasks"]:
        until = min(until, state.task[b, env["arrived"]]["arrival_cycles"])
    if env["admitted"] - env["finished"] > 1:  # somebody waits in the table
        until = min(until, env["quantum_end_cycles"])
    elif env["quantum_end_cycles"] < until:  # renewed silently, to the first end not before
        behind = until - env["quantum_end_cycles"]
        quanta = (behind + options.quantum_cycles - 1) // options.quantum_cycles
        env["quantum_end_cycles"] += quanta * options.quantum_cycles
    _run_for(state, b, until - now)
    _arrivals(state, b)


@inlined
def _to_decision(state: State, b: int, options: EngineOptions, wake: bool) -> None:
    """Play on until the policy must be asked, the work is done, or a limit is reached."""
    env = state.env[b]
    while True:
        if wake:
            _wake(state, b, options)
            present = env["admitted"] - env["finished"]
            if present == 0:
                if env["finished"] == env["num_tasks"]:
                    env["status"] = DONE
                    return
                gap = state.task[b, env["arrived"]]["arrival_cycles"] - env["now_cycles"]
                _spend(state, b, NONE, IDLE, gap)
                _arrivals(state, b)
                continue
            if present > 1 and env["drain_slot"] == NONE:
                limit_reached = (
                    options.max_decisions > 0 and env["decisions"] >= options.max_decisions
                ) or (options.horizon_cycles > 0 and env["now_cycles"] >= options.horizon_cycles)
                env["status"] = TRUNCATED if limit_reached else ASKING
                return
            if env["runner"] == NONE:
                slot = env["drain_slot"] if env["drain_slot"] != NONE else earliest_slot(state, b)
                env["drain_slot"] = NONE
                wake = _dispatch(state, b, options, slot)
                continue
        _run_on(state, b, options)
        wake = True


@inlined
def _prefetch(
    state: State, table: ProfileTable, actions: NDArray[np.int64], b: int, last: int
) -> None:
    """Ask the memory for what the next two environments of ``[b, last)`` will need."""
    num_tasks, num_slots = state.task.shape[1], state.slots.shape[1]
    after = min(b + 2, last - 1)
    for byte in range(0, _ENV_BYTES, CACHE_LINE):
        prefetch(state.env, after * _ENV_BYTES + byte)
    for byte in range(0, num_slots * _SLOT_BYTES, CACHE_LINE):
        prefetch(state.slots, after * num_slots * _SLOT_BYTES + byte)
    following = min(b + 1, last - 1)  # whose slots were asked for one environment ago
    for slot in range(num_slots):
        # An empty slot asks for the first task instead: cheaper than a branch.
        place = following * num_tasks + max(state.slots[following, slot], 0)
        for byte in range(0, HOT_BYTES, CACHE_LINE):
            prefetch(state.task, place * _TASK_BYTES + byte)
    # All of the two tasks that a decision is about, and where in its network the named one stands.
    runner = max(state.env[following]["runner"], 0)
    for slot in (runner, min(max(actions[following], 0), num_slots - 1)):
        place = following * num_tasks + max(state.slots[following, slot], 0)
        for byte in range(HOT_BYTES, _TASK_BYTES, CACHE_LINE):
            prefetch(state.task, place * _TASK_BYTES + byte)
    index = max(state.slots[b, min(max(actions[b], 0), num_slots - 1)], 0)
    task = state.task[b, index]
    prefetch(table.phases, table.profiles[task["profile"], FIRST_PHASE] * _PHASE_BYTES)
    segment = max(task["segment"], 0)
    for byte in range(0, 4 * CACHE_LINE, CACHE_LINE):
        prefetch(table.segments, segment * _SEGMENT_BYTES + byte)


@in_place
def advance(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    actions: NDArray[np.int64],
    first: int,
    last: int,
) -> None:
    """Take one decision in each of the environments ``[first, last)`` that wait for one.

    The tables and masks of all of them are written, so that these arrays may be new ones.

    Args:
        state: ``State``; written in place.
        table: ``ProfileTable`` of the scenario; only read.
        options: ``EngineOptions``; only read.
        actions: int64 (B,); ignored where the environment does not ask.
        first: First environment.
        last: One past the last; threads may share a batch by ranges.
    """
    for b in range(first, last):
        advance_one(state, table, options, actions, b, last)


@inlined
def advance_one(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    actions: NDArray[np.int64],
    b: int,
    last: int,
) -> None:
    """Do the part of environment ``b`` in :func:`advance`, for kernels with a loop of their own."""
    _prefetch(state, table, actions, b, last)
    if state.env[b]["status"] == ASKING:
        wake = _act(state, b, table, options, actions[b])
        _to_decision(state, b, options, wake)
    observe(state, b, table, options)


@in_place
def show(state: State, table: ProfileTable, options: EngineOptions) -> None:
    """Write the tables and masks of every environment as it stands.

    Args:
        state: ``State``; its tables and masks are written.
        table: ``ProfileTable`` of the scenario.
        options: ``EngineOptions``.
    """
    for b in range(state.env.shape[0]):
        observe(state, b, table, options)


@in_place
def write_masks(env: NDArray[np.void], slots: NDArray[np.int64], mask: NDArray[np.bool_]) -> None:
    """Write the legal actions of every environment.

    Args:
        env: Clock and counters (B,), ``state.ENV_DTYPE``; only read.
        slots: int64 (B, S); only read.
        mask: bool (B, S · mechanisms), written.
    """
    for b in range(mask.shape[0]):
        write_mask(env[b], slots, mask, b)


@in_place
def start(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    workload: WorkloadArrays,
    rows: NDArray[np.int64],
) -> None:
    """Load row k of ``workload`` into environment ``rows[k]`` and play to its first decision.

    Args:
        state: ``State``; the named environments are overwritten.
        table: ``ProfileTable`` of the scenario.
        options: ``EngineOptions``.
        workload: ``WorkloadArrays``; int64 (K, N) each, ``num_tasks`` int64 (K,).
        rows: int64 (K,), environments to load.
    """
    for k in range(rows.shape[0]):
        start_one(state, table, options, workload, k, rows[k])


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
        task["arrival_cycles"] = workload.arrival_cycles[k, i]
        task["profile"] = workload.profile[k, i]
        task["output_length"] = workload.output_length[k, i]
        task["priority"] = workload.priority[k, i]
        task["batch_size"] = workload.batch_size[k, i]
        task["network"] = workload.network[k, i]
        task["isolated_cycles"] = workload.isolated_cycles[k, i]
        task["estimated_cycles"] = workload.estimated_cycles[k, i]
        task["deadline_cycles"] = workload.deadline_cycles[k, i]
        _clear_task(task, options.oracle)
        task["next_layer_cycles"] = layer_cycles(
            table, options, first_segment(table, task["profile"])
        )
    _spend(state, b, NONE, IDLE, state.task[b, 0]["arrival_cycles"])
    _arrivals(state, b)
    _to_decision(state, b, options, True)
    observe(state, b, table, options)


@inlined
def _clear_env(state: State, b: int, num_tasks: int) -> None:
    """Set an environment to time 0 with nothing present."""
    env = state.env[b]
    state.slots[b, :] = NONE
    env["status"] = ASKING
    env["num_tasks"] = num_tasks
    env["now_cycles"] = 0
    env["runner"] = NONE
    env["quantum_end_cycles"] = 0
    env["arrived"] = 0
    env["admitted"] = 0
    env["finished"] = 0
    env["draining"] = 0
    env["drain_slot"] = NONE
    env["dram_used_bytes"] = 0
    env["boundary_cycles"] = 0
    env["boundary_context_bytes"] = 0
    env["boundary_save_cycles"] = 0
    env["boundary_resume_cycles"] = 0
    env["boundary_next_layer_cycles"] = 0
    env["boundary_to_host"] = 0
    env["busy_cycles"] = 0
    env["switching_cycles"] = 0
    env["idle_cycles"] = 0
    env["decisions"] = 0
    env["wakeups"] = 0
    env["illegal_actions"] = 0
    env["num_slices"] = 0


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
