"""Whose ticket is drawn? Lottery scheduling: shares in proportion to priority, by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.table import Table
from prema_gym.baselines.uniform import Uniform
from prema_gym.simulator.observation import PRIORITY, QUANTUM_LEFT_MS


@dataclass(frozen=True, kw_only=True)
class Lottery(Uniform):
    """Lottery: every quantum a draw in which a task holds π tickets.

    The draw hashes table and seed like the random policy's, so equal seeds give equal schedules.

    Attributes:
        seed: Which of the 2^64 lotteries this is.
    """

    sentence = "Draw a task for each quantum, with a chance in proportion to its priority"
    source = "Waldspurger & Weihl, OSDI 1994"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the running task until its quantum ends, then of the winner of a draw."""
        # The first of independent exponential clocks with rates π rings with probability π/Σπ.
        uniform = ((self.draws(table, 1)[0] >> _UNUSED_BITS) + 0.5) * 2.0**-_DOUBLE_BITS
        rate = np.where(table.present, table.column(PRIORITY), 1)
        winner = table.least(-np.log(uniform) / rate)
        in_turn = table.value(QUANTUM_LEFT_MS, table.runner) > 0
        return np.where(in_turn, table.runner, winner)

    @property
    def settles(self) -> bool:
        """No: every quantum is a new draw."""
        return False


_DOUBLE_BITS = 53  # of a 64-bit draw, as many as a double can tell apart
_UNUSED_BITS = np.uint64(64 - _DOUBLE_BITS)
