"""What does a scheduler without any idea achieve? Uniformly random legal actions.

A generator would make the action depend on how many calls and environments came before. Here the
draw is a hash of the table and the seed instead, so a workload gets the same schedule alone or in a
batch, and the policy is a pure function like all the others. Two decisions of one episode never see
the same table (a task's age has grown), so successive draws are as good as independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.policy import Policy
from prema_gym.baselines.table import Table
from prema_gym.checks import declared, whole
from prema_gym.simulator.observation import AGE_MS, ORDER, REMAINING_MS, TOKEN

# Order makes the rows of a table distinct, age separates moments, the others workloads.
_HASHED = (ORDER, AGE_MS, REMAINING_MS, TOKEN)
_LARGEST_SEED = 2**64 - 1  # the hash is 64 bits wide


@dataclass(frozen=True, kw_only=True)
class Uniform(Ordering):
    """Every task is as likely as any other.

    Attributes:
        seed: Which of the 2^64 random policies this is.
    """

    seed: int = declared(0, whole(0, _LARGEST_SEED), help="which of the random policies")

    sentence = "Take any legal action, all equally likely"
    source = "ours: the floor under every comparison"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of a task drawn uniformly."""
        slot: NDArray[np.int64] = self.draws(table, 1)[0].argmax(axis=0)
        return slot

    def draws(self, table: Table, num_mechanisms: int) -> NDArray[np.uint64]:
        """A random number for every legal action, 0 for the others: (mechanisms, slots, envs).

        A slot's number follows its task: it depends on the rows of the table, not on their places.
        """
        counter = np.arange(1, 1 + len(_HASHED) + num_mechanisms, dtype=np.uint64)
        stream = _mix(np.uint64(self.seed) + _GOLDEN * counter)
        weights, offsets = np.split(stream, [len(_HASHED)])
        rows = np.zeros(table.present.shape, dtype=np.uint64)
        for index, weight in zip(_HASHED, weights | np.uint64(1), strict=True):
            rows += table.column(index).view(np.uint32).astype(np.uint64) * weight
        whole = rows.sum(axis=0)  # a sum, so that the order of the slots does not matter
        draws = _mix(rows + whole + offsets[:, np.newaxis, np.newaxis]) | np.uint64(1)
        legal = np.broadcast_to(table.present, draws.shape).copy()
        legal[1:] &= table.busy & ~table.running
        return draws * legal


class RandomPolicy(Policy):
    """random: uniform over the legal actions."""

    sentence = "every mechanism of the simulation takes part"

    def __init__(
        self, name: str, ordering: Uniform, mechanisms: Sequence[str] | None = None
    ) -> None:
        super().__init__(name, ordering, mechanisms)
        self._uniform = ordering

    def actions(self, table: Table) -> NDArray[np.int64]:
        """One legal action per table."""
        draws = self._uniform.draws(table, len(self.mechanisms))
        mechanisms, slots, envs = draws.shape
        action: NDArray[np.int64] = draws.reshape(mechanisms * slots, envs).argmax(axis=0)
        return action


# The increment and the finaliser of the SplitMix64 generator (Steele, Lea & Flood, OOPSLA 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit words so that every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))
