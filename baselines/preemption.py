"""When may the wish of an ordering displace the running task, and by which mechanism?

Four answers: not at all (np-), always by CHECKPOINT (static-), by CHECKPOINT or DRAIN as
Algorithm 3 says (dynamic-), always by KILL (kill-). Continuing the running task and dispatching on
a free machine are plain slots: mechanism index 0, whatever stands there (``docs/simulator.md``,
"Actions").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.policy import Policy
from prema_gym.baselines.table import Table
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import ESTIMATED_MS, REMAINING_MS


class NonPreemptive(Policy):
    """np-: the ordering is asked only on a free machine."""

    sentence = "decide only when the machine is free"
    only_when_free = True

    def actions(self, table: Table) -> NDArray[np.int64]:
        """The running slot, or the ordering's choice where none runs."""
        return np.where(table.busy, table.runner, self.ordering.choose(table))


class Static(Policy):
    """static-: whoever runs is checkpointed as soon as the ordering prefers another."""

    sentence = "checkpoint whichever task runs instead"
    needs = ("checkpoint",)

    def actions(self, table: Table) -> NDArray[np.int64]:
        """The ordering's choice, by CHECKPOINT."""
        return displace(table, self.ordering.choose(table), self.index("checkpoint"))


class Kill(Policy):
    """kill-: like static-, but the displaced task starts again from nothing."""

    sentence = "kill whichever task runs instead, so that it starts again"
    natural = ("kill",)
    needs = ("kill",)

    def __init__(
        self, name: str, ordering: Ordering, mechanisms: Sequence[str] | None = None
    ) -> None:
        """See :class:`~prema_gym.baselines.policy.Policy`.

        Raises:
            ConfigError: Also if the ordering never settles: no task longer than the time between
                two wake-ups would ever complete.
        """
        if not ordering.settles:
            raise ConfigError(f"policy {name!r} would kill tasks again and again without end")
        super().__init__(name, ordering, mechanisms)

    def actions(self, table: Table) -> NDArray[np.int64]:
        """The ordering's choice, by KILL."""
        return displace(table, self.ordering.choose(table), self.index("kill"))


class Dynamic(Policy):
    """dynamic-: Algorithm 3 weighs, at every wake-up, who would be hurt more.

    D_cur = R_cand/E_cur is what the running task loses, relative to its length, if it waits for
    the candidate; D_cand = R_cur/E_cand what the candidate loses if it waits. D_cur > D_cand:
    DRAIN, else CHECKPOINT. Multiplied by both estimates this reads R_cand·E_cand > R_cur·E_cur: no
    division, so a remaining time of 0 (a late estimate) needs no special case. It then drains: the
    running task is believed to be at its end. Source: Choi & Rhu, HPCA 2020, Algorithm 3.

    In a simulation without DRAIN the running slot is named instead. The schedule is the same unless
    the simulator's drains are sticky, which only an explicit DRAIN can be.
    """

    sentence = (
        "checkpoint whichever task runs instead, or drain it (let it finish) when R·E, remaining "
        "times estimated time, is larger for the newcomer (Algorithm 3)"
    )
    needs = ("checkpoint",)

    def actions(self, table: Table) -> NDArray[np.int64]:
        """The ordering's choice, by CHECKPOINT or DRAIN."""
        candidate = self.ordering.choose(table)
        drain = table.busy & (_weight(table, candidate) > _weight(table, table.runner))
        if "drain" not in self.mechanisms:
            stay_or_switch = np.where(drain, table.runner, candidate)
            return displace(table, stay_or_switch, self.index("checkpoint"))
        mechanism = np.where(drain, self.index("drain"), self.index("checkpoint"))
        return displace(table, candidate, mechanism)


def _weight(table: Table, slot: NDArray[np.int64]) -> NDArray[np.float64]:
    """R·E (ms²) of one slot per table, (envs,); exact, as float32 · float32 fits float64."""
    remaining = table.value(REMAINING_MS, slot).astype(np.float64)
    return remaining * table.value(ESTIMATED_MS, slot)


def displace(
    table: Table, slot: NDArray[np.int64], mechanism: int | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Action for running ``slot`` (envs,), by ``mechanism`` where another task runs now."""
    displaces = table.busy & (slot != table.runner)
    action: NDArray[np.int64] = slot + table.slots * mechanism * displaces
    return action
