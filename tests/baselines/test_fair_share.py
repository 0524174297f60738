"""The memory of stride and CFS: newcomers, slots that change hands, batches, episodes."""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.baselines.policy import State
from prema_gym.errors import ConfigError
from tests.baselines.tables import Row, running, table, task


def _sequence(name: str, *tables: tuple[Row | None, ...]) -> list[int]:
    """Actions on one table after the other, the state handed on."""
    policy = baselines.make(name)
    state: State | None = None
    actions = []
    for rows in tables:
        action, state = policy.predict(table(*rows), state)
        actions.append(int(action))
    return actions


def ended(**columns: float) -> Row:
    return running(quantum_left_ms=0) | columns


def test_stride_takes_the_least_pass() -> None:
    # Of priority 3 and 1; the second runs for 1, then the first for 2: passes 2/3 and 1.
    first = [
        (task(priority=3), ended()),
        (task(priority=3, waited_ms=1), ended(executed_ms=1)),
        (ended(priority=3, executed_ms=2, waited_ms=1), task(executed_ms=1, waited_ms=2)),
        (ended(priority=3, executed_ms=4, waited_ms=1), task(executed_ms=1, waited_ms=4)),
    ]
    assert _sequence("static-stride", *first) == [1, 0, 0, 1]


def test_passes_equal_on_paper_are_equal() -> None:
    # 6.3/9 = 2.1/3 = 0.7, but not in floating point: the running task goes on.
    rows = [
        (task(priority=9), task(priority=3), ended()),
        (task(priority=9), task(priority=3), ended(executed_ms=0.7)),
        (
            task(priority=9, executed_ms=6.3, waited_ms=1, order=0),
            task(priority=3, executed_ms=2.1, waited_ms=1, order=1),
            ended(executed_ms=0.7, order=2),
        ),
    ]
    assert _sequence("static-stride", *rows) == [2, 0, 2]


def test_a_newcomer_starts_at_the_least_pass_of_the_others() -> None:
    old = [
        (task(), ended(), None),
        (task(waited_ms=5), ended(executed_ms=5), None),  # passes 0 and 5
        (
            ended(executed_ms=3, waited_ms=5),
            task(executed_ms=5, waited_ms=3),
            task(),
        ),  # 3, 5, new 3
    ]
    served = (
        ended(executed_ms=4, waited_ms=5),
        task(executed_ms=5, waited_ms=4),
        task(waited_ms=1),
    )  # 4, 5, 3
    caught_up = (
        task(executed_ms=4, waited_ms=6.5),
        task(executed_ms=5, waited_ms=5.5),
        ended(executed_ms=1.5, waited_ms=1),
    )  # 4, 5, 4.5
    assert _sequence("static-stride", *old, served, caught_up) == [1, 0, 0, 2, 0]


@pytest.mark.parametrize(
    "newcomer",
    [
        task(executed_ms=0, waited_ms=9),  # has executed less than the task before it
        task(executed_ms=5, waited_ms=0),  # has waited less
    ],
)
def test_a_slot_that_changed_hands_holds_a_newcomer(newcomer: Row) -> None:
    # The task in slot 0 had the pass 4 and was the most ahead; whoever follows starts level.
    before = (
        (ended(waited_ms=2), task(waited_ms=1)),
        (ended(executed_ms=4, waited_ms=2), task(waited_ms=5)),
    )
    after = (newcomer | {"order": 0}, task(waited_ms=9, order=1))
    assert _sequence("static-stride", *before, after)[-1] == 0
    same = (task(executed_ms=4, waited_ms=9, order=0), task(waited_ms=9, order=1))
    assert _sequence("static-stride", *before, same)[-1] == 1


def test_a_slot_that_was_empty_holds_a_newcomer() -> None:
    tables = (
        (ended(executed_ms=4), task(waited_ms=4), None),
        (None, task(waited_ms=9, order=1), task(order=0)),
    )
    assert _sequence("static-stride", *tables) == [0, 2]  # level: by arrival


def test_cfs_starts_a_newcomer_behind_unless_it_ran_alone() -> None:
    # First sight: the running task has worked alone, the newcomer is half of 0.25 behind.
    rows = (running(executed_ms=7), task(), None)
    tight = "static-cfs:granularity_ms=0.1"
    assert _sequence("static-cfs", rows) == [0]
    assert _sequence(tight, rows) == [1]
    assert _sequence("static-cfs:granularity_ms=0.1,latency_ms=0", rows) == [0]


def test_a_start_of_an_episode_is_a_first_sight() -> None:
    policy = baselines.make("static-stride")
    first = np.stack([table(task(waited_ms=3), ended(executed_ms=1))] * 2)
    later = np.stack([table(task(waited_ms=6), ended(executed_ms=4))] * 2)
    _, state = policy.predict(first)
    starts = np.array([True, False])
    actions, _ = policy.predict(later, state, episode_start=starts)
    assert actions.tolist() == [1, 0]  # level, the running one goes on; 3 ahead


def test_a_batch_remembers_each_environment() -> None:
    policy = baselines.make("static-cfs")
    rng = np.random.default_rng(3)
    work = rng.uniform(0, 1, (5, 6, 4)).cumsum(axis=0)  # calls, environments, slots
    together: State | None = None
    apart: list[State | None] = [None] * 6
    for call in range(5):
        tables = np.stack(
            [
                table(*(task(executed_ms=x, waited_ms=call, priority=3) for x in slots))
                for slots in work[call]
            ]
        )
        actions, together = policy.predict(tables, together)
        for env in range(6):
            action, apart[env] = policy.predict(tables[env], apart[env])
            assert action == actions[env]


def test_the_state_given_is_not_written_to() -> None:
    policy = baselines.make("static-stride")
    tables = (table(ended(executed_ms=1), task()), table(ended(executed_ms=2), task(waited_ms=1)))
    _, state = policy.predict(tables[0])
    assert state is not None
    copies = [array.copy() for array in state]
    policy.predict(tables[1], state)
    for array, copy in zip(state, copies, strict=True):
        assert np.array_equal(array, copy)


def test_a_state_of_other_environments_is_refused() -> None:
    policy = baselines.make("static-stride")
    _, state = policy.predict(np.stack([table(task(), task())] * 3))
    with pytest.raises(ConfigError, match=r"three arrays of shape \(1, 2\), got \(3, 2\)"):
        policy.predict(table(task(), task()), state)
    with pytest.raises(ConfigError, match="three arrays"):
        policy.predict(table(task(), task()), (np.zeros((1, 2)),))


@pytest.mark.parametrize("name", ["static-stride", "static-cfs:latency_ms=0"])
def test_long_run_shares_follow_priority(name: str) -> None:
    policy = baselines.make(name)
    priority = (1, 3, 9, 3)
    work, runner, quanta = [0.0] * 4, None, 16 * 20
    state: State | None = None
    for quantum in range(quanta):
        rows = []
        for slot, weight in enumerate(priority):
            kind = ended if slot == runner else task
            waited = 0.25 * quantum - work[slot]
            rows.append(kind(priority=weight, executed_ms=work[slot], waited_ms=waited))
        action, state = policy.predict(table(*rows), state)
        runner = int(action)
        work[runner] += 0.25
    shares = [0.25 * quanta * weight / 16 for weight in priority]
    # Stride's error is below one quantum a competitor; CFS lets one run on for its granularity.
    assert max(abs(a - b) for a, b in zip(work, shares, strict=True)) <= 3 * 0.25
