from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.errors import ConfigError
from prema_gym.simulator import AGE_MS
from tests.baselines.tables import Row, running, table, task


def _counts(
    rows: tuple[Row | None, ...],
    mechanisms: tuple[str, ...],
    draws: int = 20_000,
    seed: int = 0,
) -> NDArray[np.int64]:
    tables = np.repeat(table(*rows)[np.newaxis], draws, axis=0)
    tables[:, :, AGE_MS] += np.arange(draws, dtype=np.float32)[:, np.newaxis]  # moments in time
    policy = baselines.make("random", mechanisms=mechanisms, seed=seed)
    actions, _ = policy.predict(tables)
    return np.bincount(actions, minlength=len(rows) * len(mechanisms))


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_every_legal_action_is_equally_likely_and_no_other_happens(seed: int) -> None:
    # Slot 2 runs. Legal: slots 0, 1, 2 with the first mechanism; 0 and 1 with the second.
    counts = _counts((task(), task(), running(), None), ("checkpoint", "kill"), seed=seed)
    assert counts[[3, 6, 7]].tolist() == [0, 0, 0]
    # 20 000 draws, 5 actions: mean 4 000, standard deviation √(20 000 · 0.2 · 0.8) = 57.
    assert np.abs(counts[[0, 1, 2, 4, 5]] - 4_000).max() < 5 * 57


def test_on_a_free_machine_only_plain_slots_are_legal() -> None:
    counts = _counts((task(), None, task()), ("checkpoint", "kill"))
    assert counts[[1, 3, 4, 5]].sum() == 0
    assert np.abs(counts[[0, 2]] - 10_000).max() < 5 * 71  # √(20 000 · 0.5 · 0.5) = 71


def test_successive_draws_are_unrelated() -> None:
    rows = (task(), running())
    tables = np.repeat(table(*rows)[np.newaxis], 20_001, axis=0)
    tables[:, :, AGE_MS] += np.arange(20_001, dtype=np.float32)[:, np.newaxis] / 4
    actions, _ = baselines.make("random").predict(tables)
    repeats = np.count_nonzero(actions[1:] == actions[:-1])
    assert abs(repeats - 10_000) < 5 * 71


@pytest.mark.parametrize("seed", range(4))
def test_a_fresh_arrival_does_not_meet_the_same_luck_in_every_workload(seed: int) -> None:
    # The newcomer's own row is the same each time (age 0, order 1); only the running task differs.
    tables = np.repeat(table(running(), task())[np.newaxis], 1_000, axis=0)
    tables[:, 0, AGE_MS] = np.arange(1_000)
    actions, _ = baselines.make("random", seed=seed).predict(tables)
    assert abs(actions.sum() - 500) < 5 * 16  # √(1 000 · 0.5 · 0.5) = 16


def test_seeds_differ_and_repeat() -> None:
    tables = np.repeat(table(task(), task(), running())[np.newaxis], 500, axis=0)
    tables[:, :, AGE_MS] += np.arange(500, dtype=np.float32)[:, np.newaxis]
    first, again, other = (
        baselines.make("random", seed=seed).predict(tables)[0] for seed in (7, 7, 8)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_has_64_bits(seed: int) -> None:
    with pytest.raises(ConfigError, match="seed must be a whole number from 0 to"):
        baselines.make("random", seed=seed)
