"""How do the totals of the reward terms grow? Compiled, for every copy of a batch at once.

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

import numpy as np
from numpy.typing import NDArray

from prema_gym._jit import in_place
from prema_gym.envs.rewards import ANTT, NOT_COMPILED, PRIORITY_ANTT, SLA, SLA_CURVE, STP
from prema_gym.simulator.state import DONE, NONE, TRUNCATED

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


@in_place
def settle(
    env: NDArray[np.void],
    task: NDArray[np.void],
    codes: IntArray,
    weights: FloatArray,
    targets: IntArray,
    lines: IntArray,
    totals: FloatArray,
    reward: FloatArray,
    rise: FloatArray,
    over: BoolArray,
    first: int,
    last: int,
) -> int:
    """Pay the copies ``[first, last)`` for what happened since they were last paid.

    The arrays come one by one, not as a named tuple: Numba takes 2 µs to look at a tuple, which is
    a good part of a step of one copy.

    Args:
        env: Clock and counters (B,), ``state.ENV_DTYPE``; only read.
        task: Task records (B, N), ``state.TASK_DTYPE``; only read.
        codes: int64 (T,), which totals: ``rewards.ANTT`` …; others are left to Python.
        weights: float64 (T,).
        targets: int64 (targets,), the NTT targets of the SLA curve, rising.
        lines: int64 (B, 3), written in place; see SINCE.
        totals: float64 (3, B, T), written in place; see VALUE.
        reward: float64 (B,), written: the weighted rise.
        rise: float64 (T, B), written: the rise of each total.
        over: bool (2, B), written: terminated, truncated.
        first: First copy.
        last: One past the last; threads may share a batch by ranges.

    Returns:
        How many of these copies stand at the end of their episode.
    """
    num_over = 0
    for b in range(first, last):
        record = env[b]
        now = record["now_cycles"]
        events = record["arrived"] + record["finished"]
        anew = lines[b, SINCE] == NONE
        if anew:
            totals[PAID, b, :] = 0.0
        if anew or events != lines[b, EVENTS] or now > lines[b, UNTIL]:
            lines[b, SINCE] = now
            lines[b, EVENTS] = events
            lines[b, UNTIL] = draw_lines(
                record, task[b], codes, targets, totals[VALUE, b], totals[SLOPE, b]
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
        num_over += record["status"] >= DONE
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
