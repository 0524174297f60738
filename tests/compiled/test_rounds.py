"""Is each chunk of a job claimed once, and how are the chunks cut?"""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym.compiled.jit import COMPILED
from prema_gym.compiled.threads.rounds import (
    CLAIMED,
    NO_CHUNK,
    THREAD,
    THREADS,
    Partition,
    claim,
    items_of,
    partition_of,
)

pytestmark = pytest.mark.skipif(not COMPILED, reason="plain Python plays in one thread")


@pytest.mark.parametrize(("num_chunks", "threads"), [(1, 1), (7, 2), (16, 3), (5, 5), (9, 4)])
def test_each_chunk_is_claimed_once_and_the_own_part_comes_first(
    num_chunks: int, threads: int
) -> None:
    partition = Partition(num_items=num_chunks, chunk=1, num_chunks=num_chunks, threads=threads)
    edges = [num_chunks * part // threads for part in range(threads + 1)]
    for thread in range(threads):
        words = np.zeros(THREADS + threads * THREAD, np.int64)
        words[THREADS + CLAIMED :: THREAD] = edges[:-1]
        chunks = [claim(words, partition, thread) for _ in range(num_chunks + 3)]
        assert chunks[num_chunks:] == [NO_CHUNK] * 3
        # Parts one after the other, from the own one on.
        order = [(thread + k) % threads for k in range(threads)]
        parts = [range(edges[p], edges[p + 1]) for p in order]
        assert chunks[:num_chunks] == [chunk for part in parts for chunk in part]


@pytest.mark.parametrize(
    ("num_items", "threads", "chunk"), [(1, 1, 64), (7, 3, 64), (130, 2, 64), (64, 4, 1), (9, 4, 2)]
)
def test_the_chunks_are_all_the_items_once(num_items: int, threads: int, chunk: int) -> None:
    partition = partition_of(num_items, threads, chunk)
    assert partition.chunk <= chunk
    items: list[int] = []
    for number in range(partition.num_chunks):
        first, last = items_of(partition, number)
        assert 0 < last - first <= partition.chunk
        items += range(first, last)
    assert items == list(range(num_items))
