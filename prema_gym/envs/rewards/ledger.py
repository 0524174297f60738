"""What has each sub-environment been paid? Its account, and the terms that Python works out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prema_gym.envs.ended import EndedEpisodes
from prema_gym.envs.rewards.reward import Reward
from prema_gym.envs.rewards.terms import AtEnd, Compiled, Moving, RewardFunction
from prema_gym.envs.rewards.totals import NOT_COMPILED, PAID, SINCE, Account
from prema_gym.errors import ConfigError
from prema_gym.metrics import SLA_TARGETS, FloatArray, IntArray
from prema_gym.simulator import Simulator
from prema_gym.simulator.snapshots import check_array
from prema_gym.simulator.state import NONE


class LedgerState(NamedTuple):
    """Everything that moves; see `totals.Account`."""

    lines: IntArray  # (B, 3)
    totals: FloatArray  # (3, B, T)


class Ledger:
    """Keeps the totals of B sub-environments and turns their rise into rewards.

    Args:
        reward: What is paid for.
        num_envs: Sub-environments (B).

    Attributes:
        names: The T terms.
        account: What compiled code pays from: `totals.pay_one`.
        leaves_rest: Whether it leaves terms to :meth:`pay_rest`.
    """

    def __init__(self, reward: Reward, num_envs: int) -> None:
        self.names = reward.names
        ways = list(enumerate(reward.ways))
        codes = [how.code if isinstance(how, Compiled) else NOT_COMPILED for _, how in ways]
        self.account = Account(
            codes=np.array(codes, np.int64),
            weights=np.array(list(reward.weights.values()), np.float64),
            targets=np.array(SLA_TARGETS, np.int64),
            lines=np.full((num_envs, 3), NONE, np.int64),
            totals=np.zeros((3, num_envs, len(codes))),
        )
        self._moving = [(t, how.total) for t, how in ways if isinstance(how, Moving)]
        self._at_end = [(t, how.total) for t, how in ways if isinstance(how, AtEnd)]
        self.leaves_rest = bool(self._moving or self._at_end)
        self._since = self.account.lines[:, SINCE]  # a view
        self._num_envs = num_envs

    def open(self, rows: IntArray) -> None:
        """Begin episodes, with nothing paid."""
        self._since[rows] = NONE

    def pay_rest(
        self,
        simulator: Simulator,
        reward: FloatArray,
        rise: FloatArray,
        ended: IntArray,
        episodes: EndedEpisodes | None,
        restarted: IntArray,
    ) -> None:
        """Pay what compiled code left: moving terms to all but ``restarted``, others at the end.

        Args:
            simulator: The simulations.
            reward: float64 (B,), the weighted rise of this step; written.
            rise: float64 (T, B), of each term; written.
            ended: Sub-environments whose episode ended.
            episodes: What became of those episodes; None: nobody's ended.
            restarted: Those that started anew in place of a decision.

        Raises:
            ConfigError: A user's function returned something else than float64 (B,), finite.
        """
        for t, total in self._moving:
            self._pay(reward, rise, t, slice(None), self._checked(total, simulator))
        if self._moving and restarted.size:
            rise[:, restarted] = 0.0
            reward[restarted] = 0.0
        if episodes is not None:
            for t, total_at_end in self._at_end:
                self._pay(reward, rise, t, ended, total_at_end(episodes))

    def _pay(
        self,
        reward: FloatArray,
        rise: FloatArray,
        t: int,
        rows: IntArray | slice,
        total: FloatArray,
    ) -> None:
        paid = self.account.totals[PAID]
        risen = total - paid[rows, t]
        paid[rows, t] = total
        rise[t, rows] = risen  # compiled code has counted it as 0
        reward[rows] += self.account.weights[t] * risen

    def _checked(self, function: RewardFunction, simulator: Simulator) -> FloatArray:
        total = function(simulator)
        try:
            array = np.asarray(total, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape != (self._num_envs,) or not np.isfinite(array).all():
            raise ConfigError(
                "what a reward function returns must be one finite total a sub-environment, "
                f"float64 ({self._num_envs},), got {total!r}"
            )
        return array

    def get_state(self) -> LedgerState:
        """Return a copy of what moves."""
        return LedgerState(self.account.lines.copy(), self.account.totals.copy())

    def set_state(self, state: LedgerState) -> None:
        """Continue from a copy made by :meth:`get_state`, of the right sizes."""
        self.account.lines[...] = state.lines
        self.account.totals[...] = state.totals

    def check_state(self, state: LedgerState) -> None:
        """Hold a state against the sizes here.

        Raises:
            ConfigError: It was made with another number of sub-environments or reward terms.
        """
        own = self.account
        check_array("lines", state.lines, own.lines)
        shape = state.totals.shape if isinstance(state.totals, np.ndarray) else own.totals.shape
        if shape != own.totals.shape:
            raise ConfigError(
                f"the state's totals have shape {shape}, expected {own.totals.shape}: it was made "
                "with another reward or number of sub-environments"
            )
        check_array("totals", state.totals, own.totals)
