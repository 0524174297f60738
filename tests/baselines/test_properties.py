"""Laws on random tables with many ties: the twin, the mask, batches and relabelled slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym import baselines
from prema_gym.baselines.registry import POLICIES
from prema_gym.simulator import PRESENT, RUNNING
from tests.baselines.tables import as_rows, random_tables, relabelled
from tests.baselines.twin import BY_CHANCE, SEARCHED, slow_action

MECHANISMS = ("checkpoint", "kill", "drain")
LAYOUTS = (MECHANISMS, ("drain", "kill", "checkpoint"), ("checkpoint", "kill"))
seeds = st.integers(0, 2**32 - 1)
fixed = settings(deadline=None, derandomize=True, max_examples=8)
rules = [name for name in baselines.names() if name not in (*BY_CHANCE, *SEARCHED)]
every = [
    *baselines.names(),
    "static-prema:strict=true",
    "dynamic-prema:runner_is_candidate=false",
    "np-token:levels=2/5,strict=true,runner_is_candidate=false",
    "np-hrrn:by_priority=true",
    "static-least-er:by_priority=true",
    "static-mlfq:levels=1",
]


@pytest.mark.parametrize("name", rules)
@fixed
@given(seed=seeds, slots=st.integers(1, 6), layout=st.sampled_from(LAYOUTS))
def test_it_does_what_the_text_of_its_rule_says(
    name: str, seed: int, slots: int, layout: tuple[str, ...]
) -> None:
    tables = random_tables(seed, envs=40, slots=slots)
    actions, _ = baselines.make(name, mechanisms=layout).predict(tables)
    expected = [slow_action(name, as_rows(one), slots, layout) for one in tables]
    assert actions.tolist() == expected


@pytest.mark.parametrize("name", every)
@fixed
@given(seed=seeds, slots=st.integers(1, 6), layout=st.sampled_from(LAYOUTS))
def test_every_action_is_legal(name: str, seed: int, slots: int, layout: tuple[str, ...]) -> None:
    tables = random_tables(seed, envs=40, slots=slots)
    actions, _ = baselines.make(name, mechanisms=layout).predict(tables)
    for one, action in zip(tables, actions, strict=True):
        mechanism, slot = divmod(int(action), slots)
        assert mechanism < len(layout)
        if one[:, PRESENT].any():
            assert one[slot, PRESENT] == 1
            assert mechanism == 0 or (one[:, RUNNING].any() and not one[slot, RUNNING])
        else:
            assert action == 0


@pytest.mark.parametrize("name", every)
@fixed
@given(seed=seeds, slots=st.integers(1, 6))
def test_a_batch_is_a_loop_of_single_tables(name: str, seed: int, slots: int) -> None:
    tables = random_tables(seed, envs=15, slots=slots)
    policy = baselines.make(name, mechanisms=MECHANISMS)
    actions, _ = policy.predict(tables)
    assert actions.tolist() == [int(policy.predict(one)[0]) for one in tables]


@pytest.mark.parametrize("name", every)
@fixed
@given(seed=seeds, data=st.data())
def test_moving_tasks_to_other_slots_moves_the_action_along(
    name: str, seed: int, data: st.DataObject
) -> None:
    slots = 5
    permutation = data.draw(st.permutations(range(slots)))
    tables = random_tables(seed, envs=40, slots=slots)
    policy = baselines.make(name, mechanisms=MECHANISMS)
    mechanism, slot = np.divmod(policy.predict(tables)[0], slots)
    moved, _ = policy.predict(relabelled(tables, permutation))
    expected = mechanism * slots + np.array(permutation)[slot]
    occupied = tables[:, :, PRESENT].any(axis=1)
    assert np.array_equal(moved[occupied], expected[occupied])


def test_the_name_of_every_policy_is_known_to_the_twin() -> None:
    assert set(POLICIES) == {*rules, *BY_CHANCE, *SEARCHED}
