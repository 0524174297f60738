"""The facts sheet's worked example, to the digit: completions and every metric of nine policies.

Switches are free (memory of infinite bandwidth and no latency, a preemption point at every cycle),
so what a policy loses against the optimum it loses by its order alone.
"""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym import metrics
from prema_gym.bounds import optimum
from tests.baselines.play import Task, play

TASKS = (Task(0, 6, 3), Task(1, 2, 1), Task(3, 5, 3), Task(4, 6, 9))  # A, B, C, D; due at r + 2p
ARRIVAL, LENGTH, WEIGHT = (np.array([task[i] for task in TASKS]) for i in range(3))

# Completions of A, B, C, D; Σ wC; Σ C; ANTT; STP; fairness; misses; worst NTT.
FIRST_COME = ((6, 8, 13, 19), 236, 46, 2.2500, 2.1857, 0.1333, 2, 3.5)
SHORTEST_REMAINING = ((8, 3, 13, 19), 237, 43, 1.7083, 2.6500, 0.0444, 1, 2.5)
SHORTEST = ((13, 3, 8, 19), 237, 43, 1.6667, 2.8615, 0.0444, 2, 2.5)
ROWS = {
    "np-fcfs": FIRST_COME,
    "np-sjf": FIRST_COME,
    "np-hrrn": FIRST_COME,
    "static-srpt": SHORTEST_REMAINING,
    "static-edf": SHORTEST_REMAINING,
    "static-spt": SHORTEST,
    "static-hpf": ((12, 19, 17, 10), 196, 58, 3.7000, 1.9683, 0.6667, 2, 9.0),
    "static-wspt": ((17, 19, 14, 10), 202, 60, 3.7583, 1.9186, 0.7333, 3, 9.0),
    "static-wsrpt": ((6, 19, 17, 12), 196, 54, 3.5333, 2.2183, 0.2500, 2, 9.0),
}


@pytest.mark.small
@pytest.mark.parametrize("name", ROWS)
def test_every_figure_of_the_row(name: str) -> None:
    completions, weighted, total, antt, stp, fairness, misses, worst = ROWS[name]
    played = play(name, TASKS).completions
    assert played == completions
    done = np.array(played)
    ntt = metrics.ntt(ARRIVAL, done, LENGTH, np.ones(4, bool))
    assert (WEIGHT * done).sum() == weighted
    assert done.sum() == total
    assert round(float(metrics.antt(ntt)), 4) == antt
    assert round(float(metrics.stp(ntt)), 4) == stp
    assert round(float(metrics.fairness(ntt, WEIGHT)), 4) == fairness
    assert metrics.missed_deadlines(done, ARRIVAL + 2 * LENGTH, np.ones(4, bool)) == misses
    assert ntt.max() == worst


def test_the_optimum_is_reached_where_the_sheet_says() -> None:
    assert optimum(ARRIVAL, LENGTH).value == pytest.approx(5 / 3)  # by SPT
    assert optimum(ARRIVAL, LENGTH, "weighted_completion", weight=WEIGHT).value == 192  # by none
    assert optimum(ARRIVAL, LENGTH, "worst_ntt").value == 2.5  # by SRPT and SPT
    due = ARRIVAL + 2 * LENGTH
    assert optimum(ARRIVAL, LENGTH, "deadline_misses", deadline=due).value == 1  # by SRPT
