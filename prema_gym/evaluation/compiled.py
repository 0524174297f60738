"""How are workloads played by a rule without Python at any decision? In one compiled loop.

The engine asks, the rule answers (`prema_gym.baselines.choosing`), workload after workload, so that
the state of one stays in the processor's caches. What happens is what the step by step loop of
`prema_gym.evaluation.playing` does, to the cycle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.choosing import NO_WISH, decide_one
from prema_gym.baselines.policy import Program
from prema_gym.compiled.jit import direct, in_place, inlined
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator import NONE, NUM_COLUMNS
from prema_gym.simulator import observation as col
from prema_gym.simulator.decisions import act
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.rules import observe, write_present
from prema_gym.simulator.state import ASKING, State
from prema_gym.simulator.unchecked import UncheckedSimulator
from prema_gym.simulator.wakeups import play_on


def play_by(simulator: UncheckedSimulator, program: Program) -> None:
    """Let a rule decide until no environment asks any more: all have ended, or are short of tasks.

    Args:
        simulator: Loaded; it keeps no timeline.
        program: The policy.
    """
    rows = np.empty((simulator.slots, NUM_COLUMNS))
    arguments = (*simulator.engine_arguments, program, rows)
    with np.errstate(over="ignore"):  # hashes wrap around, where they are not compiled
        direct(play_all, *arguments)(*arguments)


@in_place
def play_all(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    program: Program,
    rows: NDArray[np.float64],
) -> None:
    """Play every environment of a batch for as long as it asks.

    Args:
        state: ``State``; written in place.
        table: ``ProfileTable`` of the scenario; only read.
        options: ``EngineOptions``; only read.
        program: The policy; only read.
        rows: Working space, float64 (slots, columns).
    """
    for b in range(state.env.shape[0]):
        while state.env[b]["status"] == ASKING:
            play_on(state, b, options, decide_and_act(state, b, table, options, program, rows))
        observe(state, b, table, options)


class Log(NamedTuple):
    """What a rule did, one row a decision; times are cycles.

    Attributes:
        whole: int64 (decisions, 6): time, task that ran, task chosen, mechanism by which the
            running one gives way (``NONE`` where there is none), tasks present, action.
        shown: float64 (decisions, 2): most tokens of a waiting task, bytes of saved contexts.
    """

    whole: NDArray[np.int64]
    shown: NDArray[np.float64]


LOG_ROWS = 1 << 16
"""Decisions noted at once: 4 MB."""


def note_by(simulator: UncheckedSimulator, program: Program) -> Log:
    """Do what :func:`play_by` does with one environment, and note every decision.

    Args:
        simulator: Loaded; of one environment. It may keep a timeline.
        program: The policy.
    """
    rows = np.empty((simulator.slots, NUM_COLUMNS))
    log = Log(np.empty((LOG_ROWS, 6), np.int64), np.empty((LOG_ROWS, 2)))
    wholes, shown = [], []
    with np.errstate(over="ignore"):  # hashes wrap around, where they are not compiled
        while bool(simulator.asking[0]):
            simulator.make_room()  # of which there is some beyond what one step takes
            spare = simulator.slices_per_step
            arguments = (*simulator.engine_arguments, program, rows, spare, log)
            noted = direct(play_and_note, *arguments)(*arguments)
            wholes.append(log.whole[:noted].copy())
            shown.append(log.shown[:noted].copy())
    return Log(np.concatenate([log.whole[:0], *wholes]), np.concatenate([log.shown[:0], *shown]))


@in_place
def play_and_note(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    program: Program,
    rows: NDArray[np.float64],
    spare: int,
    log: Log,
) -> int:
    """Play environment 0 until it ends, or the log or the timeline is full; say how many decisions.

    Args:
        state: ``State``; written in place.
        table: ``ProfileTable`` of the scenario; only read.
        options: ``EngineOptions``; only read.
        program: The policy; only read.
        rows: Working space, float64 (slots, columns).
        spare: Slices that one step may add to the timeline.
        log: Written from its first row on.
    """
    noted, env = 0, state.env[0]
    room = state.timeline.shape[1] - spare
    while env["status"] == ASKING and noted < log.whole.shape[0] and env["num_slices"] <= room:
        running = env["runner"]
        runner = state.slots[0, running] if running != NONE else NONE
        whole, shown = log.whole[noted], log.shown[noted]
        whole[0] = env["now_cycles"]
        whole[1] = runner
        count = write_present(state, 0, table, options, rows)
        row, mechanism_index = decide_one(program, rows, count, NO_WISH)
        slot = state.by_arrival[0, row]
        chosen = state.slots[0, slot]
        whole[2] = chosen
        gives_way = runner != NONE and chosen != runner
        whole[3] = options.mechanisms[mechanism_index] if gives_way else NONE
        whole[4] = count
        whole[5] = slot + state.slots.shape[1] * mechanism_index
        shown[0], shown[1] = 0.0, 0.0
        for i in range(count):
            if rows[i, col.RUNNING] == 0:
                shown[0] = max(shown[0], rows[i, col.TOKEN])
                shown[1] += rows[i, col.CONTEXT_BYTES]
        noted += 1
        play_on(state, 0, options, act(state, 0, table, options, whole[5]))
    if env["status"] != ASKING:
        observe(state, 0, table, options)
    return noted


@inlined
def decide_and_act(
    state: State,
    b: int,
    table: ProfileTable,
    options: EngineOptions,
    program: Program,
    rows: NDArray[np.float64],
) -> bool:
    """Take one decision; say whether the scheduler must wake as soon as it is done."""
    count = write_present(state, b, table, options, rows)
    row, mechanism_index = decide_one(program, rows, count, NO_WISH)
    action = state.by_arrival[b, row] + state.slots.shape[1] * mechanism_index
    return act(state, b, table, options, action)
