"""Who steps a batch? The caller's thread, or a worker pool that shares each step with it."""

from __future__ import annotations

import os
from typing import Any

from prema_gym.compiled.jit import COMPILED, direct, in_place
from prema_gym.compiled.threads.atomics import address_of, value_at
from prema_gym.compiled.threads.rounds import (
    JOB,
    LEADER,
    NO_CHUNK,
    STOPPED,
    IntArray,
    Partition,
    barrier,
    begin,
    claim,
    finish,
    items_of,
    partition_of,
    wait,
)
from prema_gym.compiled.threads.worker_pool import WorkerPool
from prema_gym.envs.step import Job, step_and_pay

CHUNK = 64  # sub-environments, some 10 µs: how late a thread may come, and a hundred claims' time


@in_place
def _play_chunk(words: IntArray, partition: Partition, job: Job, chunk: int) -> None:
    """Play one chunk of a step and say so."""
    first, last = items_of(partition, chunk)
    finish(words, partition, step_and_pay(job, first, last))


@in_place
def lead(words: IntArray, partition: Partition, job: Job) -> int:
    """Begin a step and work at it until all is finished; return how many episodes are over."""
    begin(words, partition, address_of(job))
    chunk = claim(words, partition, LEADER)
    while chunk != NO_CHUNK:
        _play_chunk(words, partition, job, chunk)
        chunk = claim(words, partition, LEADER)
    return barrier(words, partition)


@in_place
def follow(words: IntArray, partition: Partition, worker: int, spins: int, like: Job) -> None:
    """Help with every step that begins, until the pool is stopped.

    Args:
        words: The pool's memory.
        partition: The pool's.
        worker: Which part is this thread's.
        spins: How often to look for a step before falling asleep.
        like: Any job; only its type counts.
    """
    seen = wait(words, worker, 0, spins)
    while seen != STOPPED:
        chunk = claim(words, partition, worker)
        while chunk != NO_CHUNK:
            # Looked up with a chunk in hand: without one the step may be over, and the job gone.
            _play_chunk(words, partition, value_at(words[JOB], like), chunk)
            chunk = claim(words, partition, worker)
        seen = wait(words, worker, seen, spins)


class Stepper:
    """Plays the steps of a batch.

    Args:
        num_envs: Sub-environments.
        threads: Threads among which they are split, the caller's among them.
    """

    def __init__(self, num_envs: int, threads: int) -> None:
        self._num_envs = num_envs
        self._threads = threads if COMPILED else 1
        self._pool: WorkerPool[Job] | None = None
        self._alone: Any = None  # `step_and_pay`, once it is looked up

    def play(self, job: Job) -> int:
        """Step every sub-environment and pay the compiled terms; return how many are over."""
        if self._threads > 1:
            return self._play_together(job)
        if self._alone is None:
            self._alone = direct(step_and_pay, job, 0, self._num_envs)
        return int(self._alone(job, 0, self._num_envs))

    def _play_together(self, job: Job) -> int:
        if self._pool is None or self._pool.process != os.getpid():  # a fork leaves threads behind
            partition = partition_of(self._num_envs, self._threads, CHUNK)
            self._pool = WorkerPool(partition, lead, follow, job)
        return self._pool.play(job)

    def close(self) -> None:
        """End the threads; a later step starts them anew."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
