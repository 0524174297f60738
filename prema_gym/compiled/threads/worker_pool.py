"""How do threads share a job? A worker pool whose rounds begin and end within compiled code.

A round plays one job: a range of items, cut in chunks. The caller *leads* it and works too; the
pool's *workers* look out for the next round, and sleep after a millisecond or two without one.
Waking a sleeping thread takes some 70 µs, however it is done (measured), which is half of what a
second thread can save in a step of 1 024 environments. Workers spend their lives inside one call
of compiled code, without the GIL: a worker that needed it to fall asleep would get in the way of
the very Python code that keeps the next round waiting.

Each thread has a part of the chunks, the same in every round, so that its caches keep what they
hold; whoever has finished helps the others. A chunk belongs to the thread that claims it, and the
leader waits for chunks and not for threads: a worker that is late or asleep delays nobody. One that
loses its processor to other work with a chunk in hand does: the leader then sleeps, so that the
worker can have its own processor. And a worker that only looks yields its processor to whoever
wants to work, so that beside other work two threads are about as fast as one (measured, one busy
process on two processors: 0.93 to 0.97 ×; without yielding: 0.5 ×).

The pool knows nothing of the job. Two compiled functions play it, built from the primitives in
:mod:`rounds`::

    @in_place
    def lead(words, partition, job):
        begin(words, partition, address_of(job))
        chunk = claim(words, partition, LEADER)
        while chunk != NO_CHUNK:
            first, last = items_of(partition, chunk)
            finish(words, partition, play(job, first, last))
            chunk = claim(words, partition, LEADER)
        return barrier(words, partition)

    @in_place
    def follow(words, partition, worker, spins, like):
        seen = wait(words, worker, 0, spins)
        while seen != STOPPED:
            chunk = claim(words, partition, worker)
            while chunk != NO_CHUNK:
                first, last = items_of(partition, chunk)
                job = value_at(words[JOB], like)  # after the claim: see `JOB`
                finish(words, partition, play(job, first, last))
                chunk = claim(words, partition, worker)
            seen = wait(words, worker, seen, spins)

Workers end when the pool is closed, or collected, or the interpreter ends. A collection tells them
and does not wait: it can run anywhere, also where a lock is held that a thread needs to end.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import direct
from prema_gym.compiled.threads.rounds import (
    IntArray,
    Partition,
    init_semaphores,
    new_words,
    stop,
)

Job = TypeVar("Job", bound=NamedTuple)
V = TypeVar("V")

SPINS = 40_000  # before a worker sleeps: 1 to 2 ms, as a pause takes 25 to 45 ns (measured: 25)


class WorkerPool(Generic[Job]):
    """Threads that play jobs together with the caller, and sleep when there is nothing to do.

    Args:
        partition: How each job is shared out.
        lead: Compiled ``(words, partition, job) -> total``; see the module.
        follow: Compiled ``(words, partition, worker, spins, like) -> None``.
        job: Any job, for the types of its arrays.
    """

    def __init__(
        self,
        partition: Partition,
        lead: Callable[[IntArray, Partition, Job], int],
        follow: Callable[[IntArray, Partition, int, int, Job], None],
        job: Job,
    ) -> None:
        self._partition = partition
        self._words = new_words(partition.threads)
        shared = (self._words, partition)
        self._lead = direct(lead, *shared, job)
        like = without_data(job)
        follow_until_stopped = direct(follow, *shared, 0, SPINS, like)
        direct(init_semaphores, *shared)(*shared)
        stop_all = partial(direct(stop, *shared), *shared)
        self._workers = [
            Worker(number, partial(follow_until_stopped, *shared, number, SPINS, like), stop_all)
            for number in range(1, partition.threads)
        ]
        # When the pool is collected; who runs the collection does not wait.
        weakref.finalize(self, stop_all)
        for worker in self._workers:
            worker.start()
        self.process = os.getpid()

    def play(self, job: Job) -> int:
        """Play one job; return the sum of what its chunks returned."""
        return int(self._lead(self._words, self._partition, job))

    def close(self) -> None:
        """Stop the workers and wait until they have ended. Jobs can go on without them."""
        for worker in self._workers:
            worker.end()


class Worker(threading.Thread):
    """A thread of a pool. It knows the pool's memory and not the pool, which can be collected.

    Args:
        number: Its number in the pool, from 1.
        follow: Returns when the pool is stopped.
        stop_all: Stops the whole pool.
    """

    def __init__(
        self, number: int, follow: Callable[[], None], stop_all: Callable[[], None]
    ) -> None:
        super().__init__(target=follow, name=f"prema-gym-{number}", daemon=True)
        self._stop_all = stop_all

    def end(self) -> None:
        """See it end, whatever became of earlier attempts."""
        self._stop_all()
        if self.ident is not None:  # None: an interrupt kept it from being started
            self.join()


@atexit.register
def _end_all() -> None:
    """See all workers end: compiled code must not be unloaded under a thread."""
    for thread in threading.enumerate():
        if isinstance(thread, Worker):
            thread.end()


def without_data(value: V) -> V:
    """Copy a named tuple with empty arrays: the same to compiled code, which reads its types."""
    if isinstance(value, np.ndarray):
        array: NDArray[Any] = np.empty((0,) * value.ndim, value.dtype)
        array.flags.writeable = value.flags.writeable
        return cast(V, array)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return cast(V, value._make(map(without_data, value)))
    return value
