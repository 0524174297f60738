"""Schedules of two to four tasks worked out by hand, one where each policy differs from its kin.

"A 0-6" means that A runs from cycle 0 to cycle 6. Tokens are written T, waiting times W; a token is
π(1 + W/E). Each schedule is played by the engine and by the slow reference (``play.py``).
"""

from __future__ import annotations

import pytest

from prema_gym import baselines
from tests.baselines.play import NEVER, Task, play
from tests.baselines.twin import BY_CHANCE, PREMA_SET

# --- four tasks of different priority ------------------------------------------------------------
# The example of the classic policies: A and C of priority 3, B of 1, D of 9; no quantum ends.

PRIORITIES = (Task(0, 6, 3), Task(1, 2, 1), Task(3, 5, 3), Task(4, 6, 9))  # A, B, C, D
PRIORITY_ROWS = [
    # A 0-6, then in order of arrival.
    ("np-fcfs", (6, 8, 13, 19), 0),
    # At 6: B 2, C 5, D 6. The same order here.
    ("np-sjf", (6, 8, 13, 19), 0),
    # At 6: D, then C, then B.
    ("np-hpf", (6, 19, 17, 12), 0),
    # At 6, T: B 1(1 + 5/2) = 3.5, C 3(1 + 3/5) = 4.8, D 9(1 + 2/6) = 12: threshold 9, only D, 6-12.
    # At 12, T: B 1(1 + 11/2) = 6.5, C 3(1 + 9/5) = 8.4: threshold 3, both. B came first and is
    # the shorter.
    ("np-token", (6, 14, 19, 12), 0),
    ("np-prema", (6, 14, 19, 12), 0),
    # At 1: B 2 < A 5: B 1-3. At 3: A 5 = C 5, A came first: A 3-8. Then C 5 < D 6.
    ("static-sjf", (8, 3, 13, 19), 1),
    # At 3: C has A's priority, A goes on. At 4: D 4-10. Then A (before C) 10-12, C, B.
    ("static-hpf", (12, 19, 17, 10), 1),
    # At 4: T of D is 9, only D: 4-10. At 10, T: A 3(1 + 6/6) = 6, B 1(1 + 9/2) = 5.5,
    # C 3(1 + 7/5) = 7.2: threshold 3, all. A came first; A and B have 2 left each: A 10-12.
    # At 12, T: B 6.5, C 8.4: B by arrival and by length.
    ("static-token", (12, 14, 19, 10), 1),
    ("static-prema", (12, 14, 19, 10), 1),
    # At 1: R·E of B 2·2 is not above that of A 5·6: checkpoint. As static-sjf.
    ("dynamic-sjf", (8, 3, 13, 19), 1),
    # At 4: R·E of D 6·6 = 36 is above that of A 2·6 = 12: A is drained. The rest as np-.
    ("dynamic-hpf", (6, 19, 17, 12), 0),
    ("dynamic-token", (6, 14, 19, 12), 0),
    ("dynamic-prema", (6, 14, 19, 12), 0),
    # At 4: D kills A, 4-10. A begins again 10-16, C 16-21, B 21-23.
    ("kill-hpf", (16, 23, 21, 10), 1),
    # At 1: B kills A, 1-3. At 3: C 5 < A 6: C 3-8. At 8: A 6 = D 6, A came first: 8-14, D.
    ("kill-sjf", (14, 3, 8, 20), 1),
    # At 4: D kills A (its 4 cycles do not count as waited). At 10, T: A 6, B 5.5, C 7.2.
    # By arrival: A 10-16. At 16, T: B 1(1 + 15/2) = 8.5, C 3(1 + 13/5) = 10.8: threshold 9, only C.
    ("kill-token", (16, 23, 21, 10), 1),
    # By length at 10: B 2 < C 5 < A 6: B 10-12. At 12, T: A 3(1 + 8/6) = 7, C 8.4: C 12-17, A.
    ("kill-prema", (23, 12, 17, 10), 1),
]


@pytest.mark.small
@pytest.mark.parametrize(("name", "completions", "preemptions"), PRIORITY_ROWS)
def test_priorities(name: str, completions: tuple[int, ...], preemptions: int) -> None:
    schedule = play(name, PRIORITIES)
    assert schedule.completions == completions
    lost = schedule.kills if name.startswith("kill-") else schedule.checkpoints
    assert sum(lost) == preemptions
    assert sum(schedule.kills) + sum(schedule.checkpoints) == preemptions
    assert sum(schedule.drains) == 0  # the natural layout says "drain" by continuing


def test_priorities_round_robin() -> None:
    # Quantum 2. In the queue at each end, longest unserved first:
    # A 0-2 | B 2-4 done | A C D: A 4-6 | C D: C 6-8 | D A: D 8-10 | A C: A 10-12 done
    # | C D: C 12-14 | D: D 14-16 | C: C 16-17 done | D 17-19.
    schedule = play("static-rrb", PRIORITIES, quantum=2)
    assert schedule.completions == (12, 4, 17, 19)
    assert schedule.checkpoints == (2, 0, 2, 2)


# --- three tasks of equal priority ---------------------------------------------------------------
# X 0-4 whatever the policy: at 1, X has 3 left and Y 8; at 2, X has 2 left and Z 3. At 4, T: Y
# 1 + 3/8 = 1.375, Z 1 + 2/3 = 1.67, so the threshold is 1 and both are candidates.

EQUALS = (Task(0, 4), Task(1, 8), Task(2, 3))  # X, Y, Z
BY_ARRIVAL, BY_LENGTH = (4, 12, 15), (4, 15, 7)


@pytest.mark.parametrize("name", [n for n in PREMA_SET if n != "static-rrb"])
def test_equal_priorities(name: str) -> None:
    expected = BY_LENGTH if name.endswith(("-sjf", "-prema")) else BY_ARRIVAL
    schedule = play(name, EQUALS)
    assert schedule.completions == expected
    assert sum(schedule.checkpoints) + sum(schedule.kills) == 0


def test_equal_priorities_round_robin() -> None:
    # Quantum 2. At 2, Z arrives as X's quantum ends: Y, waiting since 1, is next. At 4, X (off
    # since 2) and Z (there since 2) joined the queue together: X, by arrival.
    # X 0-2, Y 2-4, X 4-6 done, Z 6-8, Y 8-10, Z 10-11 done, Y 11-15.
    schedule = play("static-rrb", EQUALS, quantum=2)
    assert schedule.completions == (6, 15, 11)
    assert schedule.checkpoints == (1, 2, 1)


# --- a long task of priority 3, a short one of 1 -------------------------------------------------
# Quantum 2, so the scheduler wakes at 1 (L arrives), 2, 4, 6, … L has the token 1 + W/2: 1.5 at 2,
# 2.5 at 4, 3.5 at 6, …, 8.5 at 16, 9.5 at 18. H keeps 3 while it runs.

LONG_AND_SHORT = (Task(0, 20, 3), Task(1, 2, 1))  # H, L
LONG_AND_SHORT_ROWS = [
    ("np-fcfs", (20, 22)),
    ("np-hpf", (20, 22)),
    ("np-sjf", (20, 22)),
    ("np-token", (20, 22)),
    ("np-prema", (20, 22)),
    # At 2 the turn is L's.
    ("static-rrb", (22, 4)),
    # L never outranks H.
    ("static-hpf", (20, 22)),
    # At 1: L 2 < H 19.
    ("static-sjf", (22, 3)),
    # From 6 to 16 both are candidates and H came first. At 18 the threshold is 9: only L.
    ("static-token", (22, 20)),
    # At 6 both are candidates and L is the shorter.
    ("static-prema", (22, 8)),
    # H is what HPF wants: nothing to weigh.
    ("dynamic-hpf", (20, 22)),
    # L weighs 2·2 each time; H 19·20 at 1, 14·20 at 6, 2·20 at 18: checkpoint.
    ("dynamic-sjf", (22, 3)),
    ("dynamic-token", (22, 20)),
    ("dynamic-prema", (22, 8)),
    # H begins again after L: 3 + 20, 20 + 20, 8 + 20.
    ("kill-hpf", (20, 22)),
    ("kill-sjf", (23, 3)),
    ("kill-token", (40, 20)),
    ("kill-prema", (28, 8)),
]


@pytest.mark.small
@pytest.mark.parametrize(("name", "completions"), LONG_AND_SHORT_ROWS)
def test_long_and_short(name: str, completions: tuple[int, int]) -> None:
    assert play(name, LONG_AND_SHORT, quantum=2).completions == completions


def test_prema_options_change_the_schedule() -> None:
    # strict: at 2 … 4 the threshold is 3 and nobody has more: H goes on. At 6, T of L is 3.5: L is
    # the only one above 3, as if by TOKEN too.
    assert play("static-token:strict=true", LONG_AND_SHORT, quantum=2).completions == (22, 8)
    # Levels 1 and 2 only: L meets 2 at 4, W = 3, T = 2.5.
    assert play("static-prema:levels=1/2", LONG_AND_SHORT, quantum=2).completions == (22, 6)
    # H no candidate: at 6, L is the only one. TOKEN does not ask who came first.
    name = "static-token:runner_is_candidate=false"
    assert play(name, LONG_AND_SHORT, quantum=2).completions == (22, 8)
    # By the whole estimate: P has 3 of 6 left when Q, of 4, arrives.
    pair = (Task(0, 6), Task(3, 4))
    assert play("static-prema", pair).completions == (6, 10)
    assert play("static-prema:shortest_by=estimate", pair).completions == (10, 7)


# --- DRAIN as an action --------------------------------------------------------------------------


@pytest.mark.small
@pytest.mark.parametrize(
    "mechanisms",
    [("checkpoint", "drain"), ("drain", "checkpoint"), ("kill", "drain", "checkpoint")],
)
@pytest.mark.parametrize("name", [n for n in baselines.names() if n.startswith("dynamic-")])
def test_an_explicit_drain_gives_the_same_schedule_and_is_counted(
    name: str, mechanisms: tuple[str, ...]
) -> None:
    by_continuing = play(name, PRIORITIES)
    explicit = play(name, PRIORITIES, mechanisms=mechanisms)
    assert explicit.completions == by_continuing.completions
    # A is drained for D, except by SJF, which never wants D while A runs.
    assert explicit.drains == ((0, 0, 0, 0) if name == "dynamic-sjf" else (1, 0, 0, 0))


def test_a_sticky_drain_is_not_asked_again() -> None:
    # At 4, D (R·E = 36) drains A (2·6 = 12). At 5, F outranks D: R·E of F 1 is not above A's 1·6.
    tasks = (Task(0, 6, 1), Task(4, 6, 9), Task(5, 1, 12))  # A, D, F
    both = ("checkpoint", "drain")
    # Asked again: A is checkpointed for F 5-6, then D 6-12, A 12-13.
    asked_again = play("dynamic-hpf", tasks, mechanisms=both)
    assert asked_again.completions == (13, 12, 6)
    assert asked_again.drains == (0, 0, 0)
    # Sticky: A 0-6, D 6-12 as promised, F last.
    sticky = play("dynamic-hpf", tasks, mechanisms=both, sticky_drain=True)
    assert sticky.completions == (6, 12, 13)
    assert sticky.drains == (1, 0, 0)
    # Said by continuing, it cannot be sticky.
    assert play("dynamic-hpf", tasks, sticky_drain=True).completions == asked_again.completions


# --- late estimates ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "estimate", "completions"),
    [
        # A runs 10 cycles; at 5, B (3 cycles, priority 9) arrives. Exact: A has 5 left.
        ("static-sjf", 10, (13, 8)),
        ("static-hpf", 10, (13, 8)),
        ("dynamic-hpf", 10, (13, 8)),  # 3·3 against 5·10
        # Estimated at 4: A seems to have nothing left.
        ("static-sjf", 4, (10, 13)),
        ("static-hpf", 4, (13, 8)),
        ("dynamic-hpf", 4, (10, 13)),  # 3·3 against 0
        ("dynamic-prema", 4, (10, 13)),  # only B is a candidate (T = 9): drained all the same
        ("kill-prema", 4, (18, 8)),
    ],
)
def test_late_estimates(name: str, estimate: int, completions: tuple[int, int]) -> None:
    tasks = (Task(0, 10, 1, estimate), Task(5, 3, 9))
    assert play(name, tasks).completions == completions


# --- what a switch costs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "completions"),
    [
        # H 0-10 with 6 left when S, of 3, arrives at 4.
        ("np-sjf", (10, 13)),
        # H saved 4-5, S 5-8, H restored 8-9, H 9-15.
        ("static-sjf", (15, 8)),
        # H killed at 4, S 4-7, H again 7-17.
        ("kill-sjf", (17, 7)),
    ],
)
def test_switches_that_cost_a_cycle(name: str, completions: tuple[int, int]) -> None:
    assert play(name, (Task(0, 10), Task(4, 3)), costly=True).completions == completions


@pytest.mark.parametrize(
    ("name", "completions"), [("static-sjf", (16, 8)), ("kill-sjf", (20, 8)), ("np-sjf", (12, 16))]
)
def test_the_tile_in_flight_is_finished_first(name: str, completions: tuple[int, int]) -> None:
    # Tiles of 4: asked at 1, H stops at 4; S 4-8; H goes on 8-16, or begins again 8-20.
    assert play(name, (Task(0, 12, tile=4), Task(1, 4))).completions == completions


# --- ties in time --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in baselines.names() if n not in BY_CHANCE])
def test_tasks_equal_in_everything_are_served_in_their_order(name: str) -> None:
    # A quantum as long as the tasks, so that round robin serves whole tasks too.
    schedule = play(name, [Task(0, 3)] * 3, quantum=3)
    assert schedule.completions == (3, 6, 9)
    assert sum(schedule.checkpoints) + sum(schedule.kills) == 0


@pytest.mark.parametrize("name", [n for n in baselines.names() if n.startswith("kill-")])
def test_killing_comes_to_an_end_however_often_the_scheduler_wakes(name: str) -> None:
    tasks = [Task(i, 5 + 3 * (i % 3), (1, 3, 9)[(2 * i) % 3]) for i in range(8)]
    schedule = play(name, tasks, quantum=1, slots=8)
    assert min(schedule.completions) > 0
    assert max(schedule.kills) < len(tasks)


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantum", [1, NEVER])
@pytest.mark.parametrize("name", baselines.names())
def test_laws_of_any_schedule(name: str, quantum: int) -> None:
    tasks = (Task(0, 7, 1), Task(0, 2, 3), Task(3, 5, 9), Task(4, 1, 1), Task(9, 6, 3))
    schedule = play(name, tasks, quantum=quantum)
    ntt = [
        (completion - task.arrival) / task.length
        for completion, task in zip(schedule.completions, tasks, strict=True)
    ]
    antt, stp = sum(ntt) / len(ntt), sum(1 / slowdown for slowdown in ntt)
    assert min(ntt) >= 1
    assert 0 < stp <= len(tasks)
    assert antt * stp >= len(tasks) * (1 - 1e-12)  # arithmetic against harmonic mean
    if not name.startswith("kill-"):
        # Nothing is lost, switches are free and the machine never idles: 21 cycles of work.
        assert max(schedule.completions) == 21
    if name.startswith("np-"):
        assert sum(schedule.checkpoints) + sum(schedule.kills) == 0
