"""Who steps a batch together? Threads that look out for the next step before they fall asleep.

Waking a sleeping thread takes some 70 µs, however it is done (measured), which is half of what a
second thread can save in a step of 1 024 copies. So the helpers of a crew wait for the next step
inside compiled code, without the GIL, by looking at a number in memory; after about a millisecond
without a step they fall asleep and cost nothing, until a step wakes them.

A step is cut in chunks of copies. Each thread has a part of the chunks, the same in every step, so
that its caches keep what they hold; whoever has finished helps the others. A chunk belongs to the
thread that counts it off, and the caller, who works too, waits for chunks and not for threads: one
that is late or asleep delays nobody. What happens in a copy does not depend on who played it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from prema_gym import _atomics as atomics
from prema_gym._cpus import num_cpus
from prema_gym._jit import direct, in_place
from prema_gym.envs.totals import Job, step_and_pay
from prema_gym.simulator.state import CACHE_LINE, NONE

IntArray = NDArray[np.int64]
V = TypeVar("V")

CHUNK = 64  # copies, of some 15 µs: what a thread may come too late, and a hundred times a claim
LOOKS = 40_000  # before falling asleep: 1 to 2 ms, as a pause takes 25 to 45 ns (measured: 25)

# Words of a crew's memory, each on a cache line of its own, so that no thread disturbs another's.
LINE = CACHE_LINE // 8
ROUND, JOB, FINISHED, OVER, CLAIMS = (k * LINE for k in range(5))
# ROUND: steps begun, GO_HOME at the end; JOB: where its `Job` lies; FINISHED: its chunks that
# are; OVER: copies found over in it; CLAIMS: from here a line a part: the next chunk to be claimed.
GO_HOME = -1


class Plan(NamedTuple):
    """How a step is shared out; the same in every step."""

    num_envs: int
    chunk: int  # copies in one, but for the last
    num_chunks: int
    threads: int  # part p is chunks [num_chunks · p / threads, num_chunks · (p + 1) / threads)


@in_place
def claim(words: IntArray, plan: Plan, seat: int) -> int:
    """Return a chunk that is this thread's alone, of its own part if there is one; else NONE."""
    for k in range(plan.threads):
        part = (seat + k) % plan.threads
        end = plan.num_chunks * (part + 1) // plan.threads
        # Looking first leaves the line in the caches of all who find it used up.
        if atomics.look(words, CLAIMS + part * LINE) < end:
            chunk: int = atomics.add(words, CLAIMS + part * LINE, 1)
            if chunk < end:
                return chunk
    return NONE


@in_place
def _play(words: IntArray, plan: Plan, job: Job, chunk: int) -> None:
    """Play one chunk of a step and say so."""
    first = chunk * plan.chunk
    last = min(first + plan.chunk, plan.num_envs)
    over = step_and_pay(job, first, last)
    if over != 0:
        atomics.add(words, OVER, over)
    atomics.add(words, FINISHED, 1)


@in_place
def lead(words: IntArray, plan: Plan, job: Job) -> int:
    """Begin a step and work at it until all is finished; return how many copies are over."""
    words[FINISHED] = 0
    words[OVER] = 0
    # Nobody reads this before the claims are set anew: those of the last step are used up.
    words[JOB] = atomics.address_of(job)
    for part in range(plan.threads):
        first = plan.num_chunks * part // plan.threads
        atomics.publish(words, CLAIMS + part * LINE, first)
    atomics.add(words, ROUND, 1)
    chunk = claim(words, plan, 0)
    while chunk != NONE:
        _play(words, plan, job, chunk)
        chunk = claim(words, plan, 0)
    while atomics.look(words, FINISHED) < plan.num_chunks:
        atomics.pause()
    over: int = words[OVER]
    return over


@in_place
def follow(words: IntArray, plan: Plan, seat: int, looks: int, seen: int, like: Job) -> int:
    """Help with every step that begins; return when none has for so many looks, or at GO_HOME.

    Args:
        words: The crew's memory.
        plan: The crew's.
        seat: Which part is this thread's.
        looks: How often to look before giving up.
        seen: The last round this thread worked at.
        like: Any job; only its type counts.

    Returns:
        The last round this thread worked at.
    """
    waited = 0
    while waited < looks:
        begun = atomics.look(words, ROUND)
        if begun == seen:
            waited += 1
            atomics.pause()
            continue
        if begun == GO_HOME:
            break
        seen = begun
        waited = 0
        chunk = claim(words, plan, seat)
        while chunk != NONE:
            _play(words, plan, atomics.value_at(words[JOB], like), chunk)
            chunk = claim(words, plan, seat)
    return seen


class Crew:
    """The caller and its helpers, who sleep when there is nothing to do.

    Args:
        num_envs: Copies in the batch.
        threads: Threads that share it, the caller among them.
        job: Any step of this batch, for the types of its arrays.
    """

    def __init__(self, num_envs: int, threads: int, job: Job) -> None:
        chunk = min(CHUNK, -(-num_envs // threads))
        self._plan = Plan(num_envs, chunk, -(-num_envs // chunk), threads)
        self._words = _line_words(CLAIMS + threads * LINE)
        self._asleep: deque[threading.Lock] = deque()
        self._lead = direct(lead, self._words, self._plan, job)
        # With more threads than processors a helper that looks out keeps another from its work.
        looks = LOOKS if threads <= num_cpus() else 1
        like = _hollow(job)
        play = direct(follow, self._words, self._plan, 0, looks, 0, like)
        helpers = [
            threading.Thread(
                target=_help,
                args=(
                    self._words,
                    partial(play, self._words, self._plan, seat, looks),
                    like,
                    self._asleep,
                ),
                name=f"prema-gym-{seat}",
                daemon=True,  # none outlives the crew: see `_dismiss`
            )
            for seat in range(1, threads)
        ]
        for helper in helpers:
            helper.start()
        self.process = os.getpid()
        # Runs before the interpreter ends, too: compiled code must not be unloaded under a thread.
        self.close = weakref.finalize(self, _dismiss, self._words, helpers, self._asleep)

    def play(self, job: Job) -> int:
        """Play one step; return how many copies are over."""
        _wake(self._asleep)
        return int(self._lead(self._words, self._plan, job))


def _help(
    words: IntArray, follow: Callable[[int, Job], int], like: Job, asleep: deque[threading.Lock]
) -> None:
    """Be a helper, until told to go home."""
    bed = threading.Lock()
    bed.acquire()
    seen = 0
    while words[ROUND] != GO_HOME:
        seen = follow(seen, like)
        asleep.append(bed)
        bed.acquire()


def _wake(asleep: deque[threading.Lock]) -> None:
    while asleep:
        asleep.pop().release()


def _dismiss(
    words: IntArray, helpers: Sequence[threading.Thread], asleep: deque[threading.Lock]
) -> None:
    """Send the helpers home and wait until they are."""
    words[ROUND] = GO_HOME
    for helper in helpers:
        while helper.is_alive() and helper is not threading.current_thread():
            _wake(asleep)
            helper.join(1e-3)


def _line_words(count: int) -> IntArray:
    """Return zeros, int64 (count,), that start with a cache line."""
    room = np.zeros(count + LINE, np.int64)
    start = -room.__array_interface__["data"][0] % CACHE_LINE // 8
    return room[start : start + count]


def _hollow(value: V) -> V:
    """Copy a named tuple with empty arrays: the same to compiled code, which reads its types."""
    if isinstance(value, np.ndarray):
        array = np.empty((0,) * value.ndim, value.dtype)
        array.flags.writeable = value.flags.writeable
        return cast(V, array)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return cast(V, value._make(map(_hollow, value)))
    return value
