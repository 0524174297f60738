"""How does time pass? Compiled: every cycle is spent here, by running, switching or idling.

All functions work in place on environment ``b`` of the batch. Times are int64 cycles.
"""

from __future__ import annotations

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.state import (
    IDLE,
    LOOP_READY,
    LOOP_RESERVE,
    LOOP_SENT,
    LOOP_THOUGHT,
    NONE,
    REJECTED,
    RUN,
    State,
)


@inlined
def spend(state: State, b: int, task_index: int, kind: int, cycles: int) -> None:
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
        and state.timeline[b, last, 1] == kind
        and kind in (RUN, IDLE)
    ):
        state.timeline[b, last, 3] = start + cycles
        return
    state.timeline[b, last + 1, 0] = task_index
    state.timeline[b, last + 1, 1] = kind
    state.timeline[b, last + 1, 2] = start
    state.timeline[b, last + 1, 3] = start + cycles
    env["num_slices"] = last + 2


@inlined
def take_arrivals(state: State, b: int, options: EngineOptions) -> bool:
    """Record every arrival up to now; say whether there was one. A full queue rejects."""
    env = state.env[b]
    before = env["arrived"]
    while (
        env["arrived"] < env["num_tasks"]
        and state.task[b, env["arrived"]]["arrival_cycles"] <= env["now_cycles"]
    ):
        if options.queue_limit != NONE and _in_system(state, b) > options.queue_limit:
            state.task[b, env["arrived"]]["completion_cycles"] = REJECTED
            send_next(state, b, state.task[b, env["arrived"]]["stream"])
        if options.refills:
            state.task[b, env["arrived"]]["number"] = env["numbered"]
            env["numbered"] += 1
        env["arrived"] += 1
    if options.refills and env["numbered"] >= env["stop_number"]:
        env["known_cycles"] = 0
    return bool(env["arrived"] > before)


@inlined
def send_next(state: State, b: int, stream: int) -> None:
    """A request has left: if it was a closed loop's, its client thinks, then sends the next one.

    The client of one that is rejected or dropped hears of it when the machine next looks.
    """
    if state.loops.shape[1] > 0 and state.loops[b, stream, LOOP_RESERVE] > 0:
        _send_next(state, b, stream)


@in_place  # called, not inlined: most simulations have no closed loop
def _send_next(state: State, b: int, stream: int) -> None:
    env, loop = state.env[b], state.loops[b, stream]
    sent = loop[LOOP_SENT]
    following = state.upcoming[b, stream, sent % state.upcoming.shape[2]]
    now = env["now_cycles"]
    place = make_place(state, b, now + following["arrival_cycles"])
    state.task[b, place] = following
    task = state.task[b, place]
    task["arrival_cycles"] += now
    task["deadline_cycles"] += now
    task["stopped_cycles"] += now
    loop[LOOP_SENT] = sent + 1
    loop[LOOP_THOUGHT] += following["arrival_cycles"]
    if loop[LOOP_READY] - loop[LOOP_SENT] < loop[LOOP_RESERVE]:
        env["known_cycles"] = 0


@in_place
def make_place(state: State, b: int, arrival_cycles: int) -> int:
    """Make room for one more loaded task, behind all that arrive no later; say where."""
    env = state.env[b]
    place = env["num_tasks"]
    env["num_tasks"] = place + 1
    while place > env["arrived"] and state.task[b, place - 1]["arrival_cycles"] > arrival_cycles:
        state.task[b, place] = state.task[b, place - 1]
        place -= 1
    return int(place)


@inlined
def _in_system(state: State, b: int) -> int:
    """How many tasks are there, in the table or in the queue."""
    env = state.env[b]
    count = env["admitted"] - env["finished"]
    for index in range(env["admitted"], env["arrived"]):
        count += state.task[b, index]["completion_cycles"] == NONE
    return int(count)


@inlined
def leave(state: State, b: int, slot: int) -> None:
    """Take the task in ``slot`` out of the table."""
    env = state.env[b]
    place = state.task[b, state.slots[b, slot]]["order"]
    state.slots[b, slot] = NONE
    env["finished"] += 1
    for behind in range(place, env["admitted"] - env["finished"]):
        other = state.by_arrival[b, behind + 1]
        state.by_arrival[b, behind] = other
        state.task[b, state.slots[b, other]]["order"] = behind


@inlined
def run_for(state: State, b: int, cycles: int) -> bool:
    """Run the running task for ``cycles``; say whether it completed."""
    env = state.env[b]
    index = state.slots[b, env["runner"]]
    task = state.task[b, index]
    spend(state, b, index, RUN, cycles)
    task["executed_cycles"] += cycles
    if task["executed_cycles"] < task["isolated_cycles"]:
        return False
    task["completion_cycles"] = env["now_cycles"]
    task["drains"] = env["draining"]
    env["draining"] = 0
    leave(state, b, env["runner"])
    env["runner"] = NONE
    send_next(state, b, task["stream"])
    return True


@inlined
def run_on(state: State, b: int, options: EngineOptions) -> None:
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
    run_for(state, b, until - now)
    take_arrivals(state, b, options)
