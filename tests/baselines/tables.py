"""Observation tables written by hand, and random ones with many ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prema_gym.simulator import (
    AGE_MS,
    COLUMNS,
    ESTIMATED_MS,
    EXECUTED_MS,
    NEXT_LAYER_MS,
    NUM_COLUMNS,
    ORDER,
    PREEMPT_MS,
    PRESENT,
    PRIORITY,
    QUANTUM_LEFT_MS,
    REMAINING_MS,
    RESTORE_MS,
    RUNNING,
    SINCE_RUN_MS,
    SLACK_MS,
    TOKEN,
    WAITED_MS,
)

Row = dict[str, float]


def task(**columns: float) -> Row:
    """A waiting task of priority 1, one token, 10 ms in layers of 1 ms, but for what is given."""
    row: Row = {"priority": 1, "token": 1, "estimated_ms": 10, "remaining_ms": 10}
    row["next_layer_ms"] = 1
    return row | columns


def running(**columns: float) -> Row:
    """The same task, running, with its quantum begun."""
    return task(running=1, quantum_left_ms=0.25) | columns


def table(*rows: Row | None, slots: int | None = None) -> NDArray[np.float32]:
    """One table: a row a slot, None for an empty one; arrival in the order written unless given."""
    names = [column.name for column in COLUMNS]
    observation = np.zeros((len(rows) if slots is None else slots, NUM_COLUMNS), np.float32)
    order = 0
    for slot, row in enumerate(rows):
        if row is not None:
            for name, value in ({"present": 1, "order": order} | row).items():
                observation[slot, names.index(name)] = value
            order += 1
    return observation


def random_tables(seed: int, envs: int, slots: int) -> NDArray[np.float32]:
    """Tables from empty to full, free and busy, with values from small sets, so with ties."""
    rng = np.random.default_rng(seed)
    tables = np.zeros((envs, slots, NUM_COLUMNS), np.float32)
    for observation in tables:
        count = rng.integers(0, slots + 1)
        taken = rng.permutation(slots)[:count]
        rows = np.zeros((count, NUM_COLUMNS), np.float32)
        rows[:, PRESENT] = 1
        rows[:, ORDER] = rng.permutation(count)
        rows[:, PRIORITY] = rng.choice([1, 3, 9], count)
        rows[:, TOKEN] = rng.choice([0.5, 1, 1.5, 3, 4, 9, 20], count)
        rows[:, ESTIMATED_MS] = rng.choice([1, 2, 4], count)
        rows[:, REMAINING_MS] = np.minimum(rows[:, ESTIMATED_MS], rng.choice([0, 1, 3], count))
        rows[:, NEXT_LAYER_MS] = rng.choice([0.25, 0.5, 1], count)
        rows[:, EXECUTED_MS] = rng.choice([0, 0.25, 0.75, 1, 40], count)
        rows[:, WAITED_MS] = rng.choice([0, 1, 2], count)
        rows[:, RESTORE_MS] = rng.choice([0, 0.25], count)
        rows[:, SINCE_RUN_MS] = rng.choice([0, 1, 2, 20], count)
        rows[:, AGE_MS] = rng.choice([2, 5], count)
        rows[:, SLACK_MS] = rng.choice([-1, 0, 1], count)
        if count and rng.random() < 0.7:
            runner = rng.integers(count)
            rows[runner, RUNNING] = 1
            rows[runner, SINCE_RUN_MS] = 0
            rows[runner, RESTORE_MS] = 0
            rows[runner, NEXT_LAYER_MS] *= rng.random() < 0.8
            rows[runner, PREEMPT_MS] = rng.choice([0, 0.25, 0.5])
            rows[runner, QUANTUM_LEFT_MS] = rng.choice([0, 0.1])
        observation[taken] = rows
    return tables


def as_rows(observation: NDArray[np.float32]) -> list[Row]:
    """The present rows as dictionaries, each with its slot."""
    names = [column.name for column in COLUMNS]
    return [
        dict(zip(names, map(float, row), strict=True)) | {"slot": slot}
        for slot, row in enumerate(observation)
        if row[PRESENT] > 0
    ]


def relabelled(observation: NDArray[np.float32], permutation: Sequence[int]) -> NDArray[np.float32]:
    """Tables (…, slots, columns) whose slot ``permutation[i]`` holds what slot i held."""
    moved = np.empty_like(observation)
    moved[..., list(permutation), :] = observation
    return moved
