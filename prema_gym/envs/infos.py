"""What became of an episode? Its task records and the metrics of its run, as plain arrays.

The copies of a batch are reset as they end, so what is to be reported of an episode is taken out
first: a few rows of the simulator's records. Metrics are computed by the same code as
``prema-gym evaluate``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.evaluation.play import outcomes_of
from prema_gym.metrics import FloatArray, IntArray, values_of
from prema_gym.simulator.state import ENV_DTYPE, TASK_DTYPE, TASK_INPUTS, TASK_RECORDS, TRUNCATED
from prema_gym.workloads.catalog import Catalog

RECORD_FIELDS = (*TASK_INPUTS, *TASK_RECORDS)
"""Columns of ``info["tasks"]``, all int64: what came in, then what happened."""


class Records:
    """Some rows of a simulator's records, copied; reads like the simulator itself.

    Args:
        catalog: The compiled scenario.
        tasks: int64 (K, N, …), the words of task records.
        env: int64 (K, …), the words of clocks and counters.
    """

    def __init__(self, catalog: Catalog, tasks: IntArray, env: IntArray) -> None:
        self.catalog = catalog
        self._words = tasks, env

    @cached_property
    def tasks(self) -> NDArray[np.void]:
        """Task records (K, N) (``state.TASK_DTYPE``)."""
        return self._words[0].view(TASK_DTYPE)[..., 0]

    @cached_property
    def env(self) -> NDArray[np.void]:
        """Clock and counters (K,) (``state.ENV_DTYPE``)."""
        return self._words[1].view(ENV_DTYPE)[..., 0]

    @property
    def task_present(self) -> NDArray[np.bool_]:
        """True at (k, i) where workload k has a task i, bool (K, N)."""
        return np.asarray(np.arange(self.tasks.shape[1]) < self.env["num_tasks"][:, None])

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """True where a limit was reached with tasks unfinished, bool (K,)."""
        return np.asarray(self.env["status"] == TRUNCATED)

    def metrics(self) -> dict[str, FloatArray]:
        """Every metric of every row: name → float64 (K,)."""
        return values_of(outcomes_of(self))

    def task_arrays(self) -> dict[str, IntArray]:
        """Every task record: name → int64 (K, most tasks of a row), 0 where there is no task."""
        present = self.task_present[:, : int(self.env["num_tasks"].max())]
        width = present.shape[1]
        return {name: np.where(present, self.tasks[name][:, :width], 0) for name in RECORD_FIELDS}


class Ends(NamedTuple):
    """Which copies stand at the end of an episode, and what became of those that just got there."""

    over: NDArray[np.bool_]  # (B,) all who stand there
    waiting: IntArray  # int64, the same: its first elements
    ended: IntArray  # int64, those who were not over before: its first elements
    tasks: IntArray  # (K, N, …) words of their task records
    env: IntArray  # (K, …) and of their clocks and counters


def room_for_ends(words: tuple[IntArray, IntArray], count: int) -> Ends:
    """Make room for ``count`` copies of a simulator with such `Simulator.words`."""
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
    before: NDArray[np.bool_], flags: NDArray[np.bool_], tasks: IntArray, env: IntArray, out: Ends
) -> int:
    """Find the copies at the end of an episode, and copy the records of those that just got there.

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
    num_waiting = 0
    for b in range(before.shape[0]):
        over = flags[0, b] or flags[1, b]
        out.over[b] = over
        if not over:
            continue
        out.waiting[num_waiting] = b
        num_waiting += 1
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


def spread(num_envs: int, rows: IntArray, values: Mapping[str, Any]) -> dict[str, Any]:
    """Place the values of some copies into the arrays of a vector environment's info.

    Args:
        num_envs: Copies (N).
        rows: int64 (K,), the copies that the values belong to.
        values: Name → array (K, …), or a mapping of such arrays.

    Returns:
        Name → array (N, …), zero elsewhere; and ``_name`` → bool (N,), True in ``rows``.
    """
    here = np.zeros(num_envs, dtype=np.bool_)
    here[rows] = True
    out: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            out[name] = spread(num_envs, rows, value)
        else:
            out[name] = np.zeros((num_envs, *value.shape[1:]), dtype=value.dtype)
            out[name][rows] = value
        out[f"_{name}"] = here.copy()
    return out


class OnDemand(dict[str, Any]):
    """A dict that is filled when it is first read.

    The metrics of the few copies that end in a step cost as much as the step of a thousand copies;
    who does not read them does not pay for them. What is read is the same as if it had been
    computed at once: the function given holds copies. A copy or pickle is a plain dict.
    """

    def __init__(self, build: Callable[[], Mapping[str, Any]]) -> None:
        # Not empty until it is filled: `json` asks for the size of the bare dict, and for nothing
        # more where that is 0.
        super().__init__({"": None})
        self._build: Callable[[], Mapping[str, Any]] | None = build

    def _fill(self) -> None:
        if self._build is not None:
            build, self._build = self._build, None
            dict.clear(self)
            dict.update(self, build())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _filled_first(name: str) -> Callable[..., Any]:
    plain = getattr(dict, name)

    def read(self: OnDemand, *args: object, **kwargs: object) -> object:
        self._fill()
        return plain(self, *args, **kwargs)

    read.__name__ = name
    return read


# Every way to look into a dict.
for _name in (
    *("__getitem__", "__contains__", "__iter__", "__len__", "__eq__", "__ne__", "__repr__"),
    "__reversed__",
    *("__or__", "__ror__", "copy", "get", "items", "keys", "values", "pop", "popitem"),
    *("setdefault", "update", "__setitem__", "__delitem__", "__ior__", "clear"),
):
    setattr(OnDemand, _name, _filled_first(_name))
