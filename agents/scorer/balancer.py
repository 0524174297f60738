"""How does the balancer network choose, with a memory and a preference? Compiled.

The build is the scorer's (``compiled.py``): a shared layer encodes each task, mean and maximum of
the encodings are the context, a second shared layer reads a task in it, and its output and a
straight line add up to the score. What is new is what it sees (``balancer_inputs.py``), and when it
thinks: when a task has come or gone, when the running one is about to end, and else every
``THINKS_EVERY_MS``. In between the chosen task goes on, so that it switches as rarely as a planner.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import prema_gym.simulator.observation as col
from prema_gym.agents.scorer.balancer_inputs import squash, write_inputs
from prema_gym.agents.scorer.balancer_names import NUM_INPUTS, NUM_OF_ALL, NUM_PREFERENCES
from prema_gym.agents.scorer.balancer_shape import BalancerWeights
from prema_gym.baselines.remembered import KEPT_OF_SLOT, KEPT_OF_TABLE, forget, notice
from prema_gym.baselines.replan import HELD_MS
from prema_gym.compiled.jit import inlined, kernel

THINKS_EVERY_MS = 2.0
"""Eight of the paper's quanta: few answers change sooner unless somebody comes or goes."""
_ROUNDING_MS = 1e-3
"""Ages are float32: two of a task's differ by the time between, but for this."""

# The network's own columns of a table's memory, after those of `remembered.py`: time since it
# thought [ms], the slot chosen then, and whether that task was about to end.
_SINCE_MS, _CHOSEN, _ENDING = range(KEPT_OF_TABLE, KEPT_OF_TABLE + 3)
OF_SLOT, OF_TABLE = KEPT_OF_SLOT, KEPT_OF_TABLE + 3
"""Numbers that are remembered of a slot and of a table."""


@inlined
def _encode(
    table: NDArray[np.float32],
    inputs: NDArray[np.float32],
    preference: NDArray[np.float32],
    weights: BalancerWeights,
    encoding: NDArray[np.float32],
) -> None:
    """Encode every present task; behind the slots lie the sum and the maximum."""
    num_slots, hidden = table.shape[0], encoding.shape[1]
    total, highest = encoding[num_slots], encoding[num_slots + 1]
    total[:] = 0.0
    highest[:] = -1.0  # below every value of softsign
    for slot in range(num_slots):
        if table[slot, col.PRESENT] == 0.0:
            continue
        own = encoding[slot]
        for h in range(hidden):
            own[h] = weights.encode_bias[h]
        for p in range(NUM_PREFERENCES):
            for h in range(hidden):
                own[h] += preference[p] * weights.encode[NUM_INPUTS + p, h]
        for f in range(NUM_INPUTS):
            for h in range(hidden):
                own[h] += inputs[slot, f] * weights.encode[f, h]
        for h in range(hidden):
            own[h] = squash(own[h])
            total[h] += own[h]
            highest[h] = max(highest[h], own[h])


@inlined
def _read_context(
    encoding: NDArray[np.float32],
    num_slots: int,
    count: int,
    of_all: NDArray[np.float32],
    preference: NDArray[np.float32],
    weights: BalancerWeights,
    context: NDArray[np.float32],
) -> None:
    """What every reader makes of the table as a whole."""
    hidden, readers = encoding.shape[1], context.shape[0]
    for u in range(readers):
        context[u] = weights.read_bias[u]
    for g in range(NUM_OF_ALL):
        for u in range(readers):
            context[u] += of_all[g] * weights.read[3 * hidden + g, u]
    for p in range(NUM_PREFERENCES):
        for u in range(readers):
            context[u] += preference[p] * weights.read[3 * hidden + NUM_OF_ALL + p, u]
    for h in range(hidden):
        mean, highest = encoding[num_slots, h] / count, encoding[num_slots + 1, h]
        for u in range(readers):
            context[u] += mean * weights.read[hidden + h, u]
            context[u] += highest * weights.read[2 * hidden + h, u]


@inlined
def _score(
    inputs: NDArray[np.float32],
    encoding: NDArray[np.float32],
    context: NDArray[np.float32],
    weights: BalancerWeights,
    reader: NDArray[np.float32],
) -> float:
    """Score of one task from its inputs (F,), its encoding (H,) and the context (U,)."""
    for u in range(context.shape[0]):
        reader[u] = context[u]
    for h in range(encoding.shape[0]):
        for u in range(context.shape[0]):
            reader[u] += encoding[h] * weights.read[h, u]
    score = 0.0
    for f in range(NUM_INPUTS):
        score += inputs[f] * weights.line[f]
    for u in range(context.shape[0]):
        score += squash(reader[u]) * weights.score[u]
    return score


@inlined
def _best(
    table: NDArray[np.float32],
    inputs: NDArray[np.float32],
    encoding: NDArray[np.float32],
    context: NDArray[np.float32],
    weights: BalancerWeights,
    reader: NDArray[np.float32],
    luck: NDArray[np.float32],
    b: int,
) -> int:
    """Slot of the highest score, with noise where there is luck; there is a task."""
    best, highest = -1, -math.inf
    for slot in range(table.shape[0]):
        if table[slot, col.PRESENT] > 0.0:
            score = _score(inputs[slot], encoding[slot], context, weights, reader)
            if luck.shape[0] > 0:
                score -= math.log(-math.log(luck[b, slot]))
            if best < 0 or score > highest:
                best, highest = slot, score
    return best


@inlined
def _goes_on(
    table: NDArray[np.float32], of_table: NDArray[np.float64], changed: bool, elapsed_ms: float
) -> bool:
    """Whether the task chosen last goes on without a thought; keeps the time."""
    of_table[_SINCE_MS] += 0.0 if changed else elapsed_ms
    chosen = int(of_table[_CHOSEN])
    if changed or chosen < 0 or of_table[_SINCE_MS] >= THINKS_EVERY_MS - _ROUNDING_MS:
        return False
    about_to_end = table[chosen, col.REMAINING_MS] <= HELD_MS
    return not about_to_end or of_table[_ENDING] > 0.0


@inlined
def _remember(table: NDArray[np.float32], chosen: int, of_table: NDArray[np.float64]) -> None:
    """Keep what was chosen just now; -1: there was nobody."""
    about_to_end = chosen >= 0 and table[chosen, col.REMAINING_MS] <= HELD_MS
    of_table[_CHOSEN] = chosen
    of_table[_SINCE_MS] = 0.0
    of_table[_ENDING] = 1.0 if about_to_end else 0.0


@kernel
def think(
    tables: NDArray[np.float32],
    asked: NDArray[np.bool_],
    fresh: NDArray[np.bool_],
    preference: NDArray[np.float32],
    weights: BalancerWeights,
    of_slots: NDArray[np.float64],
    of_tables: NDArray[np.float64],
    actions: NDArray[np.int64],
    thought: NDArray[np.bool_],
    inputs: NDArray[np.float32],
    of_all: NDArray[np.float32],
    luck: NDArray[np.float32],
) -> None:
    """Choose the slot to run in every table that asks; ties go to the lower slot.

    Args:
        tables: Observation tables float32 (B, S, C); only read.
        asked: bool (B,), where an action is wanted: elsewhere nothing is noticed either.
        fresh: bool (B,), where nothing is remembered.
        preference: float32 (B or 1, NUM_PREFERENCES), logarithms.
        weights: The network.
        of_slots: Memory (B, S, OF_SLOT), read and written.
        of_tables: Memory (B, OF_TABLE), read and written.
        actions: int64 (B,), written where asked; 0 where a table is empty.
        thought: bool (B,), written: where the network was asked.
        inputs: float32 (B or 1, S, NUM_INPUTS), written: with one row working space, else what was
            seen where ``thought``.
        of_all: float32 (B or 1, NUM_OF_ALL), the same.
        luck: float32 (B, S), uniform draws above 0: choose by chance, with the scores' softmax as
            probabilities (largest score plus Gumbel noise); (0, S): the highest score.
    """
    num_slots = tables.shape[1]
    encoding = np.empty((num_slots + 2, weights.encode.shape[1]), np.float32)
    context = np.empty(weights.read.shape[1], np.float32)
    reader = np.empty(weights.read.shape[1], np.float32)
    for b in range(tables.shape[0]):
        thought[b] = False
        if not asked[b]:
            continue
        table, of_table = tables[b], of_tables[b]
        if fresh[b]:
            forget(of_slots[b], of_table)
            of_table[_CHOSEN] = -1.0
        changed, elapsed_ms = notice(table, of_slots[b], of_table)
        if _goes_on(table, of_table, changed, elapsed_ms):
            actions[b] = int(of_table[_CHOSEN])
            continue
        k = b if inputs.shape[0] > 1 else 0
        seen, liked = inputs[k], preference[b if preference.shape[0] > 1 else 0]
        count = write_inputs(table, of_slots[b], of_table, seen, of_all[k])
        best = -1
        if count > 0:
            _encode(table, seen, liked, weights, encoding)
            _read_context(encoding, num_slots, count, of_all[k], liked, weights, context)
            best = _best(table, seen, encoding, context, weights, reader, luck, b)
        _remember(table, best, of_table)
        thought[b] = best >= 0
        actions[b] = max(best, 0)
