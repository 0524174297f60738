"""Whose episode ended in a step? Found by compiled code, with a copy of what is reported of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class Ends(NamedTuple):
    """Who stands at the end of an episode, and what became of those that just got there."""

    over: BoolArray  # (B,) all who stand there
    over_rows: IntArray  # int64, the same: its first elements
    ended: IntArray  # int64, those who were not over before: its first elements
    tasks: IntArray  # (K, N, …) words of their task records
    env: IntArray  # (K, …) and of their clocks and counters


def room_for_ends(words: tuple[IntArray, IntArray], count: int) -> Ends:
    """Make room for ``count`` who are over, of a simulator with such `Simulator.words`."""
    tasks, env = words
    return Ends(
        np.empty(tasks.shape[0], np.bool_),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty((count, *tasks.shape[1:]), np.int64),
        np.empty((count, *env.shape[1:]), np.int64),
    )


@in_place
def find_ends(
    before: BoolArray, flags: BoolArray, tasks: IntArray, env: IntArray, out: Ends
) -> int:
    """Find who is at the end of an episode, and copy the records of those that just got there.

    Compiled, since it is done in nearly every step of a large batch.

    Args:
        before: bool (B,), who was over before the step.
        flags: bool (2, B), who is terminated and truncated after it.
        tasks: int64 (B, N, …), `Simulator.words`.
        env: int64 (B, …), likewise.
        out: Written; with room for all who are over.

    Returns:
        How many just got there.
    """
    num_ended = 0
    num_over = 0
    for b in range(before.shape[0]):
        over = flags[0, b] or flags[1, b]
        out.over[b] = over
        if not over:
            continue
        out.over_rows[num_over] = b
        num_over += 1
        if before[b]:
            continue
        out.ended[num_ended] = b
        for word in range(env.shape[1]):
            out.env[num_ended, word] = env[b, word]
        for i in range(tasks.shape[1]):
            for word in range(tasks.shape[2]):
                out.tasks[num_ended, i, word] = tasks[b, i, word]
        num_ended += 1
    return num_ended
