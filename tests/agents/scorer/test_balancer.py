"""The balancer network: what it sees by hand, its twin in torch, when it thinks, what it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.agents.policies.balancer_policy import BalancerPolicy, Preference, Thinking
from prema_gym.agents.scorer.balancer import OF_TABLE, THINKS_EVERY_MS
from prema_gym.agents.scorer.balancer_names import INPUTS, NUM_PREFERENCES, OF_ALL
from prema_gym.agents.scorer.balancer_shape import (
    BalancerShape,
    BalancerWeights,
    balancer_shape_of,
)
from prema_gym.errors import ConfigError
from prema_gym.simulator import observation as col

ABOUT = {"mechanisms": ["checkpoint"]}
SHAPE = BalancerShape(hidden=3, readers=5)


def random_weights(seed: int = 0, shape: BalancerShape = SHAPE) -> BalancerWeights:
    return shape.split(np.random.default_rng(seed).standard_normal(shape.size))


def table(*tasks: dict[int, float], slots: int = 3) -> NDArray[np.float32]:
    made = np.zeros((1, slots, col.NUM_COLUMNS), np.float32)
    for order, (row, values) in enumerate(zip(made[0], tasks, strict=False)):
        row[col.PRESENT], row[col.ORDER] = 1, order
        for column, value in values.items():
            row[column] = value
    return made


def a_task(
    estimate: float, left: float, age: float, priority: float = 3, running: float = 0
) -> dict[int, float]:
    return {
        col.ESTIMATED_MS: estimate,
        col.REMAINING_MS: left,
        col.EXECUTED_MS: estimate - left,
        col.AGE_MS: age,
        col.PRIORITY: priority,
        col.RUNNING: running,
    }


def look(thinking: Thinking, tables: NDArray[np.float32]) -> tuple[int, bool]:
    actions = np.zeros(1, np.int64)
    thinking.choose(tables, np.ones(1, np.bool_), actions)
    return int(actions[0]), bool(thinking.thought[0])


def test_what_it_sees_by_hand() -> None:
    thinking = Thinking(random_weights(), 1, 3, keep=True)
    # Somebody of 4 ms and priority 1 is done at an age of 8: its weighted progress was 4/1/8 = 0.5.
    look(thinking, table(a_task(4, 1, 7, priority=1, running=1), a_task(6, 6, 1, priority=3)))
    alone = table({}, a_task(6, 6, 2, priority=3), a_task(10, 5, 3, priority=9))
    alone[0, 0] = 0
    look(thinking, alone)
    # Left 6 + 5 = 11. Progress if run now: 6/3/8 = 0.25 and 10/9/8 = 0.1389; if last: 2/13, ….
    first = dict(zip((name for name, _ in INPUTS), thinking.inputs[0, 1].tolist(), strict=True))
    second = dict(zip((name for name, _ in INPUTS), thinking.inputs[0, 2].tolist(), strict=True))
    of_all = dict(zip((name for name, _ in OF_ALL), thinking.of_all[0].tolist(), strict=True))
    assert first["above"] == pytest.approx(math.log(0.25 / 0.5), rel=1e-5)
    assert second["above"] == pytest.approx(math.log((10 / 9 / 8) / 0.5), rel=1e-5)
    assert first["below"] == pytest.approx(math.log(0.25 / (10 / 9 / 8)), rel=1e-5)
    assert second["below"] == 0
    # It may wait until 6/3/t = 0.1389, t = 14.4, so 6.4 beyond the 8 that it takes anyway.
    room = (2 / (10 / 9 / 8) - 8) / 11
    assert first["room"] == pytest.approx(room / (1 + room), rel=1e-5)
    assert first["share"] == pytest.approx(math.log(6 / 11), rel=1e-5)
    assert (first["top"], second["top"]) == (0, 1)
    assert first["slowdown"] == pytest.approx(math.log(8 / 6), rel=1e-4)
    assert second["progress"] == pytest.approx(0.5)
    assert first["ending"] == pytest.approx(2 * 5.5 / (1 + 2 * 5.5))
    assert of_all["count"] == pytest.approx(math.log(2))
    assert of_all["past"] == pytest.approx(0)  # lowest and highest of those done are one's
    assert of_all["begun"] == 1


def test_it_thinks_when_somebody_comes_or_goes_and_every_two_ms() -> None:
    thinking = Thinking(random_weights(1), 1, 3)
    both = [a_task(9, 9, 0), a_task(9, 9, 0)]
    chosen, thought = look(thinking, table(*both))
    assert thought
    for age, expected in ((0.25, False), (1.75, False), (THINKS_EVERY_MS, True), (2.5, False)):
        tasks = [a_task(9, 9, age), a_task(9, 9, age)]
        tasks[chosen] = a_task(9, 9 - age, age, running=1)
        again, thought = look(thinking, table(*tasks))
        assert thought is expected, age
        if not thought:
            assert again == chosen
        chosen = again
    third = [a_task(9, 9, 2.75), a_task(9, 9, 2.75), a_task(1, 1, 0.1)]
    assert look(thinking, table(*third))[1]
    assert look(thinking, table(*third[:2]))[1]


def test_it_thinks_once_when_the_chosen_task_is_about_to_end() -> None:
    weights = random_weights(2)._replace(score=np.zeros(5, np.float32))
    weights.line[:] = 0
    weights.line[[name for name, _ in INPUTS].index("running")] = 1  # whoever runs goes on
    thinking = Thinking(weights, 1, 3)
    thoughts = []
    for age in np.arange(0.0, 1.0, 0.25):
        running = a_task(9, 1.0 - age, 5 + age, running=1)
        chosen, thought = look(thinking, table(running, a_task(9, 9, 1 + age)))
        assert chosen == 0
        thoughts.append(thought)
    assert thoughts == [True, False, True, False]


def test_the_compiled_network_is_its_twin_in_torch() -> None:
    torch = pytest.importorskip("torch")
    from prema_gym.agents.training.distillation import BalancerNetwork

    rng = np.random.default_rng(3)
    weights = random_weights(3)
    network = BalancerNetwork(weights)
    for array, same in zip(weights, network.weights, strict=True):
        assert np.array_equal(array, same)
    liked = rng.standard_normal((40, NUM_PREFERENCES)).astype(np.float32)
    thinking = Thinking(weights, 40, 6, liked, keep=True)
    tables = np.zeros((40, 6, col.NUM_COLUMNS), np.float32)
    for one in tables:
        here = rng.permutation(6)[: rng.integers(1, 7)]
        for slot in here:
            estimate = rng.uniform(1, 30)
            left = estimate * rng.uniform(0.1, 1)
            for column, value in a_task(estimate, left, rng.uniform(0, 50)).items():
                one[slot, column] = value
            one[slot, col.PRESENT] = 1
    actions = np.zeros(40, np.int64)
    thinking.choose(tables, np.ones(40, np.bool_), actions)
    present = tables[..., col.PRESENT] > 0
    inputs = np.where(present[..., np.newaxis], thinking.inputs, 0)
    parts = (torch.from_numpy(part) for part in (inputs, thinking.of_all, liked, present))
    scores = network(*parts).detach().numpy()
    assert np.array_equal(scores.argmax(axis=1), actions)
    assert np.all(scores[~present] < -1e7)


def test_chance_follows_the_softmax_of_the_scores() -> None:
    weights = random_weights()._replace(score=np.zeros(5, np.float32))
    weights.line[:] = 0
    weights.line[[name for name, _ in INPUTS].index("running")] = math.log(3)
    envs = 4000
    thinking = Thinking(weights, envs, 3)
    tables = np.repeat(table(a_task(9, 9, 1, running=1), a_task(9, 9, 1)), envs, axis=0)
    actions = np.zeros(envs, np.int64)
    luck = np.random.default_rng(0).uniform(1e-6, 1, (envs, 3)).astype(np.float32)
    thinking.choose(tables, np.ones(envs, np.bool_), actions, luck)
    assert np.mean(actions == 0) == pytest.approx(0.75, abs=0.03)  # 4 standard errors


def test_a_batch_is_many_single_ones_and_slots_do_not_matter() -> None:
    policy = BalancerPolicy("b", random_weights(4), ABOUT)
    one = table(a_task(9, 4, 6, running=1), a_task(3, 3, 1, priority=9), a_task(20, 20, 5))
    first, state = policy.predict(one[0])
    assert first.shape == ()
    many, states = policy.predict(np.concatenate([one, one[:, ::-1]]))
    assert many.tolist() == [first, 2 - first]
    later = one.copy()
    later[..., col.AGE_MS] += 3
    again, _ = policy.predict(np.concatenate([later, later[:, ::-1]]), states)
    alone, _ = policy.predict(later, state)
    assert again.tolist() == [alone[0], 2 - alone[0]]
    forgot, _ = policy.predict(later, state, episode_start=np.array([True]))
    fresh, _ = policy.predict(later)
    assert forgot == fresh


def test_wrong_states_and_preferences_are_refused() -> None:
    policy = BalancerPolicy("b", random_weights(), ABOUT)
    _, state = policy.predict(table(a_task(1, 1, 0)))
    with pytest.raises(ConfigError, match=rf"is arrays .*{OF_TABLE}.* got"):
        policy.predict(np.zeros((2, 3, col.NUM_COLUMNS), np.float32), state)
    with pytest.raises(ConfigError, match="fairness must be"):
        Preference(fairness=0)
    assert policy.predict(np.zeros((2, 3, col.NUM_COLUMNS), np.float32))[0].tolist() == [0, 0]


def test_shapes_are_read_off_the_arrays() -> None:
    weights = random_weights()
    assert balancer_shape_of(weights) == SHAPE
    assert np.allclose(SHAPE.split(SHAPE.join(weights)).read, weights.read)
    with pytest.raises(ConfigError, match="'read'"):
        balancer_shape_of(weights._replace(read=weights.read[1:]))
    with pytest.raises(ConfigError, match="not finite"):
        balancer_shape_of(weights._replace(score=np.full_like(weights.score, np.nan)))
