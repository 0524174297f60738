from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.scorer.shape import ScorerShape, Weights, shape_of
from prema_gym.errors import ConfigError
from prema_gym.simulator import observation as col
from prema_gym.simulator.features import FEATURES, NUM_FEATURES
from prema_gym.workloads.catalog import Catalog
from tests.agents.conftest import random_policy, tables

ALL = ("checkpoint", "kill", "drain")


def _line_only(**slopes: float) -> LearnedPolicy:
    """A policy whose score is a straight line through named features."""
    shape = ScorerShape(hidden=1, readers=1)
    weights = shape.split(np.zeros(shape.size))
    for name, slope in slopes.items():
        weights.line[[n for n, _ in FEATURES].index(name), 0] = slope
    return LearnedPolicy("line", weights, {"mechanisms": ["checkpoint"]})


def _table(*rows: Mapping[int, float]) -> NDArray[np.float32]:
    table = np.zeros((len(rows), col.NUM_COLUMNS), np.float32)
    for row, values in zip(table, rows, strict=True):
        for column, value in values.items():
            row[column] = value
    return table


@pytest.mark.small
def test_a_line_through_one_feature_by_hand() -> None:
    # 0.25 ms is one quantum: remaining 0.75 ms = 3 quanta, (log(1 + 3) − 4)/2 = −1.3069.
    task = {
        col.PRESENT: 1,
        col.PRIORITY: 9,
        col.AGE_MS: 2.25,
        col.ESTIMATED_MS: 1.0,
        col.EXECUTED_MS: 0.25,
        col.REMAINING_MS: 0.75,
        col.TOKEN: 18,
        col.SLACK_MS: 3.0,
        col.RESTORE_MS: 0.25,
    }
    expected = {
        "remaining": -1.306853,
        "estimate": (np.log(5) - 4) / 2,
        "priority": np.log(3),
        "slowdown": np.log(3),  # (2.25 + 0.75) / 1
        "running": 0,
        "progress": 0.25,
        "slack": 0.75,  # 3 / (1 + 3)
        "switch": np.log(2),
        "token": np.log(2),
    }
    assert list(expected) == [name for name, _ in FEATURES]
    for name, value in expected.items():
        scores = _line_only(**{name: 2.0}).scores(_table(task))
        assert scores[0, 0] == pytest.approx(2 * value, abs=2e-6), name


@pytest.mark.small
def test_least_remaining_time_is_a_line() -> None:
    short = {col.PRESENT: 1, col.PRIORITY: 1, col.ESTIMATED_MS: 5, col.REMAINING_MS: 1}
    long = short | {col.REMAINING_MS: 4}
    policy = _line_only(remaining=-1.0)
    assert policy.predict(_table(long, short))[0] == 1
    assert policy.predict(_table(short, long))[0] == 0
    # Equal scores: the lower slot.
    assert policy.predict(_table({}, short, short))[0] == 1


@pytest.mark.small
def test_an_empty_table_gives_action_zero() -> None:
    policy = random_policy()
    empty = np.zeros((3, col.NUM_COLUMNS), np.float32)
    assert policy.predict(empty)[0] == 0
    assert policy.scores(empty).tolist() == [[0, -np.inf, -np.inf]]


@pytest.mark.small
@pytest.mark.parametrize("mechanisms", [("checkpoint",), ALL])
def test_scores_are_finite_exactly_where_the_mask_allows(
    tiny: Catalog, mechanisms: tuple[str, ...]
) -> None:
    policy = random_policy(mechanisms=mechanisms)
    seen = 0
    for observation, mask in tables(tiny, count=6, steps=15, mechanisms=mechanisms):
        scores = policy.scores(observation)
        assert np.array_equal(np.isfinite(scores), mask)
        actions, _ = policy.predict(observation)
        assert np.array_equal(actions, scores.argmax(axis=1))
        assert mask[np.arange(len(actions)), actions].all()
        seen += len(actions)
    assert seen >= 40


def test_permuting_slots_permutes_scores_and_empty_slots_change_nothing(tiny: Catalog) -> None:
    policy = random_policy(mechanisms=ALL)
    rng = np.random.default_rng(3)
    for observation, _ in tables(tiny, count=20, steps=10, mechanisms=ALL):
        slots = observation.shape[1]
        scores = policy.scores(observation).reshape(-1, 3, slots)
        order = rng.permutation(slots)
        permuted = policy.scores(observation[:, order]).reshape(-1, 3, slots)
        np.testing.assert_allclose(permuted, scores[:, :, order], rtol=1e-4, atol=1e-4)
        wide = np.zeros((len(observation), 64, col.NUM_COLUMNS), np.float32)
        wide[:, :slots] = observation
        more = policy.scores(wide).reshape(-1, 3, 64)
        assert np.array_equal(more[:, :, :slots], scores)
        assert np.isneginf(more[:, :, slots:]).all()


def test_extreme_tables_give_finite_scores() -> None:
    policy = random_policy()
    row = {col.PRESENT: 1, col.PRIORITY: 1e6, col.ESTIMATED_MS: 0.0, col.AGE_MS: 1e9}
    huge = row | {col.TOKEN: 1e30, col.SLACK_MS: -1e9, col.EXECUTED_MS: 1e9, col.REMAINING_MS: 1e9}
    none = {col.PRESENT: 1}
    assert np.isfinite(policy.scores(_table(row, huge, none))).all()


def test_one_table_and_a_batch_agree(tiny: Catalog) -> None:
    policy = random_policy()
    observation, _ = next(tables(tiny, count=8, steps=1))
    state = object()
    batch, handed = policy.predict(observation, state=state)
    assert handed is state
    assert batch.shape == (8,)
    for table, action in zip(observation, batch, strict=True):
        one, _ = policy.predict(table)
        assert one.shape == ()
        assert one == action


def test_a_table_of_another_width_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"slots, 19"):
        random_policy().predict(np.zeros((4, 17), np.float32))


def test_split_and_join_are_inverse_and_sizes_are_checked() -> None:
    shape = ScorerShape(hidden=4, readers=3, mechanisms=2)
    # F·M + F·H + H + (3H + 1)·U + U + U·M
    assert shape.size == NUM_FEATURES * 2 + NUM_FEATURES * 4 + 4 + 13 * 3 + 3 + 3 * 2
    vector = np.arange(shape.size, dtype=np.float64)
    weights = shape.split(vector)
    assert np.array_equal(shape.join(weights), vector)
    assert shape_of(weights) == shape
    with pytest.raises(ConfigError, match="parameters, got"):
        shape.split(vector[1:])
    with pytest.raises(ConfigError, match="'read' have the shape"):
        shape_of(weights._replace(read=weights.read[1:]))
    with pytest.raises(ConfigError, match="not finite"):
        shape_of(weights._replace(score=np.full_like(weights.score, np.nan)))
    with pytest.raises(ConfigError, match="hidden must be"):
        ScorerShape(hidden=0)


def test_fresh_weights_prefer_nobody(tiny: Catalog) -> None:
    weights = ScorerShape().initial(np.random.default_rng(0))
    assert isinstance(weights, Weights)
    policy = LearnedPolicy("fresh", weights, {"mechanisms": ["checkpoint"]})
    observation, mask = next(tables(tiny, count=5, steps=1))
    assert (policy.scores(observation)[mask] == 0).all()
