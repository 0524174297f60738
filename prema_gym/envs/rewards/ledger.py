"""What has each copy been paid? The totals of a batch, compiled ones and others together."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from prema_gym.compiled.jit import COMPILED, direct
from prema_gym.envs.infos import Records
from prema_gym.envs.rewards.terms import (
    CUSTOM,
    END_TOTALS,
    MOVING_TOTALS,
    NOT_COMPILED,
    TERMS,
    CustomTotal,
    Reward,
)
from prema_gym.envs.rewards.totals import PAID, SINCE, Account, Job, Payment, step_and_pay
from prema_gym.envs.sources import Restarts
from prema_gym.envs.thread_pool import Crew
from prema_gym.errors import ConfigError
from prema_gym.metrics import SLA_TARGETS, FloatArray, IntArray
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.snapshots import check_array
from prema_gym.simulator.state import NONE


class LedgerState(NamedTuple):
    """Everything that moves; see `totals.Account`."""

    lines: IntArray  # (B, 3)
    totals: FloatArray  # (3, B, T)


class Ledger:
    """Keeps the totals of B copies and turns their rise into rewards.

    Args:
        reward: What is paid for.
        num_envs: Copies (B).
        threads: Threads among which the copies are split.
    """

    def __init__(self, reward: Reward, num_envs: int, threads: int = 1) -> None:
        self.names = reward.names
        codes = [NOT_COMPILED if name == CUSTOM else TERMS[name].code for name in self.names]
        self._account = Account(
            codes=np.array(codes, np.int64),
            weights=np.array(list(reward.weights.values()), np.float64),
            targets=np.array(SLA_TARGETS, np.int64),
            lines=np.full((num_envs, 3), NONE, np.int64),
            totals=np.zeros((3, num_envs, len(codes))),
        )
        moving: dict[str, CustomTotal] = dict(MOVING_TOTALS)
        if reward.custom is not None:
            moving[CUSTOM] = reward.custom
        self._moving = [(t, moving[n]) for t, n in enumerate(self.names) if n in moving]
        self._at_end = [(t, END_TOTALS[n]) for t, n in enumerate(self.names) if n in END_TOTALS]
        self._since = self._account.lines[:, SINCE]  # a view
        self._num_envs = num_envs
        self._threads = threads if COMPILED else 1
        self._crew: Crew | None = None
        self._step: Any = None

    def open(self, rows: IntArray) -> None:
        """Start copies anew, with nothing paid."""
        self._since[rows] = NONE

    def new_payment(self) -> Payment:
        """Room for what one step gives."""
        num_envs = self._num_envs
        return Payment(
            np.empty(num_envs),
            np.empty((len(self.names), num_envs)),
            np.empty((2, num_envs), np.bool_),
            np.empty(num_envs, np.bool_),
            np.empty(num_envs),
            np.empty(num_envs, np.int64),
        )

    def play(
        self, simulator: Simulator, actions: IntArray, payment: Payment, restarts: Restarts
    ) -> int:
        """Step every copy and pay the compiled terms; return how many are over."""
        state, table, options = simulator.engine_arguments
        job = Job(state, table, options, actions, self._account, payment, restarts)
        if self._threads > 1:
            return self._play_together(job)
        if self._step is None:
            self._step = direct(step_and_pay, job, 0, self._num_envs)
        return int(self._step(job, 0, self._num_envs))

    def _play_together(self, job: Job) -> int:
        if self._crew is None or self._crew.process != os.getpid():  # a fork leaves threads behind
            self._crew = Crew(self._num_envs, self._threads, job)
        return self._crew.play(job)

    def close(self) -> None:
        """End the threads; a later step starts them anew."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None

    def add_others(
        self,
        simulator: Simulator,
        payment: Payment,
        ended: IntArray,
        records: Records | None,
        restarted: IntArray,
    ) -> None:
        """Pay the other terms: moving ones to all but ``restarted``, those of the end to ``ended``.

        Args:
            simulator: The simulations.
            payment: Of this step; written.
            ended: Copies whose episode ended.
            records: Their records; None where nobody's did.
            restarted: Copies that started anew in place of a decision.

        Raises:
            ConfigError: A user's function returned something else than float64 (B,), finite.
        """
        for t, total in self._moving:
            self._pay(payment, t, slice(None), _checked(total(simulator), self._num_envs))
        if self._moving and restarted.size:
            payment.rise[:, restarted] = 0.0
            payment.reward[restarted] = 0.0
        if self._at_end and records is not None:
            for t, total_at_end in self._at_end:
                self._pay(payment, t, ended, total_at_end(records))

    def _pay(self, payment: Payment, t: int, rows: IntArray | slice, total: FloatArray) -> None:
        paid = self._account.totals[PAID]
        rise = total - paid[rows, t]
        paid[rows, t] = total
        # The compiled code has counted these terms as 0.
        payment.rise[t, rows] = rise
        payment.reward[rows] += self._account.weights[t] * rise

    def get_state(self) -> LedgerState:
        """Return a copy of what moves."""
        return LedgerState(self._account.lines.copy(), self._account.totals.copy())

    def set_state(self, state: LedgerState) -> None:
        """Continue from a copy made by :meth:`get_state`, of the right sizes."""
        self._account.lines[...] = state.lines
        self._account.totals[...] = state.totals

    def check_state(self, state: LedgerState) -> None:
        """Hold a state against the sizes here.

        Raises:
            ConfigError: It was made with another number of copies or reward terms.
        """
        check_array("lines", state.lines, self._account.lines)
        if (
            isinstance(state.totals, np.ndarray)
            and state.totals.shape != self._account.totals.shape
        ):
            raise ConfigError(
                f"the state's totals have shape {state.totals.shape}, expected "
                f"{self._account.totals.shape}: it was made with another reward or number of copies"
            )
        check_array("totals", state.totals, self._account.totals)


def _checked(total: FloatArray, num_envs: int) -> FloatArray:
    try:
        array = np.asarray(total, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (num_envs,) or not np.isfinite(array).all():
        raise ConfigError(
            f"a reward function returns one finite total a copy, float64 ({num_envs},), "
            f"got {total!r}"
        )
    return array
