"""The fairness bound and the front against hand-worked numbers and exhaustive search.

Schedules are tried one unit of time after the other, by code that shares nothing with the package.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from prema_gym.bounds import antt_fairness_front, decode, fairness_bound, mean_front, optimum
from prema_gym.bounds.fairness import MAX_FRONT_TASKS, Front, fronts
from prema_gym.errors import ConfigError, WorkloadError
from prema_gym.metrics import fairness as fairness_of

Case = tuple[list[int], list[int], list[int]]


def random_case(seed: int, most_tasks: int = 4, most_cycles: int = 4) -> Case:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, most_tasks + 1))
    return (
        rng.integers(0, 5, count).tolist(),
        rng.integers(1, most_cycles + 1, count).tolist(),
        rng.choice([1, 3, 9], count).tolist(),
    )


def both(arrival: list[int], isolated: list[int], weight: list[int], ends: list[int]) -> Point:
    ntt = (np.array(ends) - arrival) / np.array(isolated)
    return float(fairness_of(ntt, weight)), float(ntt.mean())


Point = tuple[float, float]


def every_schedule(arrival: list[int], isolated: list[int], weight: list[int]) -> set[Point]:
    """Fairness and ANTT of every work-conserving schedule in whole units of time."""
    found: set[Point] = set()
    states = {(0, tuple(isolated), (0,) * len(arrival))}
    while states:
        later = set()
        for now, left, ends in states:
            if not any(left):
                found.add(both(arrival, isolated, weight, list(ends)))
                continue
            here = [j for j, rest in enumerate(left) if rest and arrival[j] <= now]
            for j in here:
                rest = tuple(x - (i == j) for i, x in enumerate(left))
                done = tuple(now + 1 if i == j and not rest[j] else e for i, e in enumerate(ends))
                later.add((now + 1, rest, done))
            if not here:
                later.add((now + 1, left, ends))
        states = later
    return found


def test_worked_by_hand() -> None:
    # 1 and 3 cycles of work at 0, alike in weight; the busy period ends at 4. So M* is 3/4.
    # Held back to 4/3 the short one has progress 3/4 too: fairness 1, ANTT 4/3.
    # Without holding it is done at 1 with progress 1: fairness 3/4, ANTT (1 + 4/3)/2 = 7/6.
    assert fairness_bound([0, 0], [1, 3]) == 1.0
    assert fairness_bound([0, 0], [1, 3], holding=False) == pytest.approx(3 / 4)
    front = antt_fairness_front([0, 0], [1, 3], points=5)
    assert front.fairness.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    # For fairness φ the short one waits until its progress is 3/4 over φ: until 4φ/3 where above 1.
    assert front.antt == pytest.approx([7 / 6, 7 / 6, 7 / 6, 7 / 6, 4 / 3])
    # With weight 9 the short one is owed more, p/w = 1/9: done at 1 it has progress 1/9, the long
    # one 3/4: fairness 4/27. There is nobody to hold back.
    for holding in (True, False):
        assert fairness_bound([0, 0], [1, 3], [9, 1], holding=holding) == pytest.approx(4 / 27)


@pytest.mark.parametrize("seed", range(60))
def test_no_schedule_is_fairer_than_the_bound(seed: int) -> None:
    case = random_case(seed)
    fairest = max(fairness for fairness, _ in every_schedule(*case))
    assert fairest <= fairness_bound(*case) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_approached_as_time_gets_finer(seed: int) -> None:
    arrival, isolated, weight = random_case(seed, most_tasks=3, most_cycles=2)
    bound = fairness_bound(arrival, isolated, weight)
    finer = [6 * x for x in arrival], [6 * x for x in isolated], weight
    assert fairness_bound(*finer) == pytest.approx(bound)
    gaps = [
        bound - max(f for f, _ in every_schedule(*case))
        for case in ((arrival, isolated, weight), finer)
    ]
    assert gaps[1] <= max(0.6 * gaps[0], 0.25 * bound)


@pytest.mark.parametrize("seed", range(60))
def test_without_holding_the_best_order_attains_it(seed: int) -> None:
    arrival, isolated, weight = random_case(seed, most_tasks=5, most_cycles=9)
    points = [
        both(arrival, isolated, weight, decode(list(order), arrival, isolated).tolist())
        for order in permutations(range(len(arrival)))
    ]
    fairest = max(fairness for fairness, _ in points)
    bound = fairness_bound(arrival, isolated, weight, holding=False)
    assert bound == pytest.approx(fairest, rel=1e-6)
    assert bound <= fairness_bound(arrival, isolated, weight) * (1 + 1e-9)
    front = antt_fairness_front(arrival, isolated, weight, holding=False, points=7)
    for level, antt in zip(front.fairness, front.antt, strict=True):
        best = min(a for fairness, a in points if fairness >= level * (1 - 1e-6))
        assert antt == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_no_schedule_lies_beyond_the_front(seed: int) -> None:
    case = random_case(seed)
    front = antt_fairness_front(*case, points=21)
    assert (np.diff(front.antt) >= 0).all()
    assert front.antt[0] == pytest.approx(optimum(case[0], case[1], "antt").value)
    for fairness, antt in every_schedule(*case):
        below = np.flatnonzero(front.fairness <= fairness)[-1]
        assert antt >= front.antt[below] * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_front_is_approached_as_time_gets_finer(seed: int) -> None:
    arrival, isolated, weight = random_case(seed, most_tasks=3, most_cycles=2)
    finer = [8 * x for x in arrival], [8 * x for x in isolated], weight
    front = antt_fairness_front(*finer, points=9)
    tried = every_schedule(*finer)
    for level, antt in zip(front.fairness[:-1], front.antt[:-1], strict=True):
        near = min(a for fairness, a in tried if fairness >= 0.93 * level)
        assert near <= antt * 1.02


def test_holding_never_costs() -> None:
    for seed in range(20):
        case = random_case(seed, most_tasks=6, most_cycles=20)
        with_it = antt_fairness_front(*case, points=11)
        without = antt_fairness_front(*case, holding=False, points=11)
        # On the levels of the one without.
        reached = np.interp(without.fairness, with_it.fairness, with_it.antt)
        assert (reached <= without.antt * 1.05).all()


def test_means_over_workloads() -> None:
    one = Front(fairness=np.array([0.0, 0.5]), antt=np.array([1.0, 2.0]), holding=True)
    other = Front(fairness=np.array([0.0, 1.0]), antt=np.array([1.0, 5.0]), holding=True)
    mean = mean_front([one, other], slopes=[0.0, 3.0, 5.0])
    assert mean.fairness.tolist() == [0.0, 0.25, 0.75]
    assert mean.antt.tolist() == [1.0, 1.5, 3.5]


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(3)
    arrival, isolated = rng.integers(0, 50, (6, 5)), rng.integers(1, 60, (6, 5))
    counts, weight = np.array([5, 4, 3, 5, 2, 1]), rng.choice([1, 3, 9], (6, 5))
    runs = [fronts(arrival, isolated, counts, weight, points=5, threads=n) for n in (1, 3)]
    for front, again in zip(*runs, strict=True):
        assert np.array_equal(front.antt, again.antt)


def test_what_is_refused() -> None:
    many = [0] * (MAX_FRONT_TASKS + 1)
    ones = [1] * len(many)
    assert 0 < fairness_bound(many, ones) <= 1
    for refused in (
        lambda: fairness_bound(many, ones, holding=False),
        lambda: antt_fairness_front(many, ones),
    ):
        with pytest.raises(ConfigError, match="at most 12 tasks, got 13"):
            refused()
    with pytest.raises(WorkloadError, match="weight must be above 0"):
        fairness_bound([0, 0], [1, 1], [1, 0])
