from __future__ import annotations

import pickle

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.simulator import NUM_COLUMNS
from tests.baselines.tables import random_tables, running, table, task


@pytest.fixture(params=baselines.names())
def policy(request: pytest.FixtureRequest) -> baselines.Policy:
    return baselines.make(request.param)


def test_one_table_gives_a_scalar_array_and_a_batch_gives_one_action_each(
    policy: baselines.Policy,
) -> None:
    tables = random_tables(seed=1, envs=5, slots=4)
    actions, _ = policy.predict(tables)
    assert isinstance(actions, np.ndarray)
    assert (actions.shape, actions.dtype) == ((5,), np.dtype(np.int64))
    action, _ = policy.predict(tables[0])
    assert isinstance(action, np.ndarray)
    assert (action.shape, action.dtype) == ((), np.dtype(np.int64))
    assert action == actions[0]
    assert 0 <= int(action) < 4  # natural layout: one mechanism


def test_predict_takes_every_argument_of_a_trained_model(policy: baselines.Policy) -> None:
    observation = table(task(), running())
    mask = np.array([True, True])
    plain, memory = policy.predict(observation)
    actions, state = policy.predict(
        observation, memory, np.array([True]), deterministic=False, action_masks=mask
    )
    assert actions == plain
    assert (state is None) == (memory is None)


def test_only_fair_shares_and_the_planner_have_a_memory(policy: baselines.Policy) -> None:
    remembers = policy.name in ("static-stride", "static-cfs", "replan")
    _, state = policy.predict(table(task(), running()))
    assert (state is not None) == remembers
    if not remembers:
        foreign = (np.zeros(3, np.float32),)
        assert policy.predict(table(task(), running()), foreign)[1] is foreign


def test_an_empty_table_gives_action_0(policy: baselines.Policy) -> None:
    assert policy.predict(table(slots=3))[0] == 0
    mixed = np.stack([table(slots=3), table(None, None, task())])
    assert policy.predict(mixed)[0].tolist() == [0, 2]


def test_a_lone_task_is_run_or_continued(policy: baselines.Policy) -> None:
    assert policy.predict(table(None, task(), None))[0] == 1
    assert policy.predict(table(None, None, running(quantum_left_ms=0)))[0] == 2


def test_the_observation_is_not_written_to(policy: baselines.Policy) -> None:
    tables = random_tables(seed=2, envs=20, slots=5)
    tables.flags.writeable = False
    policy.predict(tables)


def test_a_pickled_policy_acts_alike(policy: baselines.Policy) -> None:
    copy = pickle.loads(pickle.dumps(policy))
    tables = random_tables(seed=3, envs=50, slots=6)
    assert np.array_equal(copy.predict(tables)[0], policy.predict(tables)[0])
    assert copy.name == policy.name


def test_an_empty_batch_gives_no_actions(policy: baselines.Policy) -> None:
    assert policy.predict(np.zeros((0, 4, NUM_COLUMNS), np.float32))[0].shape == (0,)


@pytest.mark.parametrize("shape", [(NUM_COLUMNS,), (4, 3), (2, 4, 3), (0, NUM_COLUMNS), (1,) * 4])
def test_another_shape_is_refused(policy: baselines.Policy, shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"shape \(slots, 19\) or \(envs, slots, 19\)"):
        policy.predict(np.zeros(shape, np.float32))


@pytest.mark.parametrize(
    ("mechanisms", "message"),
    [((), r"each once, got \(\)"), (("kill", "kill"), r"each once, got \('kill', 'kill'\)")],
)
def test_mechanisms_must_be_some_and_distinct(mechanisms: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        baselines.make("np-fcfs", mechanisms=mechanisms)


def test_an_unknown_mechanism_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown mechanism 'drian'; did you mean 'drain'"):
        baselines.make("np-fcfs", mechanisms=("drian",))


@pytest.mark.parametrize(
    ("name", "mechanisms", "missing"),
    [
        ("static-prema", ("kill", "drain"), "checkpoint"),
        ("dynamic-prema", ("drain",), "checkpoint"),
        ("kill-prema", ("checkpoint",), "kill"),
    ],
)
def test_a_needed_mechanism_that_is_absent_is_named(
    name: str, mechanisms: tuple[str, ...], missing: str
) -> None:
    expected = f"policy '{name}' needs the mechanism '{missing}', the simulation has "
    with pytest.raises(ConfigError, match=expected + ", ".join(mechanisms)):
        baselines.make(name, mechanisms=mechanisms)


def test_attributes_say_what_it_is() -> None:
    policy = baselines.make("kill-hpf", mechanisms=["checkpoint", "kill"])
    assert policy.name == "kill-hpf"
    assert policy.mechanisms == ("checkpoint", "kill")
    assert policy.rule == (
        "Run the task of highest priority; "
        "kill whichever task runs instead, so that it starts again."
    )
    assert "HPCA 2020" in policy.source
    assert policy.parameters == {}
    assert repr(policy) == "<policy kill-hpf (checkpoint, kill)>"
    assert baselines.make("np-fcfs", mechanisms="kill").mechanisms == ("kill",)
