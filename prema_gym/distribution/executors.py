"""Who does the work? Threads, processes or a Ray cluster, behind one small interface.

An executor is asked to call a function on many items and gives back each result as it comes, in any
order. What one loses (a process that is killed, a machine that goes away) it does again; what the
function raises is raised, once. So the function must be one that may run twice. Functions and items
travel as pickles: a function by its name, an item by its content. Nothing else here or anywhere
knows of Ray.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures import Executor as Pool
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from prema_gym.checks import whole
from prema_gym.compiled.cpus import num_cpus
from prema_gym.errors import ConfigError, MissingExtraError, UnknownNameError

Self = TypeVar("Self", bound="Executor")
Item = TypeVar("Item")
Result = TypeVar("Result")

LIVES = 3
"""Workers that may die one after the other with nothing done between: then it is the work that
kills them. Ray's own number."""


class LostError(Exception):
    """The workers died, and what they had in hand is to be done again."""


class Executor(ABC):
    """Calls a function on many items, in some workers.

    Args:
        workers: How many; None: as many as there are processors.

    Attributes:
        name: What a user calls it.
        ahead: Items that are handed out for each worker: one that it works at, one that waits.
    """

    name: str
    ahead = 2

    def __init__(self, workers: int | None = None) -> None:
        self.workers = num_cpus() if workers is None else whole(1).check("workers", workers)
        self._held = self._started = False

    def __enter__(self: Self) -> Self:
        """Keep the workers between runs: starting them takes seconds."""
        self._held = True
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the workers."""
        self._held = False
        self._end()

    def _begin(self) -> None:
        if not self._started:
            self.start()
            self._started = True

    def _end(self) -> None:
        if self._started:
            self._started = False
            self.stop()

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result]]:
        """Call ``function`` on every item; give back the item's number and the result.

        Args:
            function: Of a module, so that another process finds it.
            items: What it is called with; taken one by one, as workers become free.

        Raises:
            ConfigError: Workers die whatever they are given.
        """
        todo = enumerate(items)
        again: list[tuple[int, Item]] = []
        flying: dict[Any, tuple[int, Item]] = {}
        lives, over = LIVES, False
        self._begin()
        try:
            while True:
                while len(flying) < self.ahead * self.workers:
                    one = again.pop() if again else next(todo, None)
                    if one is None:
                        break
                    flying[self.submit(function, one[1])] = one
                if not flying:
                    over = True
                    return
                done, lost = list(self.wait(list(flying))), ""
                for handle in done:  # grows where a worker that dies takes the others with it
                    one = flying.pop(handle)
                    try:
                        result = self.result(handle)
                    except LostError as error:
                        again.append(one)
                        done += [other for other in flying if other not in done]
                        lost = str(error)
                    else:
                        lives = LIVES
                        yield one[0], result
                if lost:
                    lives -= 1
                    if lives <= 0:
                        raise ConfigError(f"{LIVES} workers died in a row: {lost}")
                    self.start()
        finally:
            if not (over and self._held):  # also where it was broken off: what flies is dropped
                self._end()

    @abstractmethod
    def start(self) -> None:
        """Start the workers; again where they died."""

    @abstractmethod
    def submit(self, function: Callable[[Any], Any], item: object) -> Any:  # noqa: ANN401
        """Hand out an item; return a handle of the result."""

    @abstractmethod
    def wait(self, handles: list[Any]) -> Iterable[Any]:
        """Wait until a result is there; return the handles of those that are."""

    @abstractmethod
    def result(self, handle: Any) -> Any:  # noqa: ANN401
        """The result, or what the function raised.

        Raises:
            LostError: The worker died, and so did all others.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stop the workers; what they have in hand is dropped."""


class _Futures(Executor):
    """What threads and processes share: the standard library's pools."""

    _pool: Pool | None = None

    def submit(self, function: Callable[[Any], Any], item: object) -> Future[Any]:
        """See :meth:`Executor.submit`."""
        assert self._pool is not None
        try:
            return self._pool.submit(function, item)
        except BrokenProcessPool as error:  # a worker died since: the handle says so
            broken: Future[Any] = Future()
            broken.set_exception(error)
            return broken

    def wait(self, handles: list[Future[Any]]) -> Iterable[Future[Any]]:
        """See :meth:`Executor.wait`."""
        return wait(handles, return_when=FIRST_COMPLETED).done

    def result(self, handle: Future[Any]) -> Any:  # noqa: ANN401
        """See :meth:`Executor.result`."""
        try:
            return handle.result()
        except BrokenProcessPool as error:
            raise LostError(str(error)) from error

    def stop(self) -> None:
        """See :meth:`Executor.stop`."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class Threads(_Futures):
    """Threads of this process: compiled code releases the GIL."""

    name = "threads"

    def start(self) -> None:
        """See :meth:`Executor.start`."""
        self._pool = ThreadPoolExecutor(self.workers)


class Processes(_Futures):
    """Processes of this machine, for policies that hold the GIL."""

    name = "processes"

    def start(self) -> None:
        """See :meth:`Executor.start`."""
        # Started anew, not forked: a copy of a process with threads may wait for one for ever.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self.workers, context, _end_with_parent)


def _end_with_parent() -> None:
    """In a worker: end when whoever started it has ended, however; nobody wants its results."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Ray(Executor):
    """Tasks of a Ray cluster: one started here for the while, or the one at an address.

    Plain tasks, which Ray runs again where a worker or a machine dies. Machines have the package in
    the version of this one (a shard says so where they do not).

    Args:
        workers: How many; None: as many as the cluster has processors.
        address: ``HOST:PORT`` or ``auto``; "": start Ray on this machine.
    """

    name = "ray"

    def __init__(self, workers: int | None = None, address: str = "") -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtraError("--backend ray", "ray", "ray") from None
        super().__init__(workers)
        self._ray: Any = ray
        self._calls: dict[Any, Any] = {}
        self._given, self._address = workers, address

    def start(self) -> None:
        """See :meth:`Executor.start`."""
        # Ray's own words, not a line for each of its processes.
        how = {"log_to_driver": False, "configure_logging": True, "logging_level": "ERROR"}
        if self._address:
            try:
                self._ray.init(address=self._address, **how)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ConfigError(f"no Ray cluster at {self._address!r}: {error}") from error
            self.ahead = 1  # what waits would find a free processor of the cluster
            if self._given is None:
                self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        else:
            self._ray.init(
                address="local",
                num_cpus=self.workers,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                **how,
            )

    def submit(self, function: Callable[[Any], Any], item: object) -> Any:  # noqa: ANN401
        """See :meth:`Executor.submit`."""
        if function not in self._calls:
            made = self._ray.remote(max_retries=LIVES, retry_exceptions=False)(function)
            self._calls[function] = made
        return self._calls[function].remote(item)

    def wait(self, handles: list[Any]) -> Iterable[Any]:
        """See :meth:`Executor.wait`."""
        done: list[Any] = self._ray.wait(handles, num_returns=1)[0]
        return done

    def result(self, handle: Any) -> Any:  # noqa: ANN401
        """See :meth:`Executor.result`."""
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None  # the function's own
        except self._ray.exceptions.RayError as error:  # after as many tries as Ray was allowed
            raise ConfigError(f"{LIVES} Ray workers died in a row: {error}") from None

    def stop(self) -> None:
        """See :meth:`Executor.stop`."""
        self._ray.shutdown()


BACKENDS: dict[str, type[Executor]] = {kind.name: kind for kind in (Threads, Processes, Ray)}
"""By the name that a user gives."""


def executor(backend: str, workers: int | None = None) -> Executor:
    """Make the executor that a user names.

    Args:
        backend: ``threads``, ``processes``, ``ray`` or ``ray:ADDRESS``.
        workers: How many; None: as many as there are processors.

    Raises:
        ConfigError: There is none such.
        MissingExtraError: Ray is not installed.
    """
    name, colon, address = backend.partition(":")
    if name not in BACKENDS:
        raise UnknownNameError("backend", backend, [*BACKENDS, "ray:ADDRESS"], "--backend")
    if name == Ray.name:
        return Ray(workers, address)
    if colon:
        raise ConfigError(f"--backend {name} takes no address, got {backend!r}")
    return BACKENDS[name](workers)
