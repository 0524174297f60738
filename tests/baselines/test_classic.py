"""Tables worked by hand; slot numbers are shuffled so that they never agree with the order."""

from __future__ import annotations

import pytest

from prema_gym import baselines
from tests.baselines.tables import Row, running, table, task


def _act(name: str, *rows: Row | None) -> int:
    return int(baselines.make(name).predict(table(*rows))[0])


# --- FCFS ---------------------------------------------------------------------------------------


def test_fcfs_runs_the_earliest_arrival_whatever_else_it_is() -> None:
    rows = (task(order=1, priority=9, remaining_ms=1), task(order=0, priority=1), None)
    assert _act("np-fcfs", *rows) == 1


def test_fcfs_goes_on_with_the_running_task() -> None:
    assert _act("np-fcfs", task(order=0), None, running(order=1)) == 2


# --- HPF ----------------------------------------------------------------------------------------


def test_hpf_runs_the_highest_priority() -> None:
    rows = (task(order=0, priority=1), task(order=1, priority=3), task(order=2, priority=9))
    assert _act("np-hpf", *rows) == 2
    assert _act("static-hpf", *rows) == 2


def test_hpf_serves_a_level_first_come_first_served() -> None:
    rows = (task(order=2, priority=3), task(order=1, priority=3), task(order=0, priority=1))
    assert _act("np-hpf", *rows) == 1


@pytest.mark.parametrize(("name", "slot"), [("np-hpf", 0), ("static-hpf", 1), ("kill-hpf", 1)])
def test_hpf_displaces_a_lower_priority_unless_non_preemptive(name: str, slot: int) -> None:
    assert _act(name, running(priority=1), task(priority=3)) == slot


@pytest.mark.parametrize("name", ["static-hpf", "kill-hpf"])
def test_hpf_keeps_the_running_task_on_a_tie_even_against_an_earlier_arrival(name: str) -> None:
    assert _act(name, task(order=0, priority=3), running(order=1, priority=3)) == 1


# --- SJF ----------------------------------------------------------------------------------------


def test_sjf_goes_by_what_remains_not_by_the_whole() -> None:
    rows = (
        task(order=0, estimated_ms=10, remaining_ms=2),
        task(order=1, estimated_ms=3, remaining_ms=3),
    )
    assert _act("np-sjf", *rows) == 0
    assert _act("static-sjf", *rows) == 0


@pytest.mark.parametrize(("name", "slot"), [("np-sjf", 0), ("static-sjf", 1), ("kill-sjf", 1)])
def test_sjf_displaces_a_longer_task_unless_non_preemptive(name: str, slot: int) -> None:
    assert _act(name, running(remaining_ms=5), task(remaining_ms=4)) == slot


def test_sjf_keeps_the_running_task_on_equal_remaining() -> None:
    assert _act("static-sjf", task(order=0), running(order=1)) == 1


def test_sjf_never_displaces_a_task_that_outlives_its_estimate() -> None:
    late = running(order=1, estimated_ms=4, executed_ms=6, remaining_ms=0)
    assert _act("static-sjf", task(order=0, remaining_ms=0.1), late) == 1
    also_late = task(order=0, estimated_ms=2, executed_ms=3, remaining_ms=0)
    assert _act("static-sjf", also_late, late) == 1


# --- RRB ----------------------------------------------------------------------------------------


def test_rrb_lets_the_running_task_finish_its_quantum() -> None:
    assert _act("static-rrb", task(since_run_ms=9), running(quantum_left_ms=0.01)) == 1


def test_rrb_gives_the_turn_to_the_task_unserved_for_longest() -> None:
    rows = (
        running(order=0, quantum_left_ms=0),
        task(order=1, since_run_ms=0.25),
        task(order=2, since_run_ms=0.5),
        None,
    )
    assert _act("static-rrb", *rows) == 2


def test_rrb_on_a_free_machine_needs_no_quantum() -> None:
    assert _act("static-rrb", task(since_run_ms=0.25), task(since_run_ms=0.5)) == 1


def test_rrb_serves_those_who_queued_at_the_same_instant_by_arrival() -> None:
    rows = (
        task(order=2, since_run_ms=1),
        running(order=0, quantum_left_ms=0),
        task(order=1, since_run_ms=1),
    )
    assert _act("static-rrb", *rows) == 2


def test_rrb_serves_a_newcomer_that_arrives_as_the_quantum_ends() -> None:
    assert _act("static-rrb", running(quantum_left_ms=0), task(since_run_ms=0)) == 1


def test_rrb_goes_on_when_nobody_waits() -> None:
    assert _act("static-rrb", None, running(quantum_left_ms=0)) == 1
