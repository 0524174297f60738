"""Which keys does ``info`` have? One table, read by every environment and by the documentation.

The single environment gives values as they are, and so does Stable-Baselines3. A vector environment
lays them out as Gymnasium's own do: for each key an array (N, …), or a dict of such arrays, and
under ``_key`` a bool (N,) that says whom it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.metrics import IntArray

BoolArray = NDArray[np.bool_]


class InfoKey(NamedTuple):
    """One key of ``info``.

    Attributes:
        name: The key.
        form: Type of its value in the single environment, and its shape.
        given: When: "reset", "step" or "last step", or several.
        meaning: What it says, with its unit.
    """

    name: str
    form: str
    given: str
    meaning: str


ACTION_MASK, NOW_MS, ILLEGAL_ACTIONS = "action_mask", "now_ms", "illegal_actions"
REWARD_TERMS, EPISODE_METRICS, TASKS = "reward_terms", "episode_metrics", "tasks"

_ACTION_MASK, _NOW_MS, _ILLEGAL_ACTIONS = "_action_mask", "_now_ms", "_illegal_actions"

KEYS = (
    InfoKey(ACTION_MASK, "bool (actions,)", "reset, step", "legal actions"),
    InfoKey(NOW_MS, "float", "reset, step", "time in the episode [ms]"),
    InfoKey(ILLEGAL_ACTIONS, "int", "reset, step", "illegal actions so far in the episode"),
    InfoKey(REWARD_TERMS, "dict of float", "step", "rise of each term of the reward, unweighted"),
    InfoKey(
        EPISODE_METRICS,
        "dict of float",
        "last step",
        "as `prema-gym evaluate`: `prema_gym.metrics`",
    ),
    InfoKey(
        TASKS,
        "dict of int64 (tasks,)",
        "last step",
        "what came and what became of it, in cycles",
    ),
)


def standing(action_mask: object, now_ms: object, illegal_actions: object) -> dict[str, Any]:
    """Return what ``info`` always has."""
    return {ACTION_MASK: action_mask, NOW_MS: now_ms, ILLEGAL_ACTIONS: illegal_actions}


def standing_of_all(
    action_mask: object, now_ms: object, illegal_actions: object, everyone: BoolArray
) -> dict[str, Any]:
    """Return the same as a vector environment gives it; spelled out, as every step makes one."""
    return {
        ACTION_MASK: action_mask,
        _ACTION_MASK: everyone,
        NOW_MS: now_ms,
        _NOW_MS: everyone,
        ILLEGAL_ACTIONS: illegal_actions,
        _ILLEGAL_ACTIONS: everyone,
    }


class _Undefined(np.float64):
    """NaN that equals NaN, so that two infos are equal where the same happened."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and math.isnan(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = np.float64.__hash__
    __repr__ = float.__repr__


_UNDEFINED = _Undefined("nan")


def metrics_of(values: Mapping[str, NDArray[np.float64]], row: int) -> dict[str, float]:
    """Return the metrics of one episode: plain numbers, and NaN where one is undefined.

    Args:
        values: Name → float64 (K,).
        row: Which of the K.
    """
    numbers = {name: float(value[row]) for name, value in values.items()}
    return {name: _UNDEFINED if math.isnan(one) else one for name, one in numbers.items()}


def present(name: str) -> str:
    """Return the key that says whom a vector environment's ``name`` belongs to."""
    return f"_{name}"


def belonging(values: Mapping[str, Any], whom: BoolArray) -> dict[str, Any]:
    """Return values as a vector environment gives them, all of them belonging to ``whom``."""
    out: dict[str, Any] = {}
    for name, value in values.items():
        out[name], out[present(name)] = value, whom
    return out


def flags_of(num_envs: int, rows: IntArray) -> BoolArray:
    """Return bool (N,), True in ``rows``."""
    flags = np.zeros(num_envs, np.bool_)
    flags[rows] = True
    return flags


def spread(num_envs: int, rows: IntArray, values: Mapping[str, Any]) -> dict[str, Any]:
    """Place the values of some sub-environments into the arrays of a vector environment's info.

    Args:
        num_envs: Sub-environments (N).
        rows: int64 (K,), those that the values belong to.
        values: Name → array (K, …), or a mapping of such arrays.

    Returns:
        Name → array (N, …), zero elsewhere; and ``_name`` → bool (N,), True in ``rows``.
    """
    here = flags_of(num_envs, rows)
    out: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            out[name] = spread(num_envs, rows, value)
        else:
            out[name] = np.zeros((num_envs, *value.shape[1:]), dtype=value.dtype)
            out[name][rows] = value
        out[present(name)] = here.copy()
    return out
