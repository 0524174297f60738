"""How does a round go? The primitives by which threads share the chunks of one job.

A *round* plays one job: a range of items, cut in chunks. The leader begins it and waits at a
barrier until every chunk is finished; workers wait for the next round. All state lies in the words
of one int64 array, a pool's memory. :mod:`worker_pool` says how the pieces go together, and why.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.cpus import CACHE_LINE
from prema_gym.compiled.jit import in_place
from prema_gym.compiled.threads import atomics

IntArray = NDArray[np.int64]

SPINS_PER_YIELD = 64  # after which a worker lets others have its processor, if they wait for it
BARRIER_SPINS = 2_000  # for the last chunks, before the leader sleeps: 50 to 90 µs

LEADER = 0  # the caller's number; the workers have 1, 2, …
NO_CHUNK = STOPPED = -1

# Words of a pool's memory, each on a cache line of its own, so that no thread disturbs another's.
LINE = CACHE_LINE // 8
ROUND, JOB, FINISHED, TOTAL, STOP, THREADS = (k * LINE for k in range(6))
# ROUND: rounds begun; JOB: where the present one's job lies, for who holds a chunk of it: without
# one the round may be over and the job gone; FINISHED: its chunks that are; TOTAL: what they
# returned, summed; STOP: 1 where workers are to end; THREADS: from here THREAD words a thread:
CLAIMED, ASLEEP, SEMAPHORE = (k * LINE for k in range(3))
THREAD = 3 * LINE
# CLAIMED: the next chunk of its part to be claimed; ASLEEP: 1 where it sleeps; SEMAPHORE: where.


class Partition(NamedTuple):
    """How a job is shared out; the same in every round."""

    num_items: int
    chunk: int  # items in one, but for the last
    num_chunks: int
    threads: int  # part p is chunks [num_chunks · p / threads, num_chunks · (p + 1) / threads)


def partition_of(num_items: int, threads: int, chunk: int) -> Partition:
    """Cut items in chunks of at most ``chunk``, smaller where threads would go without."""
    chunk = min(chunk, -(-num_items // threads))
    return Partition(num_items, chunk, -(-num_items // chunk), threads)


def new_words(threads: int) -> IntArray:
    """Return a pool's memory: int64 zeros that start with a cache line."""
    count = THREADS + threads * THREAD
    room = np.zeros(count + LINE, np.int64)
    start = -room.__array_interface__["data"][0] % CACHE_LINE // 8
    return room[start : start + count]


@in_place
def init_semaphores(words: IntArray, partition: Partition) -> None:
    """Give every thread a semaphore to sleep on."""
    for thread in range(partition.threads):
        atomics.init_semaphore(words, THREADS + thread * THREAD + SEMAPHORE)


@in_place
def notify(words: IntArray, first: int, last: int) -> None:
    """Wake those of the threads ``[first, last)`` that sleep."""
    for thread in range(first, last):
        place = THREADS + thread * THREAD
        if atomics.load(words, place + ASLEEP):
            atomics.store(words, place + ASLEEP, 0)
            atomics.post_semaphore(words, place + SEMAPHORE)


@in_place
def begin(words: IntArray, partition: Partition, address: int) -> None:
    """Begin a round on the job that lies at ``address``."""
    words[FINISHED] = 0
    words[TOTAL] = 0
    # Nobody reads this before the claims are set anew: those of the last round are used up.
    words[JOB] = address
    for thread in range(partition.threads):
        first = partition.num_chunks * thread // partition.threads
        atomics.store(words, THREADS + thread * THREAD + CLAIMED, first)
    atomics.fetch_add(words, ROUND, 1)
    notify(words, 1, partition.threads)


@in_place
def claim(words: IntArray, partition: Partition, thread: int) -> int:
    """Return a chunk that is this thread's alone, of its own part if there is one; or NO_CHUNK."""
    for k in range(partition.threads):
        part = (thread + k) % partition.threads
        end = partition.num_chunks * (part + 1) // partition.threads
        word = THREADS + part * THREAD + CLAIMED
        # Loading first leaves the line in the caches of all who find it used up.
        if atomics.load(words, word) < end:
            chunk: int = atomics.fetch_add(words, word, 1)
            if chunk < end:
                return chunk
    return NO_CHUNK


@in_place
def items_of(partition: Partition, chunk: int) -> tuple[int, int]:
    """Return the first item of a chunk, and one past its last."""
    first = chunk * partition.chunk
    return first, min(first + partition.chunk, partition.num_items)


@in_place
def finish(words: IntArray, partition: Partition, result: int) -> None:
    """Say that a claimed chunk is played, and what came of it."""
    if result != 0:
        atomics.fetch_add(words, TOTAL, result)
    finished = atomics.fetch_add(words, FINISHED, 1) + 1
    if finished == partition.num_chunks:
        notify(words, LEADER, LEADER + 1)


@in_place
def barrier(words: IntArray, partition: Partition) -> int:
    """Wait, as the leader, until every chunk is finished; return the sum of their results."""
    spins = 0
    while atomics.load(words, FINISHED) < partition.num_chunks:
        if spins < BARRIER_SPINS:
            spins += 1
            atomics.pause()
            continue
        atomics.store(words, THREADS + ASLEEP, 1)
        if atomics.load(words, FINISHED) < partition.num_chunks:
            atomics.wait_semaphore(words, THREADS + SEMAPHORE)
        atomics.store(words, THREADS + ASLEEP, 0)
    total: int = words[TOTAL]
    return total


@in_place
def wait(words: IntArray, thread: int, seen: int, spins: int) -> int:
    """Wait, as a worker, for a round after ``seen``.

    Args:
        words: The pool's memory.
        thread: The worker's number.
        seen: The last round it took part in; 0: none.
        spins: How often to look before falling asleep.

    Returns:
        The round, or STOPPED.
    """
    place = THREADS + thread * THREAD
    spun = 0
    while not atomics.load(words, STOP):
        begun: int = atomics.load(words, ROUND)
        if begun != seen:
            return begun
        if spun < spins:
            spun += 1
            if spun % SPINS_PER_YIELD == 0:
                atomics.yield_processor()
            else:
                atomics.pause()
        else:
            atomics.store(words, place + ASLEEP, 1)
            # Whoever begins a round, or stops the pool, from here on sees that it sleeps.
            if atomics.load(words, ROUND) == seen and not atomics.load(words, STOP):
                atomics.wait_semaphore(words, place + SEMAPHORE)
            atomics.store(words, place + ASLEEP, 0)
            spun = 0
    return STOPPED


@in_place
def stop(words: IntArray, partition: Partition) -> None:
    """Tell the workers to end, wherever they are."""
    atomics.store(words, STOP, 1)
    for thread in range(1, partition.threads):
        atomics.post_semaphore(words, THREADS + thread * THREAD + SEMAPHORE)
