"""How is a step taken and paid for? Compiled, for every copy of a batch at once.

A copy's totals of the reward terms grow with time; a step is paid what they grew by.

At time ``now`` (cycles), over the tasks that have arrived, with ``end`` = completion or else
``now``, N = all tasks of the workload, π the priority weight and P the isolated time, they are

    antt            −1/N · Σ (end − arrival)/P
    priority_antt   −Σ π·(end − arrival)/P / Σ π
    stp             Σ P/(completion − arrival), over finished tasks
    sla             −1/N · number of tasks with end > deadline
    sla_curve       −1/N · Σ share of the targets n with (end − arrival)/P > n

so that at the end of an episode each is its metric. Between arrivals, completions and passed limits
every total is a straight line in time: that line is kept, and the task records are read only where
it bends, which keeps the reward far below the cost of the step itself.
Source: ours; the metrics are those of :mod:`prema_gym.metrics`, which tests hold these equal to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.envs.rewards.terms import ANTT, NOT_COMPILED, PRIORITY_ANTT, SLA, SLA_CURVE, STP
from prema_gym.envs.sources import Restarts
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator.engine import advance_one
from prema_gym.simulator.loading import start_one
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.state import DONE, NONE, TRUNCATED, State
from prema_gym.workloads.generate import draw_one

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# What is kept of a copy's lines, in the columns of `lines`:
SINCE, UNTIL, EVENTS = range(3)
# SINCE: where they start [cycles], NONE: a new episode, nothing paid yet; UNTIL: the last time at
# which they hold [cycles]; EVENTS: arrivals + completions when they were drawn.

# And of each total, in the layers of `totals`:
VALUE, SLOPE, PAID = range(3)  # at SINCE; per cycle; what rewards have been given for

TERMINATED_ROW, TRUNCATED_ROW = range(2)  # rows of `over`

_FOREVER = np.iinfo(np.int64).max


class Account(NamedTuple):
    """What the copies' totals are and were paid for."""

    codes: IntArray  # (T,) which totals: ``rewards.ANTT`` …; others are left to Python
    weights: FloatArray  # (T,)
    targets: IntArray  # (targets,) the NTT targets of the SLA curve, rising
    lines: IntArray  # (B, 3); see SINCE
    totals: FloatArray  # (3, B, T); see VALUE


class Payment(NamedTuple):
    """What one step gave B copies; its arrays belong to that step alone."""

    reward: FloatArray  # (B,) the weighted rise
    rise: FloatArray  # (T, B) of each total, unweighted
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


class Job(NamedTuple):
    """One step of B copies: what compiled code needs for it."""

    state: State  # the simulations; written in place
    table: ProfileTable  # the profiles
    options: EngineOptions  # the engine's
    actions: IntArray  # (B,)
    account: Account  # written in place
    payment: Payment  # written
    restarts: Restarts  # copies that are over, to start anew; arrays written in place


@in_place
def step_and_pay(job: Job, first: int, last: int) -> int:
    """Take one decision in each of the copies ``[first, last)``, and pay for it.

    One loop does both, while a copy's records are at hand. Copies of ``restarts`` start a new
    episode instead, for nothing.

    Args:
        job: The step.
        first: First copy.
        last: One past the last; threads may share a batch by ranges.

    Returns:
        How many of these copies stand at the end of an episode.
    """
    state, table, options, actions, account, payment, restarts = job
    codes, weights, targets, lines, totals = account
    reward, rise, over, stepped, now_ms, illegal_actions = payment
    restart, workload, drawing = restarts
    num_over = 0
    for b in range(first, last):
        advance_one(state, table, options, actions, b, last)
        record = state.env[b]
        now = record["now_cycles"]
        events = record["arrived"] + record["finished"]
        anew = lines[b, SINCE] == NONE
        if anew:
            totals[PAID, b, :] = 0.0
        if anew or events != lines[b, EVENTS] or now > lines[b, UNTIL]:
            lines[b, SINCE] = now
            lines[b, EVENTS] = events
            lines[b, UNTIL] = draw_lines(
                record, state.task[b], codes, targets, totals[VALUE, b], totals[SLOPE, b]
            )
        elapsed = now - lines[b, SINCE]
        earned = 0.0
        for t in range(codes.shape[0]):
            if codes[t] == NOT_COMPILED:
                rise[t, b] = 0.0
                continue
            total = totals[VALUE, b, t] + totals[SLOPE, b, t] * elapsed
            rise[t, b] = total - totals[PAID, b, t]
            totals[PAID, b, t] = total
            earned += weights[t] * rise[t, b]
        reward[b] = earned
        over[TERMINATED_ROW, b] = record["status"] == DONE
        over[TRUNCATED_ROW, b] = record["status"] == TRUNCATED
        stepped[b] = True
        now_ms[b] = now * options.ms_per_cycle
        illegal_actions[b] = record["illegal_actions"]
        num_over += record["status"] >= DONE
    for k in range(restart.shape[0]):
        b = restart[k]
        if first <= b < last and state.env[b]["status"] >= DONE:
            if drawing.generators.shape[0] > 0:
                draw_one(drawing, b, k, workload)
            start_one(state, table, options, workload, k, b)
            lines[b, SINCE] = NONE
            reward[b] = 0.0
            rise[:, b] = 0.0
            over[:, b] = False
            stepped[b] = False
            now_ms[b] = state.env[b]["now_cycles"] * options.ms_per_cycle
            illegal_actions[b] = 0
            num_over -= 1
    return num_over


@in_place
def draw_lines(
    record: np.void,
    tasks: NDArray[np.void],
    codes: IntArray,
    targets: IntArray,
    value: FloatArray,
    slope: FloatArray,
) -> int:
    """Work out value and slope of each total now, and until when they hold [cycles]."""
    now = record["now_cycles"]
    num_tasks = record["num_tasks"]
    num_targets = targets.shape[0]
    value[:] = 0.0
    slope[:] = 0.0
    until = _FOREVER
    all_priorities = 0
    for i in range(num_tasks):
        all_priorities += tasks[i]["priority"]
    for i in range(record["arrived"]):
        one = tasks[i]
        arrival = one["arrival_cycles"]
        isolated = one["isolated_cycles"]
        unfinished = one["completion_cycles"] == NONE
        end = now if unfinished else one["completion_cycles"]
        turnaround = end - arrival
        for t in range(codes.shape[0]):
            code = codes[t]
            if code in (ANTT, PRIORITY_ANTT):
                share = 1.0 / num_tasks
                if code == PRIORITY_ANTT:
                    share = one["priority"] / all_priorities
                value[t] -= share * (turnaround / isolated)
                if unfinished:
                    slope[t] -= share / isolated
            elif code == STP:
                if not unfinished:
                    value[t] += isolated / turnaround
            elif code == SLA:
                if end > one["deadline_cycles"]:
                    value[t] -= 1.0 / num_tasks
                elif unfinished:
                    until = min(until, one["deadline_cycles"])
            elif code == SLA_CURVE:
                passed = 0
                while passed < num_targets and turnaround > targets[passed] * isolated:
                    passed += 1
                value[t] -= passed / (num_targets * num_tasks)
                if unfinished and passed < num_targets:
                    until = min(until, arrival + targets[passed] * isolated)
    return until
