"""Mistakes found in public implementations of these schedulers, each as the test it would fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.simulator import (
    AGE_MS,
    ESTIMATED_MS,
    EXECUTED_MS,
    NEXT_LAYER_MS,
    NUM_COLUMNS,
    ORDER,
    PREEMPT_MS,
    PRESENT,
    PRIORITY,
    QUANTUM_LEFT_MS,
    REMAINING_MS,
    RESTORE_MS,
    RUNNING,
    SINCE_RUN_MS,
    SLACK_MS,
    TOKEN,
    WAITED_MS,
)
from tests.baselines.tables import Row, random_tables, running, table, task
from tests.baselines.twin import BY_CHANCE, split

TOKEN_POLICIES = [name for name in baselines.names() if name.endswith(("-token", "-prema"))]


def _act(name: str, *rows: Row | None, **parameters: Any) -> int:
    return int(baselines.make(name, **parameters).predict(table(*rows))[0])


def test_progress_changes_the_dynamic_choice() -> None:
    # prema_sim: the remaining time is never updated, so "dynamic" always checkpoints.
    newcomer = task(token=3, estimated_ms=6, remaining_ms=6)  # R·E = 36
    early = running(token=1, estimated_ms=12, remaining_ms=11)  # R·E = 132
    nearly_done = running(token=1, estimated_ms=12, remaining_ms=1)  # R·E = 12
    assert _act("dynamic-prema", early, newcomer) == 1
    assert _act("dynamic-prema", nearly_done, newcomer) == 0


def test_degradation_compares_the_two_tasks_with_each_other() -> None:
    # prema_sim: each task's remaining time over its own estimate. Here that would be 1 against
    # 0.9 and drain; the wait of 1 ms costs the running task 1/100, its own 90 ms the newcomer 90.
    rows = (
        running(token=1, estimated_ms=100, remaining_ms=90),
        task(token=3, estimated_ms=1, remaining_ms=1),
    )
    assert _act("dynamic-prema", *rows) == 1


@pytest.mark.parametrize(("best", "threshold"), [(1, 1), (3, 3), (9, 9)])
def test_the_threshold_follows_the_tokens(best: float, threshold: float) -> None:
    # prema_sim: fixed at 3. The shortest task is just below the threshold each time.
    rows = (task(token=best, remaining_ms=5), task(token=threshold - 0.1, remaining_ms=1))
    assert _act("np-prema", *rows) == 0


@pytest.mark.parametrize("name", TOKEN_POLICIES)
def test_a_set_of_lowest_priority_tasks_is_scheduled(name: str) -> None:
    # SCALE-Sim-PREMA: levels 3/6/9/12, so a priority of 1 raises an error in the token policies.
    assert _act(name, task(order=0, priority=1, token=1), task(order=1, priority=1, token=1)) == 0


@pytest.mark.parametrize("name", ["static-sjf", "static-prema", "kill-sjf", "kill-prema"])
def test_equal_remaining_times_do_not_swap(name: str) -> None:
    # SCALE-Sim-PREMA: SJF swaps on equal remaining.
    assert _act(name, task(order=0, remaining_ms=4), running(order=1, remaining_ms=4)) == 1


def test_a_newcomer_counts_in_the_maximum() -> None:
    # Dysta's repository: a newcomer's token is left out, so the threshold would stay at 1.
    old = task(order=0, token=1, remaining_ms=1)
    newcomer = task(order=1, token=9, remaining_ms=9)
    assert _act("np-prema", old, newcomer) == 1


@pytest.mark.parametrize("name", TOKEN_POLICIES)
def test_a_fresh_set_of_equal_tokens_has_candidates(name: str) -> None:
    # "greater than" the rounded-down threshold would leave none.
    assert _act(name, task(order=0, token=3), task(order=1, token=3)) == 0


@pytest.mark.parametrize("name", [n for n in baselines.names() if n not in BY_CHANCE])
def test_ties_follow_arrival_not_the_position_in_the_list(name: str) -> None:
    for first in range(3):
        rows = [task(order=(slot - first) % 3) for slot in range(3)]
        assert _act(name, *rows) == first


@pytest.mark.parametrize("name", baselines.names())
@pytest.mark.parametrize("slack", [1.0, 0.0, -5.0])
def test_a_deadline_reached_or_missed_is_no_error(name: str, slack: float) -> None:
    # Dysta's repository: two rules divide by the time to the deadline. (Warnings fail the tests.)
    rows = (running(slack_ms=slack, remaining_ms=0), task(slack_ms=slack, remaining_ms=0))
    assert _act(name, *rows) in (0, 1)


DEADLINE = {SLACK_MS, REMAINING_MS}
WAIT = {WAITED_MS, ESTIMATED_MS}
READS = {
    "fcfs": set(),
    "hpf": {PRIORITY},
    "sjf": {REMAINING_MS},
    "rrb": {SINCE_RUN_MS, QUANTUM_LEFT_MS},
    "token": {TOKEN},
    "prema": {TOKEN, REMAINING_MS},
    "edf": DEADLINE,
    "edf-admission": DEADLINE,
    "lst": {SLACK_MS, PREEMPT_MS, RESTORE_MS},
    "spt": {ESTIMATED_MS},
    "srpt": {ESTIMATED_MS, REMAINING_MS},
    "least-er": {ESTIMATED_MS, REMAINING_MS},
    "wspt": {ESTIMATED_MS, PRIORITY},
    "wsrpt": {REMAINING_MS, PRIORITY},
    "hrrn": WAIT,
    "mlfq": {EXECUTED_MS, SINCE_RUN_MS, QUANTUM_LEFT_MS},
    "stride": {EXECUTED_MS, WAITED_MS, PRIORITY, QUANTUM_LEFT_MS},
    "cfs": {EXECUTED_MS, WAITED_MS, PRIORITY},
    "dysta": {REMAINING_MS, SLACK_MS, SINCE_RUN_MS, ESTIMATED_MS},
    "dream": {*DEADLINE, SINCE_RUN_MS, NEXT_LAYER_MS},
    "moca": WAIT | {PRIORITY},
    "planaria": DEADLINE | {PRIORITY},
    "aurora": WAIT | {SLACK_MS},
    "replan": {AGE_MS, ESTIMATED_MS, REMAINING_MS, PRIORITY, PREEMPT_MS, RESTORE_MS},
}


@pytest.mark.parametrize("name", [n for n in baselines.names() if n not in BY_CHANCE])
def test_rules_read_nothing_but_what_they_name(name: str) -> None:
    way, rule = split(name)
    reads = READS[rule] | ({ESTIMATED_MS, REMAINING_MS} if way == "dynamic" else set())
    tables = random_tables(seed=5, envs=200, slots=6)
    disguised = tables.copy()
    for column in set(range(NUM_COLUMNS)) - {PRESENT, RUNNING, ORDER} - reads:
        disguised[:, :, column] = np.random.default_rng(column).random((200, 6))
    policy = baselines.make(name)
    assert np.array_equal(policy.predict(tables)[0], policy.predict(disguised)[0])


@pytest.mark.parametrize(("name", "slot"), [("static-hpf", 1), ("dynamic-hpf", 0)])
def test_drain_makes_priorities_less_strict(name: str, slot: int) -> None:
    # Not a mistake, but easily overlooked: under Algorithm 3 a high priority may have to wait.
    rows = (
        running(priority=1, estimated_ms=5, remaining_ms=1),
        task(priority=9, estimated_ms=5, remaining_ms=5),
    )
    assert _act(name, *rows) == slot
