"""Whose ticket is drawn? Lottery scheduling: shares in proportion to priority, by chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prema_gym.baselines.classic import in_turn
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen
from prema_gym.baselines.uniform import Uniform, drawn
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import PRIORITY

_DOUBLE_BITS = 53  # of a 64-bit draw, as many as a double can tell apart
_UNUSED_BITS = np.uint64(64 - _DOUBLE_BITS)
_LAST_PLACE = 2.0**-_DOUBLE_BITS


@inlined
def _first_to_ring(row: Row, seen: Seen, numbers: Numbers) -> float:
    # The first of independent exponential clocks with rates π rings with probability π/Σπ.
    draw = np.float64(drawn(row, seen, numbers, 0) >> _UNUSED_BITS)
    return -math.log((draw + 0.5) * _LAST_PLACE) / row[PRIORITY]


@dataclass(frozen=True, kw_only=True)
class Lottery(Uniform):
    """Lottery: every quantum a draw in which a task holds π tickets.

    The draw hashes table and seed like the random policy's, so equal seeds give equal schedules.

    Attributes:
        seed: Which of the 2^64 lotteries this is.
    """

    sentence = "Draw a task for each quantum, with a chance in proportion to its priority"
    source = "Waldspurger & Weihl, OSDI 1994"
    rule = Rule(score=_first_to_ring, keeps=in_turn, by_chance=True)

    @property
    def settles(self) -> bool:
        """No: every quantum is a new draw."""
        return False
