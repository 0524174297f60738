"""Features, orders of rows, and the forms that libraries look for."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from prema_gym.envs.sb3 import make_sb3_env
from prema_gym.envs.wrappers import RLLIB, TIANSHOU, log_scale, with_mask
from prema_gym.errors import ConfigError
from prema_gym.simulator import MECHANISMS, ORDER, PRESENT, REMAINING_MS
from prema_gym.simulator.features import FEATURES
from tests.envs.helpers import SETTINGS, assert_same, random_legal, single, vector

ORDERS = ("slot", "arrival", "remaining")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("observation", ["table", "features"])
def test_what_is_seen_is_the_same_game_with_rows_moved(observation: str, order: str) -> None:
    """Played beside a plain environment, row by row, by what a slow twin makes of its table."""
    seen = single(observation=observation, slot_order=order, strict=True, mechanisms=MECHANISMS)
    plain = single(mechanisms=MECHANISMS)
    rng = np.random.default_rng(0)
    for seed in range(12):
        shown, info = seen.reset(seed=seed)
        table, own = plain.reset(seed=seed)
        over = False
        while not over:
            rows = [row for row in range(3) if table[row, PRESENT]]
            if order == "arrival":
                rows.sort(key=lambda row: table[row, ORDER])
            if order == "remaining":
                rows.sort(key=lambda row: (table[row, REMAINING_MS], table[row, ORDER]))
            if order == "slot":
                rows = [0, 1, 2]
            rows += [row for row in range(3) if row not in rows]
            assert seen.observation_space.contains(shown)
            if observation == "table":
                np.testing.assert_array_equal(shown, table[rows])
            else:
                assert shown.shape == (3, len(FEATURES))
                assert not shown[table[rows, PRESENT] == 0].any()
                running = [name for name, _ in FEATURES].index("running")
                np.testing.assert_array_equal(shown[:, running], table[rows, 1])
            mask = info["action_mask"]
            if table[:, PRESENT].any():
                moved = own["action_mask"].reshape(3, 3)[:, rows].reshape(-1)
                np.testing.assert_array_equal(mask, moved)
            action = int(random_legal(mask, rng))
            there = action // 3 * 3 + rows[action % 3]
            shown, reward, *ends, info = seen.step(action)
            table, expected, *_, own = plain.step(there)
            assert reward == expected
            over = any(ends)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_batches_see_what_singles_see(mode: str) -> None:
    arguments: dict[str, Any] = {"observation": "features", "slot_order": "remaining"}
    envs = vector(3, autoreset_mode=mode, **arguments)
    twin = SyncVectorEnv(
        [lambda: single(**arguments)] * 3, autoreset_mode=gymnasium.vector.AutoresetMode(mode)
    )
    assert envs.observation_space == twin.observation_space
    rng = np.random.default_rng(0)
    one, other = envs.reset(seed=0), twin.reset(seed=0)
    assert_same(one[0], other[0])
    for _ in range(200):
        actions = random_legal(envs.action_masks(), rng)
        one, other = envs.step(actions), twin.step(actions)  # type: ignore[assignment]
        assert_same(one[:4], other[:4])
        np.testing.assert_array_equal(one[4]["action_mask"], other[4]["action_mask"])  # type: ignore[misc]
        np.testing.assert_array_equal(envs.call("action_masks"), envs.action_masks())
        if "final_obs" in one[-1]:
            assert_same(one[-1]["final_obs"], other[-1]["final_obs"])
    sb3 = make_sb3_env(3, seed=0, **SETTINGS, **arguments)
    np.testing.assert_array_equal(sb3.reset(), envs.reset(seed=0)[0])


@pytest.mark.parametrize("names", [RLLIB, TIANSHOU])
def test_the_mask_stands_where_libraries_look(names: tuple[str, str]) -> None:
    seen, mask = names
    env = with_mask(single(), names)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    np.testing.assert_array_equal(observation[mask], info["action_mask"])
    observation, *_, info = env.step(int(observation[mask].argmax()))
    np.testing.assert_array_equal(observation[mask], info["action_mask"])
    envs = with_mask(vector(4, autoreset_mode="SameStep", max_decisions=3), names)
    observations, _ = envs.reset(seed=0)
    for _ in range(3):
        assert envs.observation_space.contains(observations)
        observations, *_, infos = envs.step(observations[mask].argmax(axis=1))
    last = infos["final_obs"][0]
    assert set(last) == set(names)
    assert last[seen].shape == (3, 19)


def test_logarithms_are_of_order_one() -> None:
    env, envs = log_scale(single()), log_scale(vector(2))
    observation, _ = env.reset(seed=0)
    observations, _ = envs.reset(seed=0)
    np.testing.assert_array_equal(observations[0], observation)
    assert env.observation_space.contains(observation)
    assert np.abs(observation).max() < 20
    plain, _ = single().reset(seed=0)
    np.testing.assert_allclose(np.expm1(np.abs(observation)), np.abs(plain), rtol=1e-4)
    with pytest.raises(ConfigError, match="log_scale takes an environment of tables"):
        log_scale(with_mask(single()))
