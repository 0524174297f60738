"""What happens at a wake-up, and which one asks the policy? Compiled.

All functions work in place on environment ``b`` of the batch. Times are int64 cycles; tokens are
floats.
"""

from __future__ import annotations

from prema_gym.compiled.jit import inlined
from prema_gym.simulator.clock import leave, run_on, send_next, spend, take_arrivals
from prema_gym.simulator.decisions import dispatch
from prema_gym.simulator.options import Drop, EngineOptions, TokenWait
from prema_gym.simulator.rules import Record, earliest_slot, waited_cycles
from prema_gym.simulator.state import (
    ASKING,
    DONE,
    DROPPED,
    IDLE,
    NONE,
    SHORT_AWAKE,
    SHORT_RUNNING,
    TRUNCATED,
    State,
)

_NEVER, _LATE, _HOPELESS = int(Drop.NEVER), int(Drop.LATE), int(Drop.HOPELESS)
_SINCE_WAKEUP, _TOTAL = int(TokenWait.SINCE_WAKEUP), int(TokenWait.TOTAL)


@inlined
def play_on(state: State, b: int, options: EngineOptions, wake: bool) -> None:
    """Play on until the policy must be asked, the work is done, or a limit is reached."""
    env = state.env[b]
    while True:
        if options.refills and env["now_cycles"] >= env["known_cycles"]:
            env["status"] = SHORT_AWAKE if wake else SHORT_RUNNING
            return
        if wake:
            _wake(state, b, options)
            present = env["admitted"] - env["finished"]
            if present == 0:
                if env["finished"] == env["num_tasks"]:
                    env["status"] = TRUNCATED if options.ends_at_last_arrival else DONE
                    return
                gap = state.task[b, env["arrived"]]["arrival_cycles"] - env["now_cycles"]
                spend(state, b, NONE, IDLE, gap)
                take_arrivals(state, b, options)
                continue
            heard = env["runner"] == NONE or not options.only_when_free
            if present > 1 and env["drain_slot"] == NONE and heard:
                limit_reached = (
                    options.max_decisions > 0 and env["decisions"] >= options.max_decisions
                ) or (options.horizon_cycles > 0 and env["now_cycles"] >= options.horizon_cycles)
                if options.ends_at_last_arrival and env["arrived"] == env["num_tasks"]:
                    limit_reached = True
                env["status"] = TRUNCATED if limit_reached else ASKING
                return
            if env["runner"] == NONE:
                slot = env["drain_slot"] if env["drain_slot"] != NONE else earliest_slot(state, b)
                env["drain_slot"] = NONE
                wake = dispatch(state, b, options, slot)
                continue
        run_on(state, b, options)
        wake = True


@inlined
def _wake(state: State, b: int, options: EngineOptions) -> None:
    """Fill free slots from the queue and give waiting tasks their tokens (Algorithm 2)."""
    env = state.env[b]
    env["wakeups"] += 1
    now = env["now_cycles"]
    if options.drop != _NEVER:
        _drop(state, b, options)
    if env["admitted"] < env["arrived"]:
        _admit(state, b, options)
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
def _admit(state: State, b: int, options: EngineOptions) -> None:
    """Give free slots to tasks of the queue."""
    env = state.env[b]
    for slot in range(state.slots.shape[1]):
        if state.slots[b, slot] == NONE:
            _pass_over(state, b, options)
        if state.slots[b, slot] == NONE and env["admitted"] < env["arrived"]:
            place = env["admitted"] - env["finished"]
            state.slots[b, slot] = env["admitted"]
            state.by_arrival[b, place] = slot
            state.task[b, env["admitted"]]["order"] = place
            env["admitted"] += 1


@inlined
def _pass_over(state: State, b: int, options: EngineOptions) -> None:
    """Leave out tasks at the head of the queue that were rejected, or are to be dropped."""
    env = state.env[b]
    while env["admitted"] < env["arrived"]:
        task = state.task[b, env["admitted"]]
        if task["completion_cycles"] == NONE and not _is_dropped(task, env["now_cycles"], options):
            return
        if task["completion_cycles"] == NONE:
            task["completion_cycles"] = DROPPED
            send_next(state, b, task["stream"])
        env["admitted"] += 1
        env["finished"] += 1


@inlined
def _drop(state: State, b: int, options: EngineOptions) -> None:
    """Let waiting tasks of the table leave unserved that are past saving."""
    env = state.env[b]
    place = 0
    while place < env["admitted"] - env["finished"]:
        slot = state.by_arrival[b, place]
        task = state.task[b, state.slots[b, slot]]
        if slot == env["runner"] or not _is_dropped(task, env["now_cycles"], options):
            place += 1
            continue
        task["completion_cycles"] = DROPPED
        if task["on_host"] == 0:
            env["dram_used_bytes"] -= task["context_bytes"]
        if slot == env["drain_slot"]:
            env["drain_slot"] = NONE
        leave(state, b, slot)
        send_next(state, b, task["stream"])
        if env["admitted"] - env["finished"] == 1:  # nobody is left to drain for
            env["draining"] = 0


@inlined
def _is_dropped(task: Record, now: int, options: EngineOptions) -> bool:
    """Whether a waiting task is past saving."""
    if options.drop == _LATE:
        return bool(task["deadline_cycles"] < now)
    remaining = max(task["shown_cycles"] - task["executed_cycles"], 0)
    return options.drop == _HOPELESS and bool(task["deadline_cycles"] < now + remaining)
