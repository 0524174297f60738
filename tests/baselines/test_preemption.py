"""What becomes of an ordering's wish: mechanisms, their indices, and Algorithm 3."""

from __future__ import annotations

import pytest

from prema_gym import baselines
from tests.baselines.tables import Row, running, table, task

ALL = ("checkpoint", "kill", "drain")


def _act(name: str, *rows: Row | None, mechanisms: tuple[str, ...] = ALL) -> int:
    return int(baselines.make(name, mechanisms=mechanisms).predict(table(*rows))[0])


# Three slots. Slot 1 runs; HPF wants slot 2.
WISH = (task(priority=1), running(priority=1), task(priority=9))


@pytest.mark.parametrize(
    ("name", "mechanisms", "action"),
    [
        ("np-hpf", ALL, 1),
        ("static-hpf", ALL, 0 * 3 + 2),
        ("kill-hpf", ALL, 1 * 3 + 2),
        ("static-hpf", ("kill", "drain", "checkpoint"), 2 * 3 + 2),
        ("kill-hpf", ("kill", "drain", "checkpoint"), 0 * 3 + 2),
        ("kill-hpf", ("drain", "kill"), 1 * 3 + 2),
    ],
)
def test_the_mechanism_index_is_the_position_in_the_simulations_tuple(
    name: str, mechanisms: tuple[str, ...], action: int
) -> None:
    assert _act(name, *WISH, mechanisms=mechanisms) == action


@pytest.mark.parametrize("mechanisms", [ALL, ("kill", "drain", "checkpoint")])
@pytest.mark.parametrize("name", ["static-hpf", "dynamic-hpf", "kill-hpf"])
def test_continuing_and_dispatching_are_plain_slots(name: str, mechanisms: tuple[str, ...]) -> None:
    keep = (task(priority=1), None, running(priority=3))
    assert _act(name, *keep, mechanisms=mechanisms) == 2
    free = (task(priority=1), None, task(priority=3))
    assert _act(name, *free, mechanisms=mechanisms) == 2


# --- Algorithm 3 --------------------------------------------------------------------------------

# The running task: R = 2, E = 6, so R·E = 12. The newcomer has higher priority and:
CASES = [
    # R  E   D_cur = R/6  D_cand = 2/E
    (6, 6, True),  # 1      > 1/3: drain
    (3, 4, False),  # 1/2   = 1/2: not larger, checkpoint
    (3, 4.01, True),  # 1/2 > 0.4988: drain
    (2, 5.9, False),  # 1/3 < 0.339: checkpoint
    (1, 100, True),  # 1/6  > 1/50: little left of a long task can wait less than the running one
    (0, 6, False),  # 0     < 1/3: a late newcomer is believed to be at its end
]


@pytest.mark.parametrize(("remaining", "estimate", "drains"), CASES)
def test_drain_iff_the_running_task_would_lose_more(
    remaining: float, estimate: float, drains: bool
) -> None:
    rows = (
        running(priority=1, remaining_ms=2, estimated_ms=6),
        task(priority=3, remaining_ms=remaining, estimated_ms=estimate),
        None,
    )
    # As the paper writes it: degradations relative to each task's own length.
    assert drains == (remaining / 6 > 2 / estimate)
    assert _act("dynamic-hpf", *rows) == (2 * 3 + 1 if drains else 0 * 3 + 1)
    # Without DRAIN in the simulation it is said by continuing.
    assert _act("dynamic-hpf", *rows, mechanisms=("checkpoint",)) == (0 if drains else 1)


def test_a_running_task_past_its_estimate_is_drained() -> None:
    rows = (running(priority=1, remaining_ms=0), task(priority=9, remaining_ms=0.001))
    assert _act("dynamic-hpf", *rows) == 2 * 2 + 1


def test_two_tasks_past_their_estimates_are_equal_so_the_wish_is_granted() -> None:
    rows = (running(priority=1, remaining_ms=0), task(priority=9, remaining_ms=0))
    assert _act("dynamic-hpf", *rows) == 1


def test_the_comparison_is_exact_where_single_precision_would_round() -> None:
    # R·E = 3·5 592 405.5 = 16 777 216.5 against 16 777 216·1: equal once rounded to 24 bits.
    rows = (
        running(priority=1, remaining_ms=16_777_216, estimated_ms=1),
        task(priority=3, remaining_ms=3, estimated_ms=5_592_405.5),
    )
    assert _act("dynamic-hpf", *rows) == 2 * 2 + 1


def test_only_the_wish_is_weighed_not_who_else_waits() -> None:
    rows = (
        running(priority=1, remaining_ms=2, estimated_ms=6),
        task(priority=3, remaining_ms=9, estimated_ms=9),  # heavier, but HPF wants the next
        task(priority=9, remaining_ms=1, estimated_ms=1),
    )
    assert _act("dynamic-hpf", *rows) == 2
