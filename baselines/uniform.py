"""What does a scheduler without any idea achieve? Uniformly random legal actions.

A generator would make the action depend on how many calls and environments came before. Here the
draw is a hash of the table and the seed instead, so a workload gets the same schedule alone or in a
batch, and the policy is a pure function like all the others. Two decisions of one episode never see
the same table (a task's age has grown), so successive draws are as good as independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.policy import Policy, Way
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen
from prema_gym.checks import declared, whole
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import AGE_MS, ORDER, REMAINING_MS, TOKEN

# Order makes the rows of a table distinct, age separates moments, the others workloads.
_HASHED = (ORDER, AGE_MS, REMAINING_MS, TOKEN)
_NUM_HASHED = len(_HASHED)
_LARGEST_SEED = 2**64 - 1  # the hash is 64 bits wide

# The increment and the finaliser of the SplitMix64 generator (Steele, Lea & Flood, OOPSLA 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@inlined
def _mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits so that every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


@inlined
def _word(numbers: Numbers, position: int) -> np.uint64:
    """One of the words that a seed gives: weights of the hashed columns, then offsets."""
    seed = (np.uint64(numbers[0]) << np.uint64(32)) | np.uint64(numbers[1])
    return _mix(seed + _GOLDEN * np.uint64(position + 1))


@inlined
def row_hash(row: Row, numbers: Numbers) -> np.uint64:
    """Hash a task's row, uint64; those of a table add up, so the slots' order does not matter."""
    found = np.uint64(0)
    for position in range(_NUM_HASHED):
        bits = np.float32(row[_HASHED[position]]).view(np.uint32)
        found += np.uint64(bits) * (_word(numbers, position) | np.uint64(1))
    return found


@inlined
def drawn(row: Row, seen: Seen, numbers: Numbers, mechanism_index: int) -> np.uint64:
    """The random number of an action, uint64 and never 0: the largest is taken.

    It follows the task: it depends on the rows of the table, not on their places.
    """
    offset = _word(numbers, _NUM_HASHED + mechanism_index)
    return _mix(row_hash(row, numbers) + seen.draw + offset) | np.uint64(1)


@inlined
def _smallness(row: Row, seen: Seen, numbers: Numbers) -> float:
    return -np.float64(drawn(row, seen, numbers, 0))


@dataclass(frozen=True, kw_only=True)
class Uniform(Ordering):
    """Every task is as likely as any other.

    Attributes:
        seed: Which of the 2^64 random policies this is.
    """

    seed: int = declared(0, whole(0, _LARGEST_SEED), help="which of the random policies")

    sentence = "Take any legal action, all equally likely"
    source = "ours: the floor under every comparison"
    rule = Rule(score=_smallness, by_chance=True)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The seed in two halves, which a double holds exactly."""
        return np.array([self.seed >> 32, self.seed & 0xFFFFFFFF], np.float64)


class RandomPolicy(Policy):
    """random: uniform over the legal actions."""

    sentence = "every mechanism of the simulation takes part"
    way = Way.BY_CHANCE
