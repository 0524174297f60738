"""Algorithm 2: the threshold, the candidates, and who of them runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.baselines.prema import Prema, is_candidate
from prema_gym.baselines.scoring import Seen
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.simulator import PRESENT, TOKEN
from tests.baselines.tables import Row, running, table, task


def _act(name: str, *rows: Row | None, **parameters: Any) -> int:
    return int(baselines.make(name, **parameters).predict(table(*rows))[0])


def _candidates(*rows: Row | None, **parameters: Any) -> list[bool]:
    """Whom the compiled rule lets compete, row by row; nobody: everybody, on a free machine."""
    ordering = Prema(**parameters)
    present = [row for row in table(*rows).astype(float) if row[PRESENT]]
    most = max(row[TOKEN] for row in present)
    seen = Seen(len(present), len(present), -most, np.uint64(0))
    found = iter([is_candidate(row, seen, ordering.numbers) for row in present])
    return [row is not None and bool(next(found)) for row in rows]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ((1, 1, 1), (True, True, True)),  # threshold 1
        ((1, 2.9, 1), (True, True, True)),  # still 1
        ((1, 3, 2.9), (False, True, False)),  # 3, met exactly
        ((8.9, 3, 2.9), (True, True, False)),  # still 3
        ((9, 3, 8.9), (True, False, False)),  # 9
        ((500, 9, 8.9), (True, True, False)),  # never above 9
        ((0.5, 0.2, 0.9), (True, True, True)),  # below every level: everybody
    ],
)
def test_the_threshold_is_the_largest_level_not_above_the_largest_token(
    tokens: tuple[float, ...], expected: tuple[bool, ...]
) -> None:
    rows = [task(token=token) for token in tokens]
    assert tuple(_candidates(*rows)) == expected


def test_an_empty_slot_is_no_candidate_even_at_threshold_0() -> None:
    assert _candidates(None, task(token=0.5), None) == [False, True, False]


def test_a_newcomer_raises_the_threshold_at_once() -> None:
    # Token 9 on arrival: the running task, with 8, is a candidate no longer.
    assert _candidates(running(token=8), task(token=9)) == [False, True]


def test_the_running_task_raises_the_threshold_with_its_frozen_token() -> None:
    assert _candidates(running(token=9), task(token=8)) == [True, False]


def test_levels_can_be_set() -> None:
    assert _candidates(task(token=5), task(token=7), levels=(2, 6)) == [False, True]
    assert _candidates(task(token=5), task(token=1), levels=(2, 6)) == [True, False]


def test_a_level_that_float32_rounds_is_still_met_exactly() -> None:
    # The table holds 0.7 rounded down; compared in double precision it would miss the level 0.7.
    assert _candidates(task(token=0.7), task(token=0.6), levels=(0.7,)) == [True, False]


# --- PREMA and TOKEN ----------------------------------------------------------------------------

QUEUE = (
    task(order=2, token=3, remaining_ms=5),
    task(order=1, token=4, remaining_ms=6),
    task(order=0, token=2, remaining_ms=1),  # first and shortest, but no candidate
)


def test_prema_runs_the_shortest_candidate() -> None:
    assert _act("np-prema", *QUEUE) == 0
    assert _act("static-prema", *QUEUE) == 0


def test_token_runs_the_first_candidate() -> None:
    assert _act("np-token", *QUEUE) == 1
    assert _act("static-token", *QUEUE) == 1


def test_prema_breaks_ties_by_running_then_arrival() -> None:
    assert _act("static-prema", task(order=0), running(order=1), task(order=2)) == 1
    assert _act("static-prema", task(order=1), task(order=0)) == 1


def test_a_running_candidate_gives_way_to_a_shorter_one() -> None:
    rows = (running(token=3, remaining_ms=5), task(token=3, remaining_ms=4))
    assert _act("static-prema", *rows) == 1
    assert _act("kill-prema", *rows) == 1
    assert _act("np-prema", *rows) == 0


def test_a_running_task_below_the_threshold_gives_way_to_a_longer_candidate() -> None:
    rows = (running(token=1, remaining_ms=1), task(token=3, remaining_ms=50))
    assert _act("static-prema", *rows) == 1
    assert _act("static-token", *rows) == 1


def test_token_keeps_a_running_candidate_that_came_first() -> None:
    assert _act("static-token", task(order=1, token=4), running(order=0, token=3)) == 1
    assert _act("static-token", task(order=0, token=4), running(order=1, token=3)) == 0


def test_a_late_candidate_is_the_shortest_of_all() -> None:
    late = running(token=3, estimated_ms=2, executed_ms=5, remaining_ms=0)
    assert _act("static-prema", task(token=3, remaining_ms=1), late) == 1


def test_shortest_by_estimate_ignores_what_has_been_executed() -> None:
    rows = (
        running(token=1, estimated_ms=10, remaining_ms=1),
        task(token=1, estimated_ms=5, remaining_ms=5),
    )
    assert _act("static-prema", *rows) == 0
    assert _act("static-prema", *rows, shortest_by="estimate") == 1


# --- strict, and the running task as no candidate -----------------------------------------------


def test_strict_wants_more_than_the_threshold() -> None:
    rows = (task(token=3, remaining_ms=1), task(token=3.5, remaining_ms=2))
    assert _act("np-prema", *rows) == 0
    assert _act("np-prema", *rows, strict=True) == 1


def test_strict_without_candidate_on_a_free_machine_considers_everybody() -> None:
    fresh = (task(order=0, remaining_ms=3), task(order=1, remaining_ms=2))
    assert _candidates(*fresh, strict=True) == [False, False]
    assert _act("np-prema", *fresh, strict=True) == 1
    assert _act("np-token", *fresh, strict=True) == 0


def test_strict_without_candidate_on_a_busy_machine_changes_nothing() -> None:
    fresh = (task(order=0, remaining_ms=3), running(order=1, remaining_ms=9), task(remaining_ms=2))
    assert _candidates(*fresh, strict=True) == [False, False, False]
    assert _act("static-prema", *fresh, strict=True) == 1
    assert _act("dynamic-prema", *fresh, strict=True) == 1


def test_strict_at_threshold_0_still_takes_everybody() -> None:
    assert _candidates(task(token=0.5), running(token=0.2), strict=True) == [True, True]


def test_without_the_running_task_the_best_waiting_candidate_displaces_it() -> None:
    rows = (running(token=3, remaining_ms=1), task(token=3, remaining_ms=9))
    assert _act("static-prema", *rows) == 0
    assert _act("static-prema", *rows, runner_is_candidate=False) == 1


def test_without_the_running_task_its_token_still_sets_the_threshold() -> None:
    rows = (running(token=9, remaining_ms=5), task(token=3, remaining_ms=1))
    assert _candidates(*rows, runner_is_candidate=False) == [False, False]
    assert _act("static-prema", *rows, runner_is_candidate=False) == 0


def test_killing_without_the_running_task_as_candidate_is_refused() -> None:
    with pytest.raises(ConfigError, match="would kill tasks again and again"):
        baselines.make("kill-prema:runner_is_candidate=false")


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [(), (0, 1), (3, 1), (1, 1), (1, float("inf")), (float("nan"),)])
def test_levels_must_be_positive_finite_and_rising(levels: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="levels must be rising numbers above 0"):
        Prema(levels=levels)


def test_shortest_by_must_be_a_known_length() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'remaining'"):
        Prema(shortest_by="remainder")
