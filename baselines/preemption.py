"""When may the wish of an ordering displace the running task, and by which mechanism?

Four answers: not at all (np-), always by CHECKPOINT (static-), by CHECKPOINT or DRAIN as
Algorithm 3 says (dynamic-), always by KILL (kill-). Continuing the running task and dispatching on
a free machine are plain slots: mechanism index 0, whatever stands there (``docs/simulator.md``,
"Actions").
"""

from __future__ import annotations

from collections.abc import Sequence

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.policy import Policy, Way
from prema_gym.errors import ConfigError


class NonPreemptive(Policy):
    """np-: the ordering is asked only on a free machine."""

    sentence = "decide only when the machine is free"
    way = Way.NEVER


class Static(Policy):
    """static-: whoever runs is checkpointed as soon as the ordering prefers another."""

    sentence = "checkpoint whichever task runs instead"
    needs = ("checkpoint",)
    way = Way.ALWAYS


class Kill(Policy):
    """kill-: like static-, but the displaced task starts again from nothing."""

    sentence = "kill whichever task runs instead, so that it starts again"
    natural = ("kill",)
    needs = ("kill",)
    way = Way.ALWAYS

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
    way = Way.WEIGHED
