"""Atomic words, values by address, and semaphores, from several threads at once."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from prema_gym.compiled.jit import COMPILED, in_place
from prema_gym.compiled.threads import atomics

pytestmark = pytest.mark.skipif(not COMPILED, reason="they exist in compiled code alone")


@in_place
def add_many(words: Any, times: int) -> int:
    last = 0
    for _ in range(times):
        last = atomics.fetch_add(words, 1, 2)
    return last


@in_place
def through_memory(words: Any, pair: Any) -> Any:
    address = atomics.address_of(pair)
    atomics.store(words, 0, address)
    atomics.pause()
    return atomics.value_at(atomics.load(words, 0), pair)[1] + words[1]


def test_no_addition_is_lost() -> None:
    words = np.zeros(2, np.int64)
    times = 200_000
    assert add_many(words, 1) == 0  # compiled before the threads start
    threads = [threading.Thread(target=add_many, args=(words, times)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words.tolist() == [0, 2 + 4 * times * 2]


def test_a_value_comes_back_from_its_address() -> None:
    words = np.array([0, 40], np.int64)
    assert through_memory(words, (True, 2.5)) == 42.5
    assert words[0] != 0


@in_place
def init_semaphore(words: Any) -> None:
    atomics.init_semaphore(words, 1)


@in_place
def wait_once(words: Any) -> None:
    atomics.store(words, 0, 1)
    atomics.wait_semaphore(words, 1)
    atomics.store(words, 0, 2)


@in_place
def post(words: Any) -> None:
    atomics.post_semaphore(words, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it sleeps for a moment")
def test_who_waits_sleeps_until_a_post_even_an_earlier_one() -> None:
    words = np.zeros(1 + atomics.SEMAPHORE_WORDS, np.int64)
    init_semaphore(words)
    post(words)
    wait_once(words)  # posted beforehand: does not sleep
    sleeper = threading.Thread(target=wait_once, args=(words,))
    sleeper.start()
    while words[0] != 1:
        time.sleep(1e-3)
    time.sleep(0.05)
    assert words[0] == 1
    post(words)
    sleeper.join()
    assert words[0] == 2
