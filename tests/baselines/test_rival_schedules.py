"""Schedules of the rules beyond PREMA's own comparison, worked out by hand.

"A 0-6" means that A runs from cycle 0 to cycle 6; a deadline is the arrival plus twice the length.
Each schedule is played by the engine and by the slow reference (``play.py``).
"""

from __future__ import annotations

import pytest

from tests.baselines.play import NEVER, Task, play

# --- four tasks of different priority ------------------------------------------------------------
# The facts sheet's worked example. Deadlines: A 12, B 5, C 13, D 16. No quantum ends.

PRIORITIES = (Task(0, 6, 3), Task(1, 2, 1), Task(3, 5, 3), Task(4, 6, 9))  # A, B, C, D
PRIORITY_ROWS = [
    # At 6: B 5, C 13, D 16.
    ("np-edf", (6, 8, 13, 19)),
    # At 6, (W + E)/E: B 7/2, C 8/5, D 8/6. At 8: C 10/5, D 10/6.
    ("np-hrrn", (6, 8, 13, 19)),
    # At 1: B 5 before A 12: B 1-3. A 12 before C 13: A 3-8. Then C, D.
    ("static-edf", (8, 3, 13, 19)),
    # At 1, slack: A 12-1-5 = 6, B 5-1-2 = 2: B 1-3. At 3: A 4, C 5. At 4: A 4 = C 4, A goes on.
    # At 8: C 0, D 2.
    ("static-lst", (8, 3, 13, 19)),
    # E: A 6, B 2, C 5, D 6. B 1-3, C 3-8 (A has begun, but is 6 as a whole), A, D.
    ("static-spt", (13, 3, 8, 19)),
    # At 1: B 2 < A 5. At 3: A 5 = C 5, A came first. Then C 5 < D 6.
    ("static-srpt", (8, 3, 13, 19)),
    # π/E: A 0.5, B 0.5, C 0.6, D 1.5. A 0-3, C 3-4, D 4-10, C 10-14, A 14-17, B.
    ("static-wspt", (17, 19, 14, 10)),
    # At 1: A 3/5, B 1/2. At 3: A 3/3, C 3/5. At 4: A 3/2 = D 9/6, A goes on. At 6: D, C, B.
    ("static-wsrpt", (6, 19, 17, 12)),
    # At 1, E·R: A 30, B 4: B 1-3. At 3: A 30, C 25: C 3-8 (D 36). A 30 before D 36.
    ("static-least-er", (13, 3, 8, 19)),
    # The same over π: at 1: A 10, B 4. At 3: A 10, C 8.3: C 3-4. At 4: C 6.7, D 4: D 4-10.
    # C 6.7 before A 10.
    ("static-least-er:by_priority=true", (19, 3, 14, 10)),
    # At 1: A 5 + 0.06, B 2 + 0.02. At 3: A 5 + 0.01(4 + 2/(6·2)) = 5.042, C 5 + 0.05. At 8: C, D.
    ("dysta:unit_ms=1", (8, 3, 13, 19)),
    # In seconds, at 3: A 5 + 0.04 + 10·2/(6·2) = 6.71, C 5.05: C 3-8. At 8: A 5 + 10·7/(6·2) =
    # 10.8, D 6 + 0.02 + 10·4/(6·2) = 9.35: D 8-14.
    ("dysta", (19, 3, 8, 14)),
    # At 1, urgency: A 5/11, B 2/4: B 1-3. At 3: A has been off for 2, two layers of 1: A. At 4:
    # C, off for 1: C 4-9. At 9: A and D both off for 5; A has 4 left before 12, so 1, D 6/7:
    # A 9-13.
    ("dream", (13, 3, 9, 19)),
    # At 6: B 1 + 5/2, C 3 + 3/5, D 9 + 2/6: D 6-12. At 12: B 1 + 11/2, C 3 + 9/5.
    ("moca", (6, 14, 19, 12)),
    # At 1: A 3/11 > B 1/4. At 3: B, 1/2, can just make it: A 3/9, C 3/10: B 3-5. At 4: B 1/1,
    # A 3/8, D 9/12. At 5: A 3/7, C 3/8, D 9/11: D 5-11. At 11 A and C are lost: A 3/3, C 3/5.
    ("planaria", (14, 5, 19, 11)),
    # At 6: B is lost; W/E: C 3/5, D 2/6: C 6-11. At 11 D is lost too: B 10/2, D 7/6.
    ("aurora", (6, 13, 11, 19)),
    # At 6: B is lost; C 13 before D 16. At 11 D is lost too: B 5 before D 16.
    ("np-edf-admission", (6, 13, 11, 19)),
    # At 1: A and B can both be saved: B 1-3. A 3-8, C 8-13 just in time, D late.
    ("static-edf-admission", (8, 3, 13, 19)),
]


@pytest.mark.small
@pytest.mark.parametrize(("name", "completions"), PRIORITY_ROWS)
def test_priorities(name: str, completions: tuple[int, ...]) -> None:
    schedule = play(name, PRIORITIES)
    assert schedule.completions == completions
    assert sum(schedule.kills) == 0
    if name in ("moca", "aurora") or name.startswith("np-"):
        assert sum(schedule.checkpoints) == 0


# --- where neighbours part -----------------------------------------------------------------------

# At 10: B has waited 9 of 6, C 2 of 4, D 3 of 1.
RESPONSE = (Task(0, 10), Task(1, 6), Task(7, 1), Task(8, 4, 9))  # A, B, D, C
# Two of four cannot be saved. Deadlines: A 8, B 8, C 9, D 12.
OVERLOAD = (Task(0, 4), Task(0, 4), Task(1, 4), Task(4, 4))
# At 4: B, due 9, has waited 3 of 4; C, due 7, 1 of 2; both have a slack of 1.
EARLY_OR_SLOWED = (Task(0, 4), Task(1, 4), Task(3, 2))
# At 1 both have 5 left; B, due 11, is due before A, due 12.
ROOM = (Task(0, 6), Task(1, 5), Task(2, 1))
# A is estimated at 4, runs 10; B, 3 long, arrives at 5, C, 2 long, at 6.
LATE_ESTIMATE = (Task(0, 10, 1, 4), Task(5, 3), Task(6, 2))

NEIGHBOUR_ROWS = [
    # D 4, B 15/6, C 6/4: D 10-11; then B 16/6, C 7/4.
    ("np-hrrn", RESPONSE, (10, 17, 11, 21)),
    ("np-sjf", RESPONSE, (10, 21, 11, 15)),
    ("np-fcfs", RESPONSE, (10, 16, 17, 21)),
    # Times π: C 13.5, D 4, B 2.5: C 10-14; then D 8, B 19/6.
    ("np-hrrn:by_priority=true", RESPONSE, (10, 21, 15, 14)),
    # C runs when it is lost already, and D is lost through it.
    ("np-edf", OVERLOAD, (4, 8, 12, 16)),
    ("static-edf", OVERLOAD, (4, 8, 12, 16)),
    # At 8: C, due 9, is lost; D, due 12, is not.
    ("np-edf-admission", OVERLOAD, (4, 8, 16, 12)),
    ("static-edf-admission", OVERLOAD, (4, 8, 16, 12)),
    ("aurora", OVERLOAD, (4, 8, 16, 12)),
    ("planaria", OVERLOAD, (4, 8, 16, 12)),
    # The earliest deadline first, C; the most slowed down first, B; either loses the other.
    ("np-edf-admission", EARLY_OR_SLOWED, (4, 10, 6)),
    ("aurora", EARLY_OR_SLOWED, (4, 8, 10)),
    ("moca", EARLY_OR_SLOWED, (4, 8, 10)),
    # A tie for SRPT, so A goes on 0-2, C 2-3, A 3-7, B.
    ("static-srpt", ROOM, (7, 12, 3)),
    # At 1: A 5 + 0.06, B 5 + 0.05: B 1-2. C 2-3. At 3: B has 4 left: B 3-7, A. In seconds too.
    ("dysta:unit_ms=1", ROOM, (12, 7, 3)),
    ("dysta", ROOM, (12, 7, 3)),
    ("dysta:beta=0", ROOM, (7, 12, 3)),
    # At 5, A has outlived its estimate. SRPT takes 4 to be left, SJF nothing. At 6: B 2 = C 2.
    ("static-srpt", LATE_ESTIMATE, (15, 8, 10)),
    ("static-sjf", LATE_ESTIMATE, (10, 15, 12)),
    ("static-spt", LATE_ESTIMATE, (15, 10, 8)),
    ("static-wsrpt", LATE_ESTIMATE, (10, 15, 12)),
    ("static-least-er", LATE_ESTIMATE, (10, 15, 12)),
]


@pytest.mark.small
@pytest.mark.parametrize(("name", "tasks", "completions"), NEIGHBOUR_ROWS)
def test_where_neighbours_part(
    name: str, tasks: tuple[Task, ...], completions: tuple[int, ...]
) -> None:
    assert play(name, tasks).completions == completions


# --- quanta --------------------------------------------------------------------------------------


def test_mlfq_lets_short_tasks_finish_above() -> None:
    # Level 0 ends at 1 cycle of work, level 1 at 3. A 0-1 sinks, B 1-2 sinks, A 2-3 (off since 1),
    # B 3-4, C, new and so on top, 4-5. Level 1: A (2 done) 5-6 sinks to 2, B 6-7 done, A 7-10.
    tasks = (Task(0, 6), Task(0, 3), Task(4, 1))
    name = "static-mlfq:levels=3,slice_ms=1,boost_ms=100"
    assert play(name, tasks, quantum=1).completions == (10, 7, 5)


@pytest.mark.parametrize(("boost", "completions"), [(3, (8, 2, 3, 4, 6)), (100, (8, 2, 3, 4, 5))])
def test_mlfq_boosts_who_is_unserved_for_long(boost: int, completions: tuple[int, ...]) -> None:
    # A 0-1 sinks; B, C, D, each new, 1-4. At 4 A has been off for 3: boosted, it is unserved for
    # longer than E, just arrived: A 4-5, E 5-6, A 6-8. Without: E 4-5, A 5-8.
    tasks = (Task(0, 4), Task(1, 1), Task(2, 1), Task(3, 1), Task(4, 1))
    name = f"static-mlfq:levels=2,slice_ms=1,boost_ms={boost}"
    assert play(name, tasks, quantum=1, slots=5).completions == completions


def test_mlfq_counts_use_in_all_not_by_run() -> None:
    # Quantum 2, level 0 ends at 2. A 0-1, alone; B arrives but A's quantum lasts until 2, when A
    # has its 2 done and sinks. B 2-4 sinks as well. C arrives at 3, runs 4-5. A 5-7, B 7-9, A 9-10.
    tasks = (Task(0, 5), Task(1, 4), Task(3, 1))
    name = "static-mlfq:levels=2,slice_ms=2,boost_ms=100"
    assert play(name, tasks, quantum=2).completions == (10, 9, 5)


def test_stride_gives_shares_in_proportion() -> None:
    # Priorities 3, 2, 1. Passes after each quantum: A 1/3, B 1/2, C 1, A 2/3, B 1, A 1 | all at 1,
    # A goes on: 4/3, B 3/2, C 2 done at 9 | A 5/3, B 2 done at 11, A 2 done at 12.
    tasks = (Task(0, 6, 3), Task(0, 4, 2), Task(0, 2, 1))
    assert play("static-stride", tasks, quantum=1).completions == (12, 11, 9)


def test_stride_starts_a_newcomer_at_the_least_pass() -> None:
    # A 0-3 alone. N starts at A's pass, 3: A (on a tie) 3-4, N 4-5, N 5-6, A 6-8 done, N 8-9. With
    # a pass of 0, N would own the NPU 3-6.
    assert play("static-stride", (Task(0, 6), Task(3, 3)), quantum=1).completions == (8, 9)
    # A third one, P, arrives at 5: A 4, N 4, P 4. N (running) 5-6, A 6-7, P 7-8 done,
    # A and N at 5: A 8-9 done, N 9-10.
    tasks = (Task(0, 6), Task(3, 3), Task(5, 1))
    assert play("static-stride", tasks, quantum=1).completions == (9, 10, 8)


def test_stride_leaves_a_quantum_alone() -> None:
    # Quantum 2. B and C arrive at 1 and start at A's pass, but A's quantum lasts until 2. Then A is
    # 1 ahead: B 2-4 done, C 4-6 done, A 6-8.
    schedule = play("static-stride", (Task(0, 4), Task(1, 2), Task(1, 2)), quantum=2)
    assert schedule.completions == (8, 4, 6)
    assert schedule.checkpoints == (1, 0, 0)


def test_cfs_switches_only_for_more_than_the_granularity() -> None:
    # B has twice A's weight. At 1: A 1, B 0: 1 ahead of B: B 1-. B 0.5, 1, 1.5 at 4 against 1: not
    # more than 0.5. B done at 5, A 5-8.
    pair = (Task(0, 4, 1), Task(0, 4, 2))
    half = "static-cfs:granularity_ms=0.5,latency_ms=0"
    assert play(half, pair, quantum=1).completions == (8, 5)
    # At 4: 0.5 is more than 0: A 4-5, at 2; B, at 1.5, 5-6 done.
    none = "static-cfs:granularity_ms=0,latency_ms=0"
    assert play(none, pair, quantum=1).completions == (8, 6)


def test_cfs_starts_a_newcomer_half_a_latency_behind() -> None:
    # A 0-2 alone. B starts 1 behind A: not more than 1, so A 2-3. At 3 A is 2 ahead: B 3-. At 5
    # they are level: B goes on, 5-6 done. A 6-9. C arrives at 8, 1 behind A: A goes on to its end.
    tasks = (Task(0, 6), Task(2, 3), Task(8, 2))
    name = "static-cfs:granularity_ms=1,latency_ms=2"
    assert play(name, tasks, quantum=1).completions == (9, 6, 11)


def test_dream_at_every_quantum_is_round_robin() -> None:
    # Who has been off for longest in units of its length: equal lengths, so in turn.
    tasks = (Task(0, 4), Task(0, 4), Task(0, 4))
    assert play("dream", tasks, quantum=1).completions == (10, 11, 12)
    assert play("static-rrb", tasks, quantum=1).completions == (10, 11, 12)


def test_dream_counts_starvation_in_layers() -> None:
    tasks = (Task(0, 4), Task(0, 4, tile=4), Task(1, 4, tile=4), Task(1, 8))  # A, B, C, D
    # Deadlines 8, 8, 9, 17. At 1: A 3/7, B 4/7 + 1/4, C 4/8, D 8/16: B 1-5. At 5: A 1 + 4/1,
    # C 1 + 4/4, D 8/12 + 4/1: A 5-8. At 8: C 1 + 7/4, D 8/9 + 7/1, though C is the shorter: D 8-16.
    assert play("dream", tasks).completions == (8, 5, 20, 16)


def test_lst_with_hysteresis_does_not_swap_at_equal_slack() -> None:
    # A and B are both due at 20. Saving takes 1, restoring 1; the slack of who runs stays.
    tasks = (Task(0, 10), Task(4, 8))
    # At 4: A 10, B 8: 2 is not more than twice 1. At 6, the end of a quantum, B 6: saved 6-7, B 7-.
    # At 9, 11, 13: A 7, 5, 3, B 5: at 13, 2 is not more than twice 1 + 1. B done at 15, A 16-20.
    calm = play("static-lst", tasks, quantum=2, costly=True)
    assert calm.completions == (20, 15)
    assert calm.checkpoints == (1, 0)
    # At 4: saved 4-5, B 5-. At 7: A 7 = B 7. At 9, A 5: saved and restored 9-11, A 11-. At 13:
    # B 3 = A 3. At 15, B 1: 15-17, B 17-21. A 22-24.
    restless = play("static-lst:delta=0", tasks, quantum=2, costly=True)
    assert restless.completions == (24, 21)
    assert restless.checkpoints == (2, 1)


def test_lottery_is_drawn_once_a_quantum() -> None:
    tasks = (Task(0, 8, 1), Task(0, 8, 3), Task(0, 8, 9))
    schedule = play("static-lottery", tasks, quantum=4)
    # Slices of 4 only, so every end is a multiple of 4, and each task can be displaced only once.
    assert sorted(schedule.completions)[-1] == 24
    assert all(completion % 4 == 0 for completion in schedule.completions)
    assert max(schedule.checkpoints) <= 1
    assert play("static-lottery", tasks, quantum=NEVER).checkpoints == (0, 0, 0)
