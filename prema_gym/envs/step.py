"""How is a step taken and paid for? Compiled, for every sub-environment of a batch at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.envs.rewards.totals import Account, open_one, pay_one
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator.engine import advance_one
from prema_gym.simulator.loading import start_one
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.state import DONE, TRUNCATED, State
from prema_gym.workloads.generate import Drawing, draw_one
from prema_gym.workloads.workload import WorkloadArrays

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

TERMINATED_ROW, TRUNCATED_ROW = range(2)  # rows of `Transition.over`


class Restarts(NamedTuple):
    """Sub-environments that start a new episode in a step, and with what."""

    rows: IntArray  # (K,) which
    workload: WorkloadArrays  # row k belongs to sub-environment rows[k]
    drawing: Drawing  # with generators: the step draws those rows first


class Transition(NamedTuple):
    """What one step gave B sub-environments; its arrays belong to that step alone."""

    reward: FloatArray  # (B,) the weighted rise
    rise: FloatArray  # (T, B) of each reward term's total, unweighted
    over: BoolArray  # (2, B) terminated, truncated
    stepped: BoolArray  # (B,) took a decision, or stood at an end; False: started anew instead
    now_ms: FloatArray  # (B,) time after the step
    illegal_actions: IntArray  # (B,) in the episode so far

    @property
    def terminated(self) -> BoolArray:
        """Every task has finished, bool (B,)."""
        terminated: BoolArray = self.over[TERMINATED_ROW]
        return terminated

    @property
    def truncated(self) -> BoolArray:
        """A limit was reached with tasks unfinished, bool (B,)."""
        truncated: BoolArray = self.over[TRUNCATED_ROW]
        return truncated


def new_transition(num_envs: int, num_terms: int) -> Transition:
    """Make room for what one step gives."""
    return Transition(
        np.empty(num_envs),
        np.empty((num_terms, num_envs)),
        np.empty((2, num_envs), np.bool_),
        np.empty(num_envs, np.bool_),
        np.empty(num_envs),
        np.empty(num_envs, np.int64),
    )


class Job(NamedTuple):
    """One step of B sub-environments: what compiled code needs for it."""

    state: State  # the simulations; written in place
    table: ProfileTable  # the profiles
    options: EngineOptions  # the engine's
    actions: IntArray  # (B,)
    account: Account  # written in place
    transition: Transition  # written
    restarts: Restarts  # who is over and starts anew; arrays written in place


@in_place
def step_and_pay(job: Job, first: int, last: int) -> int:
    """Take one decision in each of the sub-environments ``[first, last)``, and pay for it.

    One loop does both, while their records are at hand. Those of ``restarts`` start a new episode
    instead, for nothing.

    Args:
        job: The step.
        first: First sub-environment.
        last: One past the last; threads may share a batch by ranges.

    Returns:
        How many of them stand at the end of an episode.
    """
    state, table, options, actions, account, transition, restarts = job
    reward, rise, over, stepped, now_ms, illegal_actions = transition
    rows, workload, drawing = restarts
    num_over = 0
    for b in range(first, last):
        advance_one(state, table, options, actions, b, last)
        record = state.env[b]
        pay_one(account, b, record, state.task[b], reward, rise)
        over[TERMINATED_ROW, b] = record["status"] == DONE
        over[TRUNCATED_ROW, b] = record["status"] == TRUNCATED
        stepped[b] = True
        now_ms[b] = record["now_cycles"] * options.ms_per_cycle
        illegal_actions[b] = record["illegal_actions"]
        num_over += record["status"] >= DONE
    for k in range(rows.shape[0]):
        b = rows[k]
        if first <= b < last and state.env[b]["status"] >= DONE:
            if drawing.generators.shape[0] > 0:
                draw_one(drawing, b, k, workload)
            start_one(state, table, options, workload, k, b)
            open_one(account, b, reward, rise)
            over[:, b] = False
            stepped[b] = False
            now_ms[b] = state.env[b]["now_cycles"] * options.ms_per_cycle
            illegal_actions[b] = 0
            num_over -= 1
    return num_over
