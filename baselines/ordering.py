"""Whom should the NPU run, if it may change its mind? The base class of every rule.

An ordering knows nothing of mechanisms: it names the task it would like to run.
``baselines/preemption.py`` turns that wish into an action. A new rule is one subclass in a file of
its own plus one line in ``baselines/registry.py``; its parameters are its dataclass fields. It says
whom to run as a `Rule`, compiled functions of a table's row, or in NumPy by its own ``choose``.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.scoring import Rule
from prema_gym.baselines.table import Table
from prema_gym.checks import check_fields


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """A rule that names one task per table; fields are its parameters, each with a default."""

    sentence: ClassVar[str]
    """The rule in words, the first half of the sentence that a listing shows."""
    source: ClassVar[str]
    """Where the rule comes from."""
    rule: ClassVar[Rule | None] = None
    """Whom to run, as compiled functions of a row; None: `choose` says it, in NumPy."""

    def __post_init__(self) -> None:
        """Hold the parameters to what they declare.

        Raises:
            ConfigError: A value that is not allowed.
        """
        check_fields(self)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The parameters as the functions of the rule read them: float64, by default in order."""
        return np.array(astuple(self), np.float64)

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the task to run, int64 (envs,); a present one wherever there is one."""
        from prema_gym.baselines.choosing import choose  # which knows every rule

        return choose(self, table)

    @property
    def settles(self) -> bool:
        """Whether its choice stops changing when no task arrives or completes.

        Waiting may still change it a bounded number of times. What never settles cannot be
        combined with KILL: tasks would displace each other, each time starting again, without end.
        """
        return True
