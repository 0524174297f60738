"""How does the network score tasks, and how fast can that be done for a whole batch of tables?

One small network serves every learned scheduler here. Each present task's features are encoded by a
shared layer; the encodings' mean and maximum over the table, and the number of tasks, are the
*context*; a second shared layer reads a task's encoding beside the context; its output and a
straight line through the features add up to one score per task and mechanism. The task and
mechanism with the highest score are chosen. Nothing depends on which slot a task is in or on how
many slots there are, so a policy trained with 8 slots runs with 64.

This is the compiled forward pass, which needs no torch: evolution strategies and shipped policies
run on it. ``torch_scorer.py`` is the same network in torch, with the same names and shapes
(``shape.py``); a test holds the two equal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents.scorer.shape import Weights
from prema_gym.compiled.jit import inlined, kernel
from prema_gym.simulator import observation as col
from prema_gym.simulator.features import (
    LOG_CENTRE,
    LOG_MEDIUM_PRIORITY,
    LOG_SPREAD,
    MOST_PROGRESS,
    NUM_FEATURES,
    QUANTUM_MS,
    TINY,
)

NEVER = -np.inf
"""Score of an action that is not legal."""


@inlined
def _write_features(
    table: NDArray[np.float32], env: int, slot: int, out: NDArray[np.float32]
) -> None:
    """Write the features of one present task.

    Args:
        table: Observation tables float32 (B, S, C).
        env: Which table.
        slot: Which row.
        out: float32 (NUM_FEATURES,), written in the order of ``FEATURES``.
    """
    remaining = table[env, slot, col.REMAINING_MS]
    estimate = max(table[env, slot, col.ESTIMATED_MS], TINY)
    priority = max(table[env, slot, col.PRIORITY], TINY)
    switch = table[env, slot, col.PREEMPT_MS] + table[env, slot, col.RESTORE_MS]
    slack = table[env, slot, col.SLACK_MS] / estimate
    turnaround = table[env, slot, col.AGE_MS] + remaining
    out[0] = (math.log1p(remaining / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD
    out[1] = (math.log1p(estimate / QUANTUM_MS) - LOG_CENTRE) / LOG_SPREAD
    out[2] = math.log(priority) - LOG_MEDIUM_PRIORITY
    out[3] = math.log(turnaround / estimate + TINY)
    out[4] = table[env, slot, col.RUNNING]
    out[5] = min(table[env, slot, col.EXECUTED_MS] / estimate, MOST_PROGRESS)
    out[6] = slack / (1.0 + abs(slack))
    out[7] = math.log1p(switch / QUANTUM_MS)
    out[8] = math.log(table[env, slot, col.TOKEN] / priority + TINY)


@inlined
def _squash(x: float) -> float:
    """Softsign: bounded like tanh and many times cheaper."""
    return x / (1.0 + abs(x))


@inlined
def _encode_tasks(
    table: NDArray[np.float32],
    env: int,
    weights: Weights,
    features: NDArray[np.float32],
    encoding: NDArray[np.float32],
) -> tuple[int, bool]:
    """Encode every present task, and their sum and maximum; how many, and whether one runs."""
    hidden = encoding.shape[1]
    num_slots = table.shape[1]
    pooled = encoding[num_slots]  # one row more than slots: the sums
    highest = encoding[num_slots + 1]  # and another: the maxima
    pooled[:] = 0.0
    highest[:] = -1.0  # below every value of softsign
    count = 0
    busy = False
    for slot in range(num_slots):
        if table[env, slot, col.PRESENT] == 0.0:
            continue
        count += 1
        busy |= table[env, slot, col.RUNNING] != 0.0
        _write_features(table, env, slot, features[slot])
        for h in range(hidden):
            encoding[slot, h] = weights.encode_bias[h]
        for f in range(NUM_FEATURES):
            for h in range(hidden):
                encoding[slot, h] += features[slot, f] * weights.encode[f, h]
        for h in range(hidden):
            value = _squash(encoding[slot, h])
            encoding[slot, h] = value
            pooled[h] += value
            highest[h] = max(highest[h], value)
    return count, busy


@inlined
def _read_context(
    weights: Weights,
    encoding: NDArray[np.float32],
    num_slots: int,
    count: int,
    context: NDArray[np.float32],
) -> None:
    """What every reader makes of the table as a whole: of mean, maximum and number of tasks."""
    hidden = encoding.shape[1]
    readers = context.shape[0]
    pooled = encoding[num_slots]
    highest = encoding[num_slots + 1]
    for u in range(readers):
        context[u] = weights.read_bias[u] + math.log(count) * weights.read[3 * hidden, u]
    for h in range(hidden):
        for u in range(readers):
            context[u] += pooled[h] / count * weights.read[hidden + h, u]
            context[u] += highest[h] * weights.read[2 * hidden + h, u]


@inlined
def _read_task(
    weights: Weights,
    encoding: NDArray[np.float32],
    slot: int,
    context: NDArray[np.float32],
    reader: NDArray[np.float32],
) -> None:
    """What every reader makes of one task in its context."""
    for u in range(context.shape[0]):
        reader[u] = context[u]
    for h in range(encoding.shape[1]):
        for u in range(context.shape[0]):
            reader[u] += encoding[slot, h] * weights.read[h, u]
    for u in range(context.shape[0]):
        reader[u] = _squash(reader[u])


@inlined
def _score_table(
    table: NDArray[np.float32],
    env: int,
    weights: Weights,
    features: NDArray[np.float32],
    encoding: NDArray[np.float32],
    context: NDArray[np.float32],
    reader: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> None:
    """Score every action of one table; the four arrays in the middle are working space."""
    num_slots = table.shape[1]
    count, busy = _encode_tasks(table, env, weights, features, encoding)
    if count == 0:  # nothing is asked, and action 0 is the one that does nothing
        scores[:] = NEVER
        scores[0] = 0.0
        return
    _read_context(weights, encoding, num_slots, count, context)
    for slot in range(num_slots):
        present = table[env, slot, col.PRESENT] != 0.0
        running = table[env, slot, col.RUNNING] != 0.0
        if present:
            _read_task(weights, encoding, slot, context, reader)
        for m in range(weights.line.shape[1]):
            action = m * num_slots + slot
            # The rule of the simulator's mask (docs/simulator.md, "Actions").
            if not present or (m > 0 and (running or not busy)):
                scores[action] = NEVER
                continue
            total = 0.0
            for f in range(NUM_FEATURES):
                total += features[slot, f] * weights.line[f, m]
            for u in range(context.shape[0]):
                total += reader[u] * weights.score[u, m]
            scores[action] = total


@kernel
def score(table: NDArray[np.float32], weights: Weights, scores: NDArray[np.float32]) -> None:
    """Score every action of every table.

    Args:
        table: Observation tables float32 (B, S, C); only read.
        weights: The network.
        scores: float32 (B, M · S), written: −∞ where an action is not legal.
    """
    num_slots = table.shape[1]
    features = np.empty((num_slots, NUM_FEATURES), np.float32)
    encoding = np.empty((num_slots + 2, weights.encode.shape[1]), np.float32)
    context = np.empty(weights.read.shape[1], np.float32)
    reader = np.empty(weights.read.shape[1], np.float32)
    for env in range(table.shape[0]):
        _score_table(table, env, weights, features, encoding, context, reader, scores[env])


@kernel
def choose(
    table: NDArray[np.float32],
    weights: Weights,
    asked: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    """Choose the action of highest score in every table that asks; ties go to the lower action.

    Args:
        table: Observation tables float32 (B, S, C); only read.
        weights: The network.
        asked: bool (B,), where an action is wanted.
        actions: int64 (B,), written where asked: 0 where a table is empty.
    """
    num_slots = table.shape[1]
    features = np.empty((num_slots, NUM_FEATURES), np.float32)
    encoding = np.empty((num_slots + 2, weights.encode.shape[1]), np.float32)
    context = np.empty(weights.read.shape[1], np.float32)
    reader = np.empty(weights.read.shape[1], np.float32)
    scores = np.empty(num_slots * weights.line.shape[1], np.float32)
    for env in range(table.shape[0]):
        if not asked[env]:
            continue
        _score_table(table, env, weights, features, encoding, context, reader, scores)
        best = 0
        for action in range(1, scores.shape[0]):
            if scores[action] > scores[best]:
                best = action
        actions[env] = best
