"""What has each copy been paid? The totals of a batch, compiled ones and others together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.envs.records import copy_records
from prema_gym.envs.rewards import (
    CUSTOM,
    END_TOTALS,
    MOVING_TOTALS,
    NOT_COMPILED,
    TERMS,
    CustomTotal,
    Reward,
)
from prema_gym.envs.totals import PAID, SINCE, TERMINATED_ROW, TRUNCATED_ROW, settle
from prema_gym.errors import ConfigError
from prema_gym.metrics import SLA_TARGETS, FloatArray, IntArray
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.state import NONE


class Payment(NamedTuple):
    """What one step gave B copies; its arrays belong to that step alone."""

    reward: FloatArray  # (B,)
    rise: FloatArray  # (T, B) of each total, unweighted
    over: NDArray[np.bool_]  # (2, B) terminated, truncated

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """Every task has finished, bool (B,)."""
        return np.asarray(self.over[TERMINATED_ROW])

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """A limit was reached with tasks unfinished, bool (B,)."""
        return np.asarray(self.over[TRUNCATED_ROW])


class LedgerState(NamedTuple):
    """Everything that moves; see `totals.settle`."""

    lines: IntArray  # (B, 3)
    totals: FloatArray  # (3, B, T)


class Ledger:
    """Keeps the totals of B copies and turns their rise into rewards."""

    def __init__(self, reward: Reward, num_envs: int) -> None:
        self.names = reward.names
        codes = [NOT_COMPILED if name == CUSTOM else TERMS[name].code for name in self.names]
        self._codes = np.array(codes, np.int64)
        self._weights = np.array(list(reward.weights.values()), np.float64)
        self._targets = np.array(SLA_TARGETS, np.int64)
        moving: dict[str, CustomTotal] = dict(MOVING_TOTALS)
        if reward.custom is not None:
            moving[CUSTOM] = reward.custom
        self._moving = [(t, moving[n]) for t, n in enumerate(self.names) if n in moving]
        self._at_end = [(t, END_TOTALS[n]) for t, n in enumerate(self.names) if n in END_TOTALS]
        self._lines = np.full((num_envs, 3), NONE, np.int64)
        self._since = self._lines[:, SINCE]  # a view
        self._totals = np.zeros((3, num_envs, len(self.names)))
        self._num_envs = num_envs

    def open(self, rows: IntArray) -> None:
        """Start copies anew, with nothing paid."""
        self._since[rows] = NONE

    def new_payment(self) -> Payment:
        """Room for what one step gives."""
        return Payment(
            reward=np.empty(self._num_envs),
            rise=np.empty((len(self.names), self._num_envs)),
            over=np.empty((2, self._num_envs), np.bool_),
        )

    def settle_range(self, simulator: Simulator, payment: Payment, first: int, last: int) -> int:
        """Pay the compiled terms of copies ``[first, last)``; return how many of them are over."""
        return settle(
            simulator.env,
            simulator.tasks,
            self._codes,
            self._weights,
            self._targets,
            self._lines,
            self._totals,
            *payment,
            first,
            last,
        )

    def add_others(self, simulator: Simulator, payment: Payment, ended: IntArray) -> None:
        """Pay the other terms: moving ones to everybody, those of the end to ``ended``.

        Raises:
            ConfigError: A user's function returned something else than float64 (B,), finite.
        """
        for t, total in self._moving:
            self._pay(payment, t, slice(None), _checked(total(simulator), self._num_envs))
        if self._at_end and ended.size:
            records = copy_records(simulator, ended)
            for t, total_at_end in self._at_end:
                self._pay(payment, t, ended, total_at_end(records))

    def _pay(self, payment: Payment, t: int, rows: IntArray | slice, total: FloatArray) -> None:
        paid = self._totals[PAID]
        rise = total - paid[rows, t]
        paid[rows, t] = total
        # The compiled code has counted these terms as 0.
        payment.rise[t, rows] = rise
        payment.reward[rows] += self._weights[t] * rise

    def get_state(self) -> LedgerState:
        """Return a copy of what moves."""
        return LedgerState(self._lines.copy(), self._totals.copy())

    def set_state(self, state: LedgerState) -> None:
        """Continue from a copy made by :meth:`get_state`.

        Raises:
            ConfigError: It was made with another number of copies or reward terms.
        """
        if state.totals.shape != self._totals.shape:
            raise ConfigError(
                f"the state's totals have shape {state.totals.shape}, expected "
                f"{self._totals.shape}: it was made with another reward or number of copies"
            )
        self._lines[...] = state.lines
        self._totals[...] = state.totals


def _checked(total: FloatArray, num_envs: int) -> FloatArray:
    array = np.asarray(total, dtype=np.float64)
    if array.shape != (num_envs,) or not np.isfinite(array).all():
        raise ConfigError(
            f"a reward function returns one finite total a copy, float64 ({num_envs},), "
            f"got shape {array.shape}: {array}"
        )
    return array
