"""Does a pool of threads step as one thread does, and do its workers end?"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from prema_gym.compiled.jit import COMPILED
from prema_gym.compiled.threads import worker_pool
from prema_gym.compiled.threads.rounds import ASLEEP, THREAD, THREADS
from prema_gym.compiled.threads.worker_pool import Worker, WorkerPool
from prema_gym.envs import PremaNPUVectorEnv, episodes, stepper
from prema_gym.envs.step import Job
from tests.envs.helpers import SETTINGS, random_legal, vector

pytestmark = pytest.mark.skipif(not COMPILED, reason="plain Python plays in one thread")


@pytest.fixture(autouse=True)
def _processors_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "num_cpus", lambda: 8)


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if isinstance(thread, Worker)]


def eventually(true: Callable[[], bool]) -> bool:
    """Whether it holds within half a minute: nothing here says how fast."""
    end = time.monotonic() + 30.0
    while not true() and time.monotonic() < end:
        time.sleep(1e-3)
    return true()


def pool_of(envs: PremaNPUVectorEnv) -> WorkerPool[Job]:
    found = envs._episodes._stepper._pool
    assert found is not None
    return found


def sleepers(envs: PremaNPUVectorEnv) -> int:
    return int(pool_of(envs)._words[THREADS + ASLEEP :: THREAD].sum())


@pytest.mark.parametrize("spins", [0, 1, 30, 40_000])
@pytest.mark.parametrize("num_envs", [1, 2, 5, 33])
def test_sleepers_and_latecomers_change_nothing(
    spins: int, num_envs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that fall asleep at once, in the middle or never: every step is the single one."""
    monkeypatch.setattr(worker_pool, "SPINS", spins)
    monkeypatch.setattr(stepper, "CHUNK", 2)
    alone = vector(num_envs)
    together = vector(num_envs, threads=4)
    rng = np.random.default_rng(spins + num_envs)
    for envs in (alone, together):
        envs.reset(seed=3)
    ends = 0
    for k in range(400):
        actions = random_legal(alone.action_masks(), rng)
        one, other = alone.step(actions), together.step(actions)
        for mine, theirs in zip(one[:4], other[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(one[4]["action_mask"], other[4]["action_mask"])
        ends += int(one[2].sum())
        if k % 40 == 0:
            time.sleep(float(rng.random()) * 4e-3)
    assert ends > num_envs
    together.close()


def test_workers_fall_asleep_wake_and_end() -> None:
    before = len(workers())
    envs = vector(6, threads=3)
    envs.reset(seed=0)
    assert len(workers()) == before  # none is needed for a reset
    for _ in range(3):
        envs.step(np.zeros(6, np.int64))
        assert eventually(lambda: sleepers(envs) == 2)
    assert len(workers()) == before + 2
    envs.close()
    assert len(workers()) == before


def test_workers_end_with_an_environment_that_was_not_closed() -> None:
    before = len(workers())
    envs = vector(6, threads=3)
    envs.reset(seed=0)
    envs.step(np.zeros(6, np.int64))
    assert len(workers()) == before + 2
    del envs
    gc.collect()  # which waits for nobody
    assert eventually(lambda: len(workers()) == before)


def test_no_more_threads_than_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "num_cpus", lambda: 2)
    envs = vector(6, threads=500)
    before = len(workers())
    envs.reset(seed=0)
    envs.step(np.zeros(6, np.int64))
    assert len(workers()) == before + 1
    envs.close()


def test_closing_waits_for_no_step_of_another_thread() -> None:
    envs = vector(40, threads=3)
    envs.reset(seed=0)
    over = threading.Event()

    def step_on() -> None:
        while not over.is_set():
            envs.step(np.zeros(40, np.int64))

    stepping = threading.Thread(target=step_on)
    stepping.start()
    for _ in range(200):
        envs._episodes.close()
    over.set()
    stepping.join()
    envs.close()


@pytest.mark.parametrize("spins", [1, 40_000])
def test_a_collection_waits_for_nobody(spins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may run while a lock is held that an ending thread needs, as here."""
    monkeypatch.setattr(worker_pool, "SPINS", spins)
    for k in range(20):
        envs = vector(6, threads=3)
        envs.reset(seed=0)
        envs.step(np.zeros(6, np.int64))
        mine = pool_of(envs)._workers
        time.sleep(1e-4 * k)
        with threading._active_limbo_lock:  # type: ignore[attr-defined]
            del envs
            gc.collect()
        for worker in mine:
            worker.join()


def test_a_closed_pool_starts_anew_and_closes_again() -> None:
    before = len(workers())
    envs = vector(6, threads=2)
    envs.reset(seed=0)
    for _ in range(3):
        envs.step(np.zeros(6, np.int64))
        assert len(workers()) == before + 1
        envs.close()
        envs.close()
        assert len(workers()) == before


@pytest.mark.parametrize("place", ["_stop_all", "join"])
def test_an_interrupt_while_closing_can_be_made_good(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    envs = vector(6, threads=3)
    envs.reset(seed=0)
    envs.step(np.zeros(6, np.int64))
    mine = pool_of(envs)._workers

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    for worker in mine:
        monkeypatch.setattr(worker, place, interrupted)
    with pytest.raises(KeyboardInterrupt):
        envs.close()
    monkeypatch.undo()
    envs.close()
    assert not any(worker.is_alive() for worker in mine)


def test_a_worker_that_never_started_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an interrupt in `Thread.start` leaves it."""
    envs = vector(6, threads=3)
    envs.reset(seed=0)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.zeros(6, np.int64))
    monkeypatch.undo()
    idle = Worker(1, lambda: None, lambda: None)
    idle.end()
    envs.step(np.zeros(6, np.int64))
    envs.close()


@pytest.mark.parametrize(
    "meanwhile",
    [
        "",  # workers still look
        "time.sleep(0.1)",  # they sleep
        # Another thread goes on stepping.
        "threading.Thread(target=lambda: [envs.step(actions) for _ in iter(int, 1)], daemon=True)"
        ".start(); time.sleep(0.3)",
    ],
)
def test_an_interpreter_ends_whatever_its_workers_do(meanwhile: str) -> None:
    code = (
        "import threading, time, gymnasium, numpy as np\n"
        "envs = gymnasium.make_vec('prema_gym:PremaNPU-v0', num_envs=8, threads=2, slots=8)\n"
        "envs.reset(seed=0)\n"
        "actions = np.zeros(8, np.int64); envs.step(actions)\n"
        f"{meanwhile}\n"
        "print('end')\n"
    )
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_the_job_is_known_by_its_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker is started with has the types of every job, and nothing in it."""
    envs = vector(6, threads=2)
    envs.reset(seed=0)
    seen: list[Job] = []
    play = WorkerPool.play

    def noted(pool: WorkerPool[Job], job: Job) -> int:
        seen.append(job)
        return play(pool, job)

    monkeypatch.setattr(WorkerPool, "play", noted)
    envs.step(np.zeros(6, np.int64))
    envs.close()
    job = seen[0]
    empty = worker_pool.without_data(job)
    typeof: Any = numba.typeof
    assert typeof(empty) == typeof(job)
    assert empty.state.observation.size == 0
    assert SETTINGS["slots"] == job.state.observation.shape[1]
