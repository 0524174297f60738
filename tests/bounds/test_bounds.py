"""The optima and bounds against hand-worked numbers, exhaustive search, and rules played in full.

The schedules here are played by code of their own (`play`, `exhaustive`), which shares nothing
with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym import metrics
from prema_gym.bounds import (
    MAX_TASKS,
    OBJECTIVES,
    antt_bound,
    antt_fairness_front,
    decode,
    fairness_bound,
    fewest_misses,
    fronts,
    least_worst_ntt,
    lp_bound,
    mean_front,
    optimum,
    optimum_batch,
    regret,
    srpt_completions,
    stp_cap,
    wspt_completions,
)
from prema_gym.errors import ConfigError, UnknownNameError, WorkloadError


class Tasks(NamedTuple):
    arrival: list[int]
    isolated: list[int]
    weight: list[int]
    deadline: list[int]


# Tasks A, B, C, D; every number about them below was worked out by hand.
EXAMPLE = Tasks([0, 1, 3, 4], [6, 2, 5, 6], [3, 1, 3, 9], [12, 5, 13, 16])
TARGET = Fraction(5, 2)


def arguments(objective: str, tasks: Tasks) -> dict[str, Any]:
    """The optional arguments this objective takes."""
    every = {"weight": tasks.weight, "deadline": tasks.deadline, "target": TARGET}
    return {name: every[name] for name in OBJECTIVES[objective].uses}


# --- Independent twins: what an objective is, how a rule plays, all schedules there are ----------


def task_costs(tasks: Tasks, j: int, completion: int) -> dict[str, float | Fraction]:
    """Cost of one task under each objective, written from the definitions."""
    r, p, w, d = (column[j] for column in tasks)
    n = len(tasks.arrival)
    ntt = Fraction(completion - r, p)
    return {
        "antt": ntt / n,
        "stp": -1 / ntt,
        "weighted_completion": w * completion,
        "sla_violation": Fraction(ntt > TARGET, n),
        "sla_curve": Fraction(sum(ntt > k for k in range(2, 21)), 19 * n),
        "deadline_misses": w * (completion > d),
        "tardiness": w * max(0, completion - d),
        "worst_ntt": ntt,
    }


def values(tasks: Tasks, completion: Sequence[int]) -> dict[str, float]:
    """Value of a whole schedule under each objective."""
    costs = [task_costs(tasks, j, int(c)) for j, c in enumerate(completion)]
    result = {name: float(sum(cost[name] for cost in costs)) for name in OBJECTIVES}
    result["worst_ntt"] = float(max(cost["worst_ntt"] for cost in costs))
    result["stp"] *= -1
    return result


Score = Callable[[Tasks, int, int, int], float]  # tasks, j, left, now -> least runs first

RULES: dict[str, tuple[Score, bool]] = {  # the score, and whether the rule preempts
    "fcfs": (lambda t, j, left, now: t.arrival[j], False),
    "sjf": (lambda t, j, left, now: t.isolated[j], False),
    "hrrn": (lambda t, j, left, now: -(now - t.arrival[j]) / t.isolated[j], False),
    "srpt": (lambda t, j, left, now: left, True),
    "p-spt": (lambda t, j, left, now: t.isolated[j], True),
    "edf": (lambda t, j, left, now: t.deadline[j], True),
    "p-hpf": (lambda t, j, left, now: -t.weight[j], True),
    "wspt": (lambda t, j, left, now: -t.weight[j] / t.isolated[j], True),
    "wsrpt": (lambda t, j, left, now: -t.weight[j] / left, True),
    "least-e-r": (lambda t, j, left, now: t.isolated[j] * left, True),
}


class Piece(NamedTuple):
    task: int
    start: int
    end: int


def play(tasks: Tasks, score: Score, preempts: bool, machines: int = 1) -> list[Piece]:
    """Play a rule that decides at arrivals and completions, or only on a free machine.

    On several machines the tasks of least score run, and may migrate.
    """
    everyone = range(len(tasks.arrival))
    left = list(tasks.isolated)
    pieces: list[Piece] = []
    running: list[int] = []
    now = 0
    while any(left):
        ready = [j for j in everyone if tasks.arrival[j] <= now and left[j]]
        later = [r for r in tasks.arrival if r > now]
        if not ready:
            now = min(later)
            continue
        kept = [] if preempts else [j for j in running if left[j]]
        scores = {j: score(tasks, j, left[j], now) for j in ready if j not in kept}
        ranking = sorted(scores, key=lambda j: (scores[j], j not in running, tasks.arrival[j], j))
        running = (kept + ranking)[:machines]
        end = min([now + left[j] for j in running] + later)
        for j in running:
            left[j] -= end - now
            pieces.append(Piece(j, now, end))
        now = end
    return pieces


def completions(pieces: list[Piece]) -> list[int]:
    end = {piece.task: piece.end for piece in pieces}  # the last piece of a task stays
    return [end[j] for j in range(len(end))]


def exhaustive(tasks: Tasks, machines: int = 1) -> dict[str, float]:
    """Best value of each objective over all schedules in unit steps, idling included."""
    everyone = range(len(tasks.arrival))
    horizon = max(tasks.arrival) + sum(tasks.isolated)
    names = list(OBJECTIVES)

    @cache
    def best(now: int, left: tuple[int, ...]) -> tuple[float, ...]:
        if not any(left):
            return tuple(-math.inf if name == "worst_ntt" else 0.0 for name in names)
        if now == horizon:
            return (math.inf,) * len(names)
        ready = [j for j in everyone if tasks.arrival[j] <= now and left[j]]
        found = [math.inf] * len(names)
        for size in range(min(machines, len(ready)) + 1):
            for chosen in combinations(ready, size):
                after = best(now + 1, tuple(x - (j in chosen) for j, x in enumerate(left)))
                ended = [task_costs(tasks, j, now + 1) for j in chosen if left[j] == 1]
                for i, name in enumerate(names):
                    costs = [float(cost[name]) for cost in ended]
                    total = (
                        max([after[i], *costs]) if name == "worst_ntt" else after[i] + sum(costs)
                    )
                    found[i] = min(found[i], total)
        return tuple(found)

    result = dict(zip(names, best(0, tuple(tasks.isolated)), strict=True))
    result["stp"] *= -1
    return result


def random_tasks(rng: np.random.Generator, num_tasks: int, longest: int, window: float) -> Tasks:
    """Sizes 1 … longest, arrivals within window × total work, deadlines 1 to 4 sizes away."""
    isolated = rng.integers(1, longest + 1, num_tasks)
    arrival = rng.integers(0, int(window * isolated.sum()) + 1, num_tasks)
    weight = rng.choice([1, 3, 9], num_tasks)
    deadline = arrival + isolated + rng.integers(0, 3 * isolated + 1)
    return Tasks(arrival.tolist(), isolated.tolist(), weight.tolist(), deadline.tolist())


def at_most(low: float, high: float) -> bool:
    """low <= high, up to a few roundings."""
    return low <= high + 1e-9 * max(1.0, abs(high))


# --- The worked example ---------------------------------------------------------------------------


@pytest.mark.small
@pytest.mark.parametrize(
    ("objective", "extra", "expected"),
    [
        ("antt", {}, 5 / 3),
        ("stp", {}, 1 + 1 + 6 / 10 + 6 / 19),
        ("weighted_completion", {"weight": EXAMPLE.weight}, 192),
        ("weighted_completion", {}, 43),
        ("deadline_misses", {"deadline": EXAMPLE.deadline}, 1),
        ("sla_violation", {"target": 2}, 1 / 4),
        ("sla_violation", {"target": 2.5}, 0),
        ("sla_curve", {}, 1 / 76),
        ("tardiness", {"deadline": EXAMPLE.deadline}, 3),
        ("worst_ntt", {}, 2.5),
    ],
)
def test_worked_example_optimum(objective: str, extra: dict[str, Any], expected: float) -> None:
    best = optimum(EXAMPLE.arrival, EXAMPLE.isolated, objective, **extra)
    assert best.value == pytest.approx(expected, rel=1e-15)
    assert best.objective == objective
    played = decode(best.order, EXAMPLE.arrival, EXAMPLE.isolated)
    assert best.completion_cycles.tolist() == played.tolist()


@pytest.mark.small
def test_worked_example_orders() -> None:
    arrival, isolated = EXAMPLE.arrival, EXAMPLE.isolated
    weighted = optimum(arrival, isolated, "weighted_completion", weight=EXAMPLE.weight)
    assert weighted.order.tolist() == [1, 3, 0, 2]  # B, D, A, C
    assert weighted.completion_cycles.tolist() == [14, 3, 19, 10]
    stp = optimum(arrival, isolated, "stp")
    assert stp.order.tolist() == [1, 2, 3, 0]  # B, C, D, A
    assert stp.completion_cycles.tolist() == [19, 3, 8, 14]
    assert round(stp.value, 4) == 2.9158


@pytest.mark.small
def test_worked_example_bounds() -> None:
    arrival, isolated = EXAMPLE.arrival, EXAMPLE.isolated
    assert lp_bound(arrival, isolated, EXAMPLE.weight) == pytest.approx(181.9, rel=1e-14)
    assert round(antt_bound(arrival, isolated), 4) == 1.6181
    assert round(stp_cap(arrival, isolated), 4) == 3.2880


@pytest.mark.small
def test_worked_example_special_cases() -> None:
    arrival, isolated = EXAMPLE.arrival, EXAMPLE.isolated
    assert srpt_completions(arrival, isolated).tolist() == [8, 3, 13, 19]
    assert fewest_misses(arrival, isolated, EXAMPLE.deadline) == 1
    assert least_worst_ntt(arrival, isolated) == Fraction(5, 2)
    together = wspt_completions([7] * 4, isolated, EXAMPLE.weight)  # D, C, A, B
    assert together.tolist() == [24, 26, 18, 13]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("fcfs", [6, 8, 13, 19]),
        ("sjf", [6, 8, 13, 19]),
        ("hrrn", [6, 8, 13, 19]),
        ("srpt", [8, 3, 13, 19]),
        ("edf", [8, 3, 13, 19]),
        ("p-spt", [13, 3, 8, 19]),
        ("p-hpf", [12, 19, 17, 10]),
        ("wspt", [17, 19, 14, 10]),
        ("wsrpt", [6, 19, 17, 12]),
    ],
)
def test_rules_of_this_file_play_the_worked_example(rule: str, expected: list[int]) -> None:
    assert completions(play(EXAMPLE, *RULES[rule])) == expected


@pytest.mark.small
def test_decode_of_the_fixed_priority_rules() -> None:
    by_ratio = [3, 2, 0, 1]  # D, C, then A before B: equal ratio, A arrives first
    played = decode(by_ratio, EXAMPLE.arrival, EXAMPLE.isolated)
    assert played.tolist() == [17, 19, 14, 10]
    assert decode([0, 1], [5, 0], [2, 6]).tolist() == [7, 8]  # the newcomer interrupts
    assert decode([1, 0], [5, 0], [2, 6]).tolist() == [8, 6]  # the newcomer waits
    assert decode([1, 0], [5, 0], [2, 4]).tolist() == [7, 4]  # idle from 4 to 5


# --- Against all schedules there are --------------------------------------------------------------


def test_optimum_equals_exhaustive_search() -> None:
    rng = np.random.default_rng(20)
    for _ in range(60):
        tasks = random_tasks(rng, int(rng.integers(1, 5)), longest=3, window=0.8)
        expected = exhaustive(tasks)
        for objective in OBJECTIVES:
            best = optimum(tasks.arrival, tasks.isolated, objective, **arguments(objective, tasks))
            assert best.value == pytest.approx(expected[objective], rel=1e-12), (objective, tasks)
            attained = values(tasks, best.completion_cycles.tolist())[objective]
            assert attained == pytest.approx(best.value, rel=1e-12)


@pytest.mark.parametrize("machines", [2, 3])
def test_bounds_for_several_machines_never_exceed_exhaustive_search(machines: int) -> None:
    rng = np.random.default_rng(machines)
    tight = 0
    for _ in range(15):
        tasks = random_tasks(rng, 4, longest=3, window=0.4)
        best = exhaustive(tasks, machines)
        arrival, isolated, weight, _ = tasks
        bound = lp_bound(arrival, isolated, weight, machines)
        tight += at_most(best["weighted_completion"], bound)
        assert at_most(bound, best["weighted_completion"])
        assert at_most(antt_bound(arrival, isolated, machines), best["antt"])
        assert at_most(best["stp"], stp_cap(arrival, isolated, machines))
    assert tight > 0  # a bound of zero would pass the rest


# --- Bound <= optimum <= every rule, on many workloads --------------------------------------------


@pytest.fixture(scope="module")
def workloads() -> list[Tasks]:
    rng = np.random.default_rng(5)
    return [
        random_tasks(rng, int(rng.integers(1, 9)), longest=34, window=float(rng.uniform(0, 1.2)))
        for _ in range(2000)
    ]


def padded(workloads: list[Tasks], column: str, fill: int) -> np.ndarray:
    result = np.full((len(workloads), max(len(t.arrival) for t in workloads)), fill)
    for row, tasks in enumerate(workloads):
        result[row, : len(tasks.arrival)] = getattr(tasks, column)
    return result


def best_of_all(workloads: list[Tasks], objective: str, threads: int = 2) -> np.ndarray:
    """Optimal values of a padded batch; the padding is absurd and must not matter."""
    columns: Any = (padded(workloads, column, -(10**18)) for column in Tasks._fields)
    table = Tasks(*columns)
    return optimum_batch(
        table.arrival,
        table.isolated,
        objective,
        num_tasks=[len(t.arrival) for t in workloads],
        threads=threads,
        **arguments(objective, table),
    ).value


def test_bound_optimum_and_rules_are_in_order(workloads: list[Tasks]) -> None:
    optima = {objective: best_of_all(workloads, objective) for objective in OBJECTIVES}
    for row, tasks in enumerate(workloads):
        best = {objective: float(optima[objective][row]) for objective in OBJECTIVES}
        arrival, isolated, weight, _ = tasks
        assert at_most(lp_bound(arrival, isolated, weight), best["weighted_completion"])
        assert at_most(antt_bound(arrival, isolated), best["antt"])
        assert at_most(best["stp"], stp_cap(arrival, isolated))
        assert at_most(len(arrival), best["antt"] * best["stp"])
        for rule, (score, preempts) in RULES.items():
            reached = values(tasks, completions(play(tasks, score, preempts)))
            for objective, value in reached.items():
                low, high = best[objective], value
                if objective == "stp":
                    low, high = high, low
                assert at_most(low, high), (rule, objective, tasks)


def test_bounds_of_many_tasks_and_machines_never_exceed_a_rule() -> None:
    rng = np.random.default_rng(8)
    for machines in (1, 2, 4):
        for _ in range(40):
            tasks = random_tasks(rng, 30, longest=50, window=1 / machines)
            arrival, isolated, weight, _ = tasks
            for rule in ("p-spt", "wspt", "wsrpt", "least-e-r"):
                reached = values(tasks, completions(play(tasks, *RULES[rule], machines)))
                bound = lp_bound(arrival, isolated, weight, machines)
                assert at_most(bound, reached["weighted_completion"])
                assert at_most(antt_bound(arrival, isolated, machines), reached["antt"])
                assert at_most(reached["stp"], stp_cap(arrival, isolated, machines))


def test_lp_bound_is_the_mean_busy_time_of_preemptive_wspt(workloads: list[Tasks]) -> None:
    """The definition by squares of piece ends, as exact fractions."""
    for tasks in workloads[:500]:
        pieces = play(tasks, *RULES["wspt"])
        expected = sum(
            Fraction(tasks.weight[j] * (v * v - u * u), 2 * tasks.isolated[j]) for j, u, v in pieces
        ) + sum(Fraction(w * p, 2) for w, p in zip(tasks.weight, tasks.isolated, strict=True))
        bound = lp_bound(tasks.arrival, tasks.isolated, tasks.weight)
        assert bound == pytest.approx(float(expected), rel=1e-12)
        fitting = optimum(tasks.arrival, tasks.isolated, "weighted_completion", weight=tasks.weight)
        assert fitting.value <= 1.47 * bound  # the published guarantee


def test_rules_are_as_far_from_the_optimum_as_expected() -> None:
    """Mean regret on 400 workloads of 8 tasks: orders of magnitude apart from rule to rule.

    Sizes spread over a decade, as isolated times of networks do, and arrivals over 0.5 to 1 times
    the total work. The bands are wide: they hold the ranking, not one draw.
    """
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(400):
        isolated = rng.choice([2, 3, 5, 8, 13, 21, 34], 8)
        arrival = rng.integers(0, int(rng.uniform(0.5, 1.0) * isolated.sum()) + 1, 8)
        columns = (arrival, isolated, rng.choice([1, 3, 9], 8), arrival + 2 * isolated)
        drawn.append(Tasks(*(column.tolist() for column in columns)))
    mean: dict[tuple[str, str], float] = {}
    optima = {name: best_of_all(drawn, name) for name in ("antt", "stp", "weighted_completion")}
    for rule, how in RULES.items():
        reached = [values(tasks, completions(play(tasks, *how))) for tasks in drawn]
        for objective, best in optima.items():
            found = regret(objective, [value[objective] for value in reached], best)
            mean[objective, rule] = float(found.mean())
    assert 0 < mean["antt", "least-e-r"] < 0.001
    assert 0.003 < mean["antt", "p-spt"] < 0.03
    assert 0.01 < mean["antt", "srpt"] < 0.06
    assert 0.1 < mean["antt", "wspt"] < 0.6
    assert 0.5 < mean["antt", "sjf"] < mean["antt", "hrrn"] < mean["antt", "fcfs"] < 4
    assert 0.005 < mean["stp", "least-e-r"] < mean["stp", "srpt"] < 0.08
    assert 0.15 < mean["stp", "sjf"] < mean["stp", "fcfs"] < 0.6
    assert 0 < mean["weighted_completion", "wsrpt"] < 0.001
    assert 0.002 < mean["weighted_completion", "wspt"] < 0.03
    assert 0.1 < mean["weighted_completion", "fcfs"] < 0.6


# --- Special cases equal the recursion ------------------------------------------------------------


@pytest.mark.small
def test_special_cases_equal_the_recursion() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        check_special_cases(random_tasks(rng, int(rng.integers(1, 7)), longest=20, window=0.8))


def test_special_cases_equal_the_recursion_on_many(workloads: list[Tasks]) -> None:
    for tasks in workloads[:400]:
        check_special_cases(tasks)


def check_special_cases(tasks: Tasks) -> None:
    arrival, isolated, weight, deadline = tasks
    least_sum = optimum(arrival, isolated, "weighted_completion").value
    assert int(srpt_completions(arrival, isolated).sum()) == least_sum
    misses = optimum(arrival, isolated, "deadline_misses", deadline=deadline).value
    assert fewest_misses(arrival, isolated, deadline) == misses
    worst = least_worst_ntt(arrival, isolated)
    assert worst.numerator / worst.denominator == optimum(arrival, isolated, "worst_ntt").value
    together = [5] * len(arrival)
    smith = wspt_completions(together, isolated, weight)
    best = optimum(together, isolated, "weighted_completion", weight=weight)
    assert int(smith @ weight) == best.value == lp_bound(together, isolated, weight)


def test_srpt_equals_the_rule_played_in_full(workloads: list[Tasks]) -> None:
    for tasks in workloads[:500]:
        expected = completions(play(tasks, *RULES["srpt"]))
        assert srpt_completions(tasks.arrival, tasks.isolated).tolist() == expected


def test_largest_workloads_at_real_scales() -> None:
    """Twenty tasks of up to 10**9 cycles: exact, and no product overflows."""
    rng = np.random.default_rng(9)
    isolated = rng.integers(10**5, 10**9, MAX_TASKS)
    weight = rng.choice([1, 3, 9], MAX_TASKS)
    smith = wspt_completions([0] * MAX_TASKS, isolated, weight)
    best = optimum([0] * MAX_TASKS, isolated, "weighted_completion", weight=weight)
    assert best.value == int(smith @ weight)
    assert best.completion_cycles.tolist() == smith.tolist()

    arrival = rng.integers(0, 5 * 10**9, MAX_TASKS)
    srpt = int(srpt_completions(arrival, isolated).sum())
    assert optimum(arrival, isolated, "weighted_completion").value == srpt
    assert at_most(lp_bound(arrival, isolated, None), srpt)
    worst = least_worst_ntt(arrival, isolated)
    assert worst.numerator / worst.denominator == optimum(arrival, isolated, "worst_ntt").value
    deadline = arrival + 2 * isolated
    misses = optimum(arrival, isolated, "sla_violation", target=2).value * MAX_TASKS
    assert fewest_misses(arrival, isolated, deadline) == pytest.approx(misses, abs=1e-9)


def test_ten_thousand_tasks_have_bounds() -> None:
    rng = np.random.default_rng(4)
    isolated = rng.integers(10**5, 10**8, 10_000)
    arrival = rng.integers(0, isolated.sum(), 10_000)
    srpt = int(srpt_completions(arrival, isolated).sum())
    bound = lp_bound(arrival, isolated, None)
    assert at_most(bound, srpt)
    assert srpt < 1.47 * bound  # SRPT is the optimum here
    assert antt_bound(arrival, isolated) > 1


# --- Batches, ties, labels ------------------------------------------------------------------------


@pytest.mark.small
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_batch_equals_one_by_one(objective: str) -> None:
    rng = np.random.default_rng(6)
    drawn = [random_tasks(rng, n, longest=9, window=0.7) for n in (3, 1, 8, 5)]
    singles = [optimum(t.arrival, t.isolated, objective, **arguments(objective, t)) for t in drawn]
    expected = [one.value for one in singles]
    for threads in (1, 3):
        assert best_of_all(drawn, objective, threads).tolist() == expected


@pytest.mark.small
def test_batch_rows_are_padded() -> None:
    batch = optimum_batch([[3, 0, 9], [0, 0, 0]], [[1, 5, 9], [3, 2, 1]], num_tasks=[2, 3])
    assert batch.order.tolist() == [[0, 1, -1], [2, 1, 0]]
    assert batch.completion_cycles.tolist() == [[4, 6, -1], [6, 3, 1]]
    assert batch.value.tolist() == pytest.approx([(1 + 6 / 5) / 2, (6 / 3 + 3 / 2 + 1) / 3])


@pytest.mark.small
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equal_tasks_complete_in_index_order(objective: str) -> None:
    tasks = Tasks([2] * 5, [4] * 5, [3] * 5, [10] * 5)
    best = optimum(tasks.arrival, tasks.isolated, objective, **arguments(objective, tasks))
    assert best.order.tolist() == [0, 1, 2, 3, 4]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 12), st.integers(0, 9), st.integers(0, 60)),
        min_size=1,
        max_size=7,
    ),
    st.randoms(use_true_random=False),
    st.integers(0, 1000),
)
def test_labels_and_origin_of_time_do_not_matter(
    rows: list[tuple[int, int, int, int]], shuffler: object, shift: int
) -> None:
    tasks = Tasks(*map(list, zip(*rows, strict=True)))
    shuffler.shuffle(rows)  # type: ignore[attr-defined]
    moved = Tasks(*map(list, zip(*rows, strict=True)))
    moved = moved._replace(
        arrival=[r + shift for r in moved.arrival], deadline=[d + shift for d in moved.deadline]
    )
    for objective in OBJECTIVES:
        first, second = (
            optimum(t.arrival, t.isolated, objective, **arguments(objective, t)).value
            for t in (tasks, moved)
        )
        if objective == "weighted_completion":
            second -= shift * sum(tasks.weight)
        assert second == pytest.approx(first, rel=1e-12)


@pytest.mark.small
def test_optima_are_what_the_metrics_report_for_their_schedules() -> None:
    rng = np.random.default_rng(12)
    judges: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "antt": metrics.antt,
        "stp": metrics.stp,
        "sla_curve": metrics.sla_violation,
        "sla_violation": lambda ntt: metrics.sla_curve(ntt, [float(TARGET)])[0],
        "worst_ntt": np.max,
    }
    for _ in range(10):
        tasks = random_tasks(rng, 7, longest=40, window=0.1)
        for objective, judge in judges.items():
            extra = arguments(objective, tasks)
            best = optimum(tasks.arrival, tasks.isolated, objective, **extra)
            ntt = metrics.ntt(tasks.arrival, best.completion_cycles, tasks.isolated)
            assert judge(ntt) == pytest.approx(best.value, rel=1e-14)


# --- Edges of definitions, regret, errors ---------------------------------------------------------


@pytest.mark.small
@pytest.mark.parametrize(
    ("target", "expected"), [(2.2, 1), (2.3, 0), (2.31, 0), (Fraction(23, 10), 0), (1e300, 0)]
)
def test_a_target_met_exactly_is_no_violation(target: float, expected: int) -> None:
    # Some task completes at 30: after 30 cycles (NTT 3) or, at best, after 23 (NTT 2.3). First come
    # first served gives 10, 20, 30: NTT 1, 1.3, 2.3.
    best = optimum([0, 7, 7], [10, 10, 10], "sla_violation", target=target)
    assert best.value == pytest.approx(expected / 3)


@pytest.mark.small
def test_far_deadlines_do_not_wrap_round() -> None:
    never = np.iinfo(np.int64).max
    for objective in ("tardiness", "deadline_misses"):
        assert optimum([0, 0], [3, 4], objective, deadline=[never, never]).value == 0
    assert optimum([0], [3], "tardiness", deadline=[-(2**52)]).value == 2**52 + 3


@pytest.mark.small
def test_the_docstring_lists_every_objective_with_its_arguments() -> None:
    assert optimum.__doc__ is not None
    rows = [line.split("|")[1:-1] for line in optimum.__doc__.splitlines() if line.count("|") == 4]
    listed = {
        name.strip(): tuple(part.split()[0] for part in takes.split(",") if part.strip())
        for name, _, takes in rows[2:]
    }
    assert listed == {name: objective.uses for name, objective in OBJECTIVES.items()}


@pytest.mark.small
def test_regret() -> None:
    assert regret("antt", [3.0, 2.0], [2.0, 2.0]).tolist() == [0.5, 0.0]
    assert regret("stp", 1.5, 2.0) == 0.25
    assert regret("tardiness", [0, 4], 0).tolist() == [0.0, math.inf]


@pytest.mark.small
def test_errors_name_the_limit_and_the_mistake() -> None:
    many = [1] * (MAX_TASKS + 1)
    with pytest.raises(ConfigError, match="at most 20 tasks, got 21"):
        optimum(many, many)
    with pytest.raises(ConfigError, match="at most 20 tasks, got 21"):
        fewest_misses(many, many, many)
    with pytest.raises(UnknownNameError, match="did you mean 'antt'"):
        optimum([0], [1], "ant")
    with pytest.raises(ConfigError, match="needs the argument deadline"):
        optimum([0], [1], "tardiness")
    with pytest.raises(ConfigError, match="makes no use of the argument weight"):
        optimum([0], [1], "antt", weight=[1])
    for target in (0, -1.0, math.nan, math.inf):
        with pytest.raises(ConfigError, match="target must be"):
            optimum([0], [1], "sla_violation", target=target)
    with pytest.raises(ConfigError, match="machines must be a whole number of at least 1"):
        lp_bound([0], [1], None, 0)
    with pytest.raises(ConfigError, match="threads must be a whole number of at least 1"):
        optimum_batch([[0]], [[1]], threads=0)


@pytest.mark.small
@pytest.mark.parametrize(
    ("arrival", "isolated", "message"),
    [
        ([], [], "at least one workload and task"),
        ([[0]], [[1]], r"shape \(num_tasks,\)"),
        ([0, 1], [1], "isolated must have shape"),
        ([0.0], [1], "must hold integers, got dtype float64"),
        ([-1], [1], "arrival must be >= 0"),
        ([0], [0], "isolated must be >= 1"),
        ([0, 0], [2**62, 2**62], r"before 2\*\*53 cycles"),
    ],
)
def test_arrays_that_are_no_tasks(arrival: object, isolated: object, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        optimum(arrival, isolated)  # type: ignore[arg-type]


@pytest.mark.small
def test_more_arrays_that_are_no_tasks() -> None:
    with pytest.raises(WorkloadError, match="with a task"):
        lp_bound([], [], None)
    with pytest.raises(WorkloadError, match="weight must be finite and >= 0"):
        lp_bound([0], [1], [-1.0])
    with pytest.raises(WorkloadError, match="weight must have shape"):
        lp_bound([0], [1], [1.0, 2.0])
    with pytest.raises(WorkloadError, match="weight must have shape"):
        optimum([0, 0], [1, 1], "weighted_completion", weight=[1.0])
    with pytest.raises(WorkloadError, match=r"times × machines"):
        lp_bound([2**52], [1], None, 4)
    with pytest.raises(WorkloadError, match="every task index exactly once"):
        decode([0, 0], [0, 0], [1, 1])
    with pytest.raises(WorkloadError, match="equal arrivals only"):
        wspt_completions([0, 1], [1, 1], None)
    with pytest.raises(WorkloadError, match=r"deadline must be > -2\*\*53"):
        optimum([0], [1], "tardiness", deadline=[-(2**60)])
    with pytest.raises(WorkloadError, match="num_tasks must be 1"):
        optimum_batch([[0]], [[1]], num_tasks=[2])


WRONG: tuple[object, ...] = (
    None, "three", ["a"], [[0, 1], [2]], [[0, 1]], [0.5, 1.0], [math.nan, 1.0], [2**70, 1],
    [-1, 5], [True, False], [], 3, [1, 2, 3], {1, 2},
)  # fmt: skip


@pytest.mark.small
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_things_raise_one_clear_line(wrong: Any) -> None:
    """Shapes, lengths, NaN, negative numbers, strings: in every place, of every function."""
    good = [1, 2]
    calls: list[Callable[[], object]] = []
    pairs: tuple[tuple[Any, Any], ...] = ((wrong, good), (good, wrong))
    for a, b in pairs:
        calls += [
            partial(optimum, a, b),
            partial(lp_bound, a, b, None),
            partial(antt_bound, a, b),
            partial(stp_cap, a, b),
            partial(srpt_completions, a, b),
            partial(fewest_misses, a, b, good),
            partial(least_worst_ntt, a, b),
            partial(decode, [0, 1], a, b),
            partial(fairness_bound, a, b),
            partial(antt_fairness_front, a, b),
            partial(optimum_batch, [a], [b]),
            partial(fronts, [a], [b], [2], [good]),
        ]
    calls += [
        partial(decode, wrong, good, good),
        partial(optimum, good, good, wrong),
        partial(mean_front, wrong),
    ]
    if wrong != 3:  # as good a number of machines as any
        calls.append(partial(lp_bound, good, good, None, wrong))
    if wrong != [-1, 5]:  # a deadline may be long over
        calls.append(partial(fewest_misses, good, good, wrong))
    if wrong is not None and wrong not in ([0.5, 1.0], [True, False]):  # weights are any numbers
        calls += [
            partial(lp_bound, good, good, wrong),
            partial(wspt_completions, [1, 1], good, wrong),
            partial(fairness_bound, good, good, wrong),
            partial(optimum, good, good, "weighted_completion", weight=wrong),
        ]
    for call in calls:
        with pytest.raises((ConfigError, WorkloadError, UnknownNameError)) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.small
@pytest.mark.parametrize("wrong", [None, "3", ["a"], [[1], [1, 2]], {1}])
def test_regret_of_no_numbers_is_one_line(wrong: Any) -> None:
    for value, best in ((wrong, 1.0), (1.0, wrong)):
        with pytest.raises(WorkloadError, match="must"):
            regret("antt", value, best)
    with pytest.raises(WorkloadError, match=r"shapes that go together, got \(2,\) and \(3,\)"):
        regret("antt", [1, 2], [1, 2, 3])
