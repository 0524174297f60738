"""What became of an episode? Its task records and the metrics of its run, as plain arrays.

The copies of a batch are reset as they end, so what is to be reported of an episode is taken out
first: a few rows of the simulator's records. Metrics are computed by the same code as
``prema-gym evaluate``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym._jit import direct, in_place
from prema_gym.metrics import FloatArray, IntArray, values_of
from prema_gym.runs import outcomes_of
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.state import ENV_DTYPE, TASK_DTYPE, TASK_INPUTS, TASK_RECORDS, TRUNCATED
from prema_gym.workloads.catalog import Catalog

RECORD_FIELDS = (*TASK_INPUTS, *TASK_RECORDS)
"""Columns of ``info["tasks"]``, all int64: what came in, then what happened."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """Some rows of a simulator's records, copied; reads like the simulator itself.

    Attributes:
        catalog: The compiled scenario.
        tasks: Task records (K, N) (``state.TASK_DTYPE``).
        env: Clock and counters (K,) (``state.ENV_DTYPE``).
    """

    catalog: Catalog
    tasks: NDArray[np.void]
    env: NDArray[np.void]

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


def copy_records(simulator: Simulator, rows: IntArray) -> Records:
    """Copy rows of a simulator's records, so that they outlive its next reset."""
    tasks, env = simulator.tasks, simulator.env
    chosen = np.empty((rows.size, tasks.shape[1]), TASK_DTYPE), np.empty(rows.size, ENV_DTYPE)
    # Compiled: NumPy takes records field by field, and this is done in nearly every step.
    _copier()(tasks, env, rows, *chosen)
    return Records(catalog=simulator.catalog, tasks=chosen[0], env=chosen[1])


@lru_cache(maxsize=1)
def _copier() -> Callable[..., None]:
    tasks, env = np.empty((1, 1), TASK_DTYPE), np.empty(1, ENV_DTYPE)
    return direct(_copy_rows, tasks, env, np.empty(1, np.int64), tasks, env)


@in_place
def _copy_rows(
    tasks: NDArray[np.void],
    env: NDArray[np.void],
    rows: IntArray,
    tasks_out: NDArray[np.void],
    env_out: NDArray[np.void],
) -> None:
    """Copy row ``rows[k]`` of both to row k."""
    for k in range(rows.shape[0]):
        env_out[k] = env[rows[k]]
        for i in range(tasks.shape[1]):
            tasks_out[k, i] = tasks[rows[k], i]


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
