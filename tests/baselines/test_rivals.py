"""Tables worked by hand for the rules without deadlines, and the parameters of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.baselines.aurora import Aurora
from prema_gym.baselines.deadline import LeastSlackTime
from prema_gym.baselines.dream import Dream
from prema_gym.baselines.fair_share import CompletelyFair, Stride
from prema_gym.baselines.lottery import Lottery
from prema_gym.baselines.moca import Moca
from prema_gym.baselines.multilevel import MultiLevelFeedback
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.preemption import Kill
from prema_gym.baselines.shortest import HighestResponseRatioNext
from prema_gym.errors import ConfigError
from prema_gym.simulator import AGE_MS
from tests.baselines.tables import Row, running, table, task


def _act(name: str, *rows: Row | None) -> int:
    return int(baselines.make(name).predict(table(*rows))[0])


# --- lengths ------------------------------------------------------------------------------------


def test_each_rule_has_its_own_shortest_task() -> None:
    rows = (
        task(order=0, estimated_ms=4, remaining_ms=4, priority=1),
        task(order=1, estimated_ms=20, remaining_ms=3, priority=1),
        task(order=2, estimated_ms=9, remaining_ms=9, priority=3),
        task(order=3, estimated_ms=30, remaining_ms=8, priority=9),
    )
    assert _act("static-spt", *rows) == 0  # 4, 20, 9, 30
    assert _act("static-srpt", *rows) == 1  # 4, 3, 9, 8
    assert _act("static-wspt", *rows) == 2  # π/E: 1/4, 1/20, 1/3, 3/10
    assert _act("static-wsrpt", *rows) == 3  # π/R: 1/4, 1/3, 1/3, 9/8
    assert _act("static-least-er", *rows) == 0  # E·R: 16, 60, 81, 240
    assert _act("static-least-er:by_priority=true", *rows) == 0  # 16, 60, 27, 26.7


def test_srpt_counts_an_outlived_estimate_anew() -> None:
    late = running(estimated_ms=10, executed_ms=12, remaining_ms=0)
    assert _act("static-srpt", late, task(remaining_ms=11)) == 0
    assert _act("static-srpt", late, task(remaining_ms=9)) == 1
    for name in ("static-sjf", "static-wsrpt", "static-least-er"):
        assert _act(name, late, task(remaining_ms=9, priority=9)) == 0


def test_wsrpt_and_least_er_do_not_tell_outlived_estimates_apart() -> None:
    late = (task(order=1, remaining_ms=0, priority=9), task(order=0, remaining_ms=0))
    assert _act("static-wsrpt", *late) == 1
    assert _act("static-least-er", *late) == 1


def test_hrrn_weighs_waiting_by_length() -> None:
    rows = (
        task(order=0, waited_ms=8, estimated_ms=10),  # 1.8
        task(order=1, waited_ms=4, estimated_ms=2, priority=1),  # 3
        task(order=2, waited_ms=2, estimated_ms=4, priority=3),  # 1.5, and 4.5 with priority
    )
    assert _act("np-hrrn", *rows) == 1
    assert _act("np-hrrn:by_priority=true", *rows) == 2


# --- MLFQ ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("executed", "higher"),
    [(0.24, 0.25), (0.74, 0.75), (1.74, 1.75), (31.74, 31.75)],
)
def test_mlfq_levels_double(executed: float, higher: float) -> None:
    # The second has waited for longer but is a level lower.
    rows = (task(executed_ms=executed), task(executed_ms=higher, since_run_ms=5))
    assert _act("static-mlfq", *rows) == 0
    same = (task(executed_ms=executed), task(executed_ms=executed, since_run_ms=5))
    assert _act("static-mlfq", *same) == 1


def test_mlfq_has_no_level_below_the_lowest() -> None:
    assert _act("static-mlfq", task(executed_ms=31.75), task(executed_ms=99, since_run_ms=5)) == 1


def test_mlfq_boosts_a_waiting_task_in_time() -> None:
    rows = (task(executed_ms=0.3, since_run_ms=1), task(executed_ms=99, since_run_ms=12.4))
    assert _act("static-mlfq", *rows) == 0
    rows[1]["since_run_ms"] = 12.5
    assert _act("static-mlfq", *rows) == 1


def test_mlfq_lets_a_quantum_end_and_then_goes_by_level() -> None:
    newcomer = task(executed_ms=0)
    assert _act("static-mlfq", newcomer, running(executed_ms=1)) == 1
    ended = running(executed_ms=1, quantum_left_ms=0)
    assert _act("static-mlfq", newcomer, ended) == 0
    assert _act("static-mlfq", task(executed_ms=2), ended) == 1  # a lower level
    assert _act("static-mlfq", task(executed_ms=1), ended) == 0  # the same: in turn
    assert _act("static-mlfq", None, ended) == 1


# --- lottery ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_lottery_draws_in_proportion_to_priority(seed: int) -> None:
    draws = 20_000
    rows = (task(priority=1), None, running(priority=3, quantum_left_ms=0), task(priority=9))
    tables = np.repeat(table(*rows)[np.newaxis], draws, axis=0)
    tables[:, :, AGE_MS] += np.arange(draws, dtype=np.float32)[:, np.newaxis]  # moments in time
    actions, _ = baselines.make("static-lottery", seed=seed).predict(tables)
    for slot, tickets in ((0, 1), (1, 0), (2, 3), (3, 9)):
        share = tickets / 13
        deviation = (draws * share * (1 - share)) ** 0.5
        assert abs(np.count_nonzero(actions == slot) - draws * share) <= 5 * deviation


def test_lottery_leaves_a_quantum_alone() -> None:
    for age in range(20):
        assert _act("static-lottery", task(priority=9, age_ms=age), running(age_ms=age)) == 1


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("static-lst:delta=-1", "delta must be a finite number of at least 0, got -1"),
        ("static-lst:delta=inf", "delta must be a finite number"),
        ("static-mlfq:levels=0", "levels must be a whole number from 1 to 32, got 0"),
        ("static-mlfq:levels=33", "levels must be a whole number from 1 to 32, got 33"),
        ("static-mlfq:slice_ms=0", "slice_ms must be a finite number above 0"),
        ("static-mlfq:boost_ms=nan", "boost_ms must be a finite number above 0"),
        ("static-mlfq:slice_ms=inf", "slice_ms must be a finite number above 0"),
        ("static-lottery:seed=-1", "seed must be a whole number from 0 to"),
        ("static-cfs:granularity_ms=-1", "granularity_ms must be a finite number of at least 0"),
        ("static-cfs:latency_ms=inf", "latency_ms must be a finite number of at least 0"),
        ("dysta:beta=nan", "beta must be a finite number of at least 0"),
        ("dream:alpha=-0.5", "alpha must be a finite number of at least 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        baselines.make(name)


def test_parameters_are_set_by_the_name() -> None:
    assert baselines.make("dysta:beta=0.05").parameters == {"beta": 0.05, "unit_ms": 1000.0}
    assert baselines.make("dysta:beta=0.05").name == "dysta:beta=0.05"
    assert baselines.make("static-lst:delta=4").parameters == {"delta": 4.0}


@pytest.mark.parametrize(
    "ordering",
    [
        LeastSlackTime(),
        HighestResponseRatioNext(),
        MultiLevelFeedback(),
        Lottery(),
        Stride(),
        CompletelyFair(),
        Dream(),
        Moca(),
        Aurora(),
    ],
)
def test_what_changes_its_mind_forever_must_not_kill(ordering: Ordering) -> None:
    with pytest.raises(ConfigError, match="again and again without end"):
        Kill("kill-this", ordering)
