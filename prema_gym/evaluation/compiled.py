"""How are workloads played by a rule without Python at any decision? In one compiled loop.

The engine asks, the rule answers (`prema_gym.baselines.choosing`), workload after workload, so that
the state of one stays in the processor's caches. What happens is what the step by step loop of
`prema_gym.evaluation.playing` does, to the cycle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.choosing import NO_WISH, decide_one
from prema_gym.baselines.policy import Program
from prema_gym.compiled.jit import direct, in_place, inlined
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator import NUM_COLUMNS
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
