"""Who steps a batch together? Threads that look out for the next step before they fall asleep.

Waking a sleeping thread takes some 70 µs, however it is done (measured), which is half of what a
second thread can save in a step of 1 024 copies. So the helpers of a crew look for the next step at
a number in memory, and fall asleep after a millisecond or two without one; a step wakes them. They
spend their lives inside one call of compiled code, without the GIL: a helper that needed it to go
to sleep would get in the way of the very Python code that keeps the next step waiting.

A step is cut in chunks of copies. Each thread has a part of the chunks, the same in every step, so
that its caches keep what they hold; whoever has finished helps the others. A chunk belongs to the
thread that counts it off, and the caller, who works too, waits for chunks and not for threads: a
helper that is late or asleep delays nobody. One that loses its processor to other work with a chunk
in hand does: the caller then sleeps, so that the helper can have its own processor. And a helper
that only looks gives way to whoever wants to work, so that beside other work two threads are about
as fast as one (measured, one busy process on two processors: 0.93 to 0.97 ×; looking on without
giving way: 0.5 ×). What happens in a copy does not depend on who played it.

Helpers go home when the crew is closed, or collected, or the interpreter ends. A collection tells
them and does not wait: it can run anywhere, also where a lock is held that a thread needs to end.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import direct, in_place
from prema_gym.compiled.threads import atomics
from prema_gym.envs.rewards.totals import Job, step_and_pay
from prema_gym.simulator.state import CACHE_LINE, NONE

IntArray = NDArray[np.int64]
V = TypeVar("V")

CHUNK = 64  # copies, of some 10 µs: what a thread may come too late, and a hundred times a claim
LOOKS = 40_000  # before falling asleep: 1 to 2 ms, as a pause takes 25 to 45 ns (measured: 25)
COURTESY = 64  # looks after which a helper lets others have its processor, if they wait for it
PATIENCE = 2_000  # looks for the last chunks before sleeping: 50 to 90 µs, some chunks' time

# Words of a crew's memory, each on a cache line of its own, so that no thread disturbs another's.
LINE = CACHE_LINE // 8
ROUND, JOB, FINISHED, OVER, HOME, SEATS = (k * LINE for k in range(6))
# ROUND: steps begun; JOB: where the present one's `Job` lies; FINISHED: its chunks that are; OVER:
# copies found over in it; HOME: 1 where helpers are to go home; SEATS: from here SEAT words a
# thread:
CLAIM, ASLEEP, BED = (k * LINE for k in range(3))
SEAT = 3 * LINE
# CLAIM: the next chunk of its part to be claimed; ASLEEP: 1 where it sleeps; BED: where it does.


class Plan(NamedTuple):
    """How a step is shared out; the same in every step."""

    num_envs: int
    chunk: int  # copies in one, but for the last
    num_chunks: int
    threads: int  # part p is chunks [num_chunks · p / threads, num_chunks · (p + 1) / threads)


@in_place
def make_beds(words: IntArray, plan: Plan) -> None:
    """Give every thread a place to sleep."""
    for seat in range(plan.threads):
        atomics.make_bed(words, SEATS + seat * SEAT + BED)


@in_place
def wake_up(words: IntArray, first: int, last: int) -> None:
    """Wake those of the threads ``[first, last)`` that sleep."""
    for seat in range(first, last):
        place = SEATS + seat * SEAT
        if atomics.look(words, place + ASLEEP):
            atomics.publish(words, place + ASLEEP, 0)
            atomics.wake(words, place + BED)


@in_place
def claim(words: IntArray, plan: Plan, seat: int) -> int:
    """Return a chunk that is this thread's alone, of its own part if there is one; else NONE."""
    for k in range(plan.threads):
        part = (seat + k) % plan.threads
        end = plan.num_chunks * (part + 1) // plan.threads
        word = SEATS + part * SEAT + CLAIM
        # Looking first leaves the line in the caches of all who find it used up.
        if atomics.look(words, word) < end:
            chunk: int = atomics.add(words, word, 1)
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
    finished = atomics.add(words, FINISHED, 1) + 1
    if finished == plan.num_chunks:
        wake_up(words, 0, 1)


@in_place
def lead(words: IntArray, plan: Plan, job: Job) -> int:
    """Begin a step and work at it until all is finished; return how many copies are over."""
    words[FINISHED] = 0
    words[OVER] = 0
    # Nobody reads this before the claims are set anew: those of the last step are used up.
    words[JOB] = atomics.address_of(job)
    for seat in range(plan.threads):
        first = plan.num_chunks * seat // plan.threads
        atomics.publish(words, SEATS + seat * SEAT + CLAIM, first)
    atomics.add(words, ROUND, 1)
    wake_up(words, 1, plan.threads)
    chunk = claim(words, plan, 0)
    while chunk != NONE:
        _play(words, plan, job, chunk)
        chunk = claim(words, plan, 0)
    waited = 0
    while atomics.look(words, FINISHED) < plan.num_chunks:
        if waited < PATIENCE:
            waited += 1
            atomics.pause()
            continue
        atomics.publish(words, SEATS + ASLEEP, 1)
        if atomics.look(words, FINISHED) < plan.num_chunks:
            atomics.sleep(words, SEATS + BED)
        atomics.publish(words, SEATS + ASLEEP, 0)
    over: int = words[OVER]
    return over


@in_place
def send_home(words: IntArray, plan: Plan) -> None:
    """Tell the helpers to end, wherever they are."""
    atomics.publish(words, HOME, 1)
    for seat in range(1, plan.threads):
        atomics.wake(words, SEATS + seat * SEAT + BED)


@in_place
def follow(words: IntArray, plan: Plan, seat: int, looks: int, like: Job) -> None:
    """Help with every step that begins, until it is time to go home.

    Args:
        words: The crew's memory.
        plan: The crew's.
        seat: Which part is this thread's.
        looks: How often to look for a step before falling asleep.
        like: Any job; only its type counts.
    """
    place = SEATS + seat * SEAT
    seen = 0
    waited = 0
    while not atomics.look(words, HOME):
        begun = atomics.look(words, ROUND)
        if begun != seen:
            seen = begun
            waited = 0
            chunk = claim(words, plan, seat)
            while chunk != NONE:
                _play(words, plan, atomics.value_at(words[JOB], like), chunk)
                chunk = claim(words, plan, seat)
        elif waited < looks:
            waited += 1
            if waited % COURTESY == 0:
                atomics.give_way()
            else:
                atomics.pause()
        else:
            atomics.publish(words, place + ASLEEP, 1)
            # Whoever begins a step, or sends it home, from here on sees that it sleeps.
            if atomics.look(words, ROUND) == seen and not atomics.look(words, HOME):
                atomics.sleep(words, place + BED)
            atomics.publish(words, place + ASLEEP, 0)
            waited = 0


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
        self._words = _line_words(SEATS + threads * SEAT)
        shared = (self._words, self._plan)
        self._lead = direct(lead, *shared, job)
        like = _hollow(job)
        help_until_home = direct(follow, *shared, 0, LOOKS, like)
        direct(make_beds, *shared)(*shared)
        send_all_home = partial(direct(send_home, *shared), *shared)
        self._helpers = [
            Helper(seat, partial(help_until_home, *shared, seat, LOOKS, like), send_all_home)
            for seat in range(1, threads)
        ]
        # When the crew is collected; who runs the collection does not wait.
        weakref.finalize(self, send_all_home)
        for helper in self._helpers:
            helper.start()
        self.process = os.getpid()

    def play(self, job: Job) -> int:
        """Play one step; return how many copies are over."""
        return int(self._lead(self._words, self._plan, job))

    def close(self) -> None:
        """Send the helpers home and wait until they are. Steps can go on without them."""
        for helper in self._helpers:
            helper.end()


class Helper(threading.Thread):
    """A thread that helps. It knows the crew's memory and not the crew, which can be collected.

    Args:
        seat: Its number.
        work: Returns when it is time to go home.
        send_all_home: Makes that so, for the whole crew.
    """

    def __init__(
        self, seat: int, work: Callable[[], None], send_all_home: Callable[[], None]
    ) -> None:
        super().__init__(target=work, name=f"prema-gym-{seat}", daemon=True)
        self._send_all_home = send_all_home

    def end(self) -> None:
        """See it home, whatever became of earlier attempts."""
        self._send_all_home()
        if self.ident is not None:  # None: an interrupt kept it from being started
            self.join()


@atexit.register
def _wait_for_all() -> None:
    """See all helpers home: compiled code must not be unloaded under a thread."""
    for thread in threading.enumerate():
        if isinstance(thread, Helper):
            thread.end()


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
