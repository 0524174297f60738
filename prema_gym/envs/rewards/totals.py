"""How much has a sub-environment earned by now? Totals of the compiled terms, and what they pay.

A reward term is a total that changes with time; a step is paid what it rose by.

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

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.simulator.state import NONE

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# The compiled terms, as `draw_lines` numbers them.
ANTT, PRIORITY_ANTT, STP, SLA, SLA_CURVE = range(5)
NOT_COMPILED = -1  # a term that Python pays, after the compiled ones

# What is kept of a sub-environment's lines, in the columns of `lines`:
SINCE, UNTIL, EVENTS = range(3)
# SINCE: where they start [cycles], NONE: a new episode, nothing paid yet; UNTIL: the last time at
# which they hold [cycles]; EVENTS: arrivals + completions when they were drawn.

# And of each total, in the layers of `totals`:
VALUE, SLOPE, PAID = range(3)  # at SINCE; per cycle; what rewards have been given for

_FOREVER = np.iinfo(np.int64).max


class Account(NamedTuple):
    """What the totals of B sub-environments are and were paid for."""

    codes: IntArray  # (T,) which totals: ANTT …, NOT_COMPILED
    weights: FloatArray  # (T,)
    targets: IntArray  # (targets,) the NTT targets of the SLA curve, rising
    lines: IntArray  # (B, 3); see SINCE
    totals: FloatArray  # (3, B, T); see VALUE


@inlined
def pay_one(
    account: Account,
    b: int,
    record: np.void,
    tasks: NDArray[np.void],
    reward: FloatArray,
    rise: FloatArray,
) -> None:
    """Pay sub-environment ``b`` for what its totals rose by since it was last paid.

    Args:
        account: Written in place.
        b: Which.
        record: Its clock and counters, ``state.ENV_DTYPE``.
        tasks: Its tasks (N,), ``state.TASK_DTYPE``.
        reward: float64 (B,), the weighted rise; element ``b`` is written.
        rise: float64 (T, B), of each total; column ``b`` is written, 0 where Python pays.
    """
    codes, weights, targets, lines, totals = account
    now = record["now_cycles"]
    events = record["arrived"] + record["finished"]
    anew = lines[b, SINCE] == NONE
    if anew:
        totals[PAID, b, :] = 0.0
    if anew or events != lines[b, EVENTS] or now > lines[b, UNTIL]:
        lines[b, SINCE] = now
        lines[b, EVENTS] = events
        lines[b, UNTIL] = draw_lines(
            record, tasks, codes, targets, totals[VALUE, b], totals[SLOPE, b]
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


@inlined
def open_one(account: Account, b: int, reward: FloatArray, rise: FloatArray) -> None:
    """Begin an episode of sub-environment ``b``, with nothing paid; arrays as `pay_one`'s."""
    account.lines[b, SINCE] = NONE
    reward[b] = 0.0
    rise[:, b] = 0.0


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
