"""At the deadline and after it: what each rule that looks at deadlines does, on tables by hand.

D = d − t is the time left, R the work left, so slack = D − R.
"""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from tests.baselines.tables import Row, running, table, task


def _act(name: str, *rows: Row | None) -> int:
    return int(baselines.make(name).predict(table(*rows))[0])


def due(left: float, remaining: float, **columns: float) -> Row:
    """A waiting task with so much time and work left."""
    return task(slack_ms=left - remaining, remaining_ms=remaining) | columns


def run_due(left: float, remaining: float, **columns: float) -> Row:
    return running(slack_ms=left - remaining, remaining_ms=remaining) | columns


DEADLINE_RULES = [
    "np-edf",
    "static-edf",
    "static-lst",
    "np-edf-admission",
    "static-edf-admission",
    "dysta",
    "dream",
    "planaria",
    "aurora",
    "moca",
]


# Dysta's repository: two rules raise an error at d = t. (Warnings fail the tests.)
@pytest.mark.parametrize("name", DEADLINE_RULES)
@pytest.mark.parametrize("left", [1e-6, 0.0, -1e-6, -50.0])
@pytest.mark.parametrize("remaining", [0.0, 3.0])
def test_a_lone_comer_runs_however_late(name: str, left: float, remaining: float) -> None:
    assert _act(name, None, due(left, remaining)) == 1
    twins = (due(left, remaining, order=1), due(left, remaining, order=0))
    assert _act(name, *twins) == 1
    assert _act(name, due(left, remaining), run_due(left, remaining)) == 1


@pytest.mark.parametrize("name", ["np-edf", "static-edf", "static-lst"])
def test_the_latest_comes_first_without_admission(name: str) -> None:
    assert _act(name, due(0, 3), due(-9, 3), due(-2, 3), due(5, 3)) == 1


@pytest.mark.parametrize("name", ["np-edf-admission", "static-edf-admission"])
def test_admission_puts_the_lost_behind(name: str) -> None:
    # Slack 0 is enough, a little less is not.
    assert _act(name, due(2.9, 3), due(9, 3), due(3, 3), due(-9, 3)) == 2
    assert _act(name, due(2.9, 3), due(-9, 3)) == 1  # nobody to be saved: by deadline


def test_admission_displaces_a_lost_task_for_one_that_can_be_saved() -> None:
    assert _act("static-edf-admission", run_due(1, 3), due(9, 3)) == 1
    assert _act("np-edf-admission", run_due(1, 3), due(9, 3)) == 0


def test_dysta_has_no_room_below_zero() -> None:
    # Scores R + 0.01·max(0, slack): were the slack not cut off, −900 would win.
    assert _act("dysta", due(-890, 10), due(0, 9)) == 1
    assert _act("dysta", due(-890, 9), due(18, 9)) == 0  # 9 against 9.09
    assert _act("dysta", due(9, 9, order=1), due(-890, 9, order=0)) == 1  # 9 each


def test_dream_is_most_urgent_once_late() -> None:
    # R/D: 3/4, then 1 when R > D, when D = 0 and when D < 0, where the plain quotient is negative.
    for late in (due(2, 3), due(0, 3), due(-5, 3)):
        assert _act("dream", due(4, 3, order=0), late | {"order": 1}) == 1
    assert _act("dream", due(0, 0, order=1), due(4, 0, order=0)) == 0  # nothing left: 1 against 0
    # All three are equally urgent, so the first to arrive.
    assert _act("dream", due(2, 3, order=2), due(0, 3, order=1), due(-5, 3, order=0)) == 2


def test_dream_runs_who_has_starved_longer_than_a_layer() -> None:
    rows = (due(-5, 3), due(40, 3, since_run_ms=0.2, next_layer_ms=0.1))  # 1 against 3/40 + 2
    assert _act("dream", *rows) == 1
    parameters = "dream:alpha=0"
    assert _act(parameters, *rows) == 0
    longer = rows[1] | {"next_layer_ms": 0.25}  # 3/40 + 0.8
    assert _act("dream", rows[0], longer) == 0
    # Who runs and is about to end has no next layer.
    assert _act("dream", run_due(9, 3, next_layer_ms=0), due(9, 6)) == 1
    assert _act("dream", run_due(9, 3, next_layer_ms=0), due(9, 2)) == 0


def test_planaria_takes_the_lost_last() -> None:
    # π/D: 1/4 for the second; the first is lost and its negative quotient must not win or lose.
    assert _act("planaria", due(-1, 3, priority=9), due(4, 3)) == 1
    assert _act("planaria", due(0, 0), due(1, 1, priority=9)) == 0  # D = 0, R = 0: now or never
    # All lost: π/R, 9/5 against 1/1 and, with nothing left by its estimate, most of all.
    lost = (due(-1, 5, priority=9), due(0, 1))
    assert _act("planaria", *lost) == 0
    assert _act("planaria", *lost, due(-1, 0)) == 2


def test_aurora_takes_the_lost_last() -> None:
    assert _act("aurora", due(-1, 3, waited_ms=50), due(3, 3, waited_ms=1)) == 1
    assert _act("aurora", due(-1, 3, waited_ms=50), due(2, 3, waited_ms=60)) == 1  # all are lost


def test_moca_knows_no_deadline() -> None:
    assert _act("moca", due(-9, 3, waited_ms=5), due(9, 3, waited_ms=6)) == 1
    assert _act("moca", due(9, 3, waited_ms=50, priority=1), due(9, 3, priority=9)) == 1


@pytest.mark.parametrize(
    "name", ["static-edf", "np-edf", "static-edf-admission", "np-edf-admission", "planaria"]
)
@pytest.mark.parametrize("left", [100.1, 777.7, 4321.1])
def test_one_deadline_is_one_deadline_whatever_the_progress(name: str, left: float) -> None:
    # The table holds slack and R rounded to float32; their sum is the same deadline on paper only.
    progress = [left * share for share in (0.1, 0.17, 0.31, 0.57, 0.83, 0.99)]
    sums = {np.float32(left - r) + np.float64(np.float32(r)) for r in progress}
    assert len(sums) > 1
    for runs in range(6):
        rows = [
            (run_due if slot == runs else due)(left, r, order=slot)
            for slot, r in enumerate(progress)
        ]
        assert _act(name, *rows) == runs
    waiting = [due(left, r, order=(slot + 3) % 6) for slot, r in enumerate(progress)]
    assert _act(name, *waiting) == 3
    sooner = due(left - 0.002, 0.1, order=9)
    assert _act(name, *waiting, sooner) == 6


@pytest.mark.parametrize(
    ("gain", "preempt", "restore", "slot"),
    [(1.5, 0.25, 0.5, 0), (1.75, 0.25, 0.5, 1), (0, 0, 0, 0), (0.25, 0, 0, 1)],
)
def test_lst_switches_for_more_than_twice_its_cost(
    gain: float, preempt: float, restore: float, slot: int
) -> None:
    rows = (
        run_due(5, 3, preempt_ms=preempt, order=1),
        due(5 - gain, 3, restore_ms=restore, order=0),
    )
    assert _act("static-lst", *rows) == slot


def test_lst_asks_for_no_gain_on_a_free_machine() -> None:
    assert _act("static-lst", due(5, 3), due(4.9, 3, restore_ms=9)) == 1
