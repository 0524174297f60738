from __future__ import annotations

import numpy as np
import pytest

from prema_gym.baselines.table import Table
from prema_gym.simulator import PRIORITY, TOKEN
from tests.baselines.tables import Row, running, table, task


def _least(*rows: Row | None, score: list[float], among: list[bool] | None = None) -> list[int]:
    one = Table(table(*rows)[np.newaxis])
    mask = None if among is None else np.array(among)[:, np.newaxis]
    return list(one.least(np.array(score)[:, np.newaxis], mask).tolist())


def test_least_takes_the_least_score_of_the_present_tasks() -> None:
    assert _least(task(), None, task(), task(), score=[3, 0, 1, 2]) == [2]


def test_a_tie_goes_to_the_running_task_before_an_earlier_arrival() -> None:
    assert _least(task(order=0), running(order=1), task(order=2), score=[1, 1, 1]) == [1]


def test_a_tie_between_waiting_tasks_goes_to_the_earlier_arrival_not_the_lower_slot() -> None:
    assert _least(task(order=2), task(order=0), task(order=1), score=[1, 1, 1]) == [1]


def test_being_first_or_running_does_not_beat_a_better_score() -> None:
    assert _least(task(order=0), running(order=1), task(order=2), score=[2, 2, 1]) == [2]


def test_only_those_among_compete() -> None:
    assert _least(task(), task(), task(), score=[1, 2, 3], among=[False, True, True]) == [1]


@pytest.mark.parametrize(
    ("rows", "slot"),
    [
        ((task(order=1), running(order=2), task(order=0)), 1),  # busy: the running task
        ((task(order=1), None, task(order=0)), 2),  # free: the earliest arrival
        ((None, None, None), 0),
    ],
)
def test_with_nobody_among_it_does_what_the_simulator_does_with_an_illegal_action(
    rows: tuple[Row | None, ...], slot: int
) -> None:
    assert _least(*rows, score=[1, 2, 3], among=[False, False, False]) == [slot]


def test_columns_are_copies_laid_out_slots_first() -> None:
    observation = np.stack([table(task(token=2), task(token=3)), table(None, running(token=5))])
    tables = Table(observation)
    token = tables.column(TOKEN)
    assert token.tolist() == [[2, 0], [3, 5]]
    token[:] = 0
    assert observation[0, 0, TOKEN] == 2
    assert tables.present.tolist() == [[True, False], [True, True]]
    assert tables.waiting.tolist() == [[True, False], [True, False]]
    assert tables.busy.tolist() == [False, True]
    assert tables.runner[1] == 1
    assert tables.value(PRIORITY, np.array([1, 1])).tolist() == [1, 1]
    assert tables.slots == 2
