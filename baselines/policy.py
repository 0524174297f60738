"""What every policy is: a function from observation tables to actions, called like a trained model.

``predict`` has the signature of Stable-Baselines3's models, so one evaluation loop runs a rule or a
network. An action is ``mechanism_index · slots + slot`` (``docs/simulator.md``, "Actions"), the
index pointing into the simulation's tuple of mechanisms, which the policy is told once, when it is
made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers
from prema_gym.baselines.table import Table
from prema_gym.errors import ConfigError
from prema_gym.simulator.mechanisms import DEFAULT_MECHANISMS, check_mechanisms
from prema_gym.simulator.observation import NUM_COLUMNS

State = tuple[NDArray[Any], ...]
"""Recurrent state in the Stable-Baselines3 signature, arrays with the environments first.

Handed through by all but the few policies with a memory (``baselines/fair_share.py``).
"""


class Way(IntEnum):
    """When an ordering's wish displaces the running task; the value is compiled code's."""

    NEVER = 0
    ALWAYS = 1
    WEIGHED = 2  # or the running task is drained: Algorithm 3
    BY_CHANCE = 3  # an action is drawn


class Program(NamedTuple):
    """A policy without a memory, as compiled code reads it (``baselines/choosing.py``)."""

    rule: int  # number of the ordering's rule; NO_RULE: its wishes are given
    way: int  # a Way
    mechanism: int  # position of the mechanism that displaces, in the simulation's tuple
    drain: int  # position of DRAIN, or NO_DRAIN
    num_mechanisms: int
    numbers: Numbers


NO_RULE = NO_DRAIN = -1


class Policy:
    """An ordering of tasks joined with a way to preempt.

    Attributes:
        name: The name it was made by, with the parameters that differ from their defaults.
        mechanisms: The simulation's mechanisms, which its actions index.
        rule: What it does, in one sentence.
        source: Where the rule comes from.
        parameters: Value of each parameter by name.
    """

    sentence: ClassVar[str]
    """When and how it preempts: the second half of the rule's sentence."""
    natural: ClassVar[tuple[str, ...]] = DEFAULT_MECHANISMS
    """The mechanisms assumed when none are given."""
    concurrent: ClassVar[bool] = True
    """It may be called from several threads at once: what it remembers it hands back."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The mechanisms without which it cannot act; the first is the one that displaces."""
    way: ClassVar[Way]
    """When it displaces the running task."""

    def __init__(
        self, name: str, ordering: Ordering, mechanisms: Sequence[str] | None = None
    ) -> None:
        """Join the parts.

        Args:
            name: See the class.
            ordering: Names the task to run.
            mechanisms: The simulation's mechanisms, in its order; default: the natural ones.

        Raises:
            ConfigError: ``mechanisms`` is empty, holds a name twice or lacks a needed one.
            UnknownNameError: It holds a name that is no mechanism.
        """
        self.name = name
        self.ordering = ordering
        self.mechanisms = self.natural if mechanisms is None else check_mechanisms(mechanisms)
        for needed in self.needs:
            if needed not in self.mechanisms:
                raise ConfigError(
                    f"policy {name!r} needs the mechanism {needed!r}, "
                    f"the simulation has {', '.join(self.mechanisms)}"
                )
        self.rule = f"{ordering.sentence}; {self.sentence}."
        self.source = ordering.source
        self.parameters: dict[str, object] = asdict(ordering)

    @property
    def only_when_free(self) -> bool:
        """Whether it lets a running task go on whatever it is shown: it need not be asked then."""
        return self.way is Way.NEVER

    def __repr__(self) -> str:
        return f"<policy {self.name} ({', '.join(self.mechanisms)})>"

    def predict(
        self,
        observation: NDArray[np.float32],
        state: State | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], State | None]:
        """Name an action for one table or for each of a batch.

        Args:
            observation: Table float32 (slots, columns), or a batch (envs, slots, columns).
            state: What the previous call on the same environments returned, None at first.
            episode_start: Where the state is to be forgotten, bool (envs,).
            deterministic: Ignored: equal tables always get equal actions.
            action_masks: Ignored: the table says what is legal, and every action returned is.

        Returns:
            ``(actions, state)``, actions int64 of shape () for one table, (envs,) for a batch; 0
            where a table is empty.

        Raises:
            ConfigError: ``observation`` does not have one of the two shapes, or a policy with a
                memory is given a state of other environments.
        """
        tables = np.asarray(observation)
        if tables.ndim not in (2, 3) or tables.shape[-1] != NUM_COLUMNS or tables.shape[-2] == 0:
            raise ConfigError(
                f"an observation has the shape (slots, {NUM_COLUMNS}) or "
                f"(envs, slots, {NUM_COLUMNS}), got {tables.shape}"
            )
        batch = tables if tables.ndim == 3 else tables[np.newaxis]
        chosen, state = self.decide(Table(batch), state, episode_start)
        actions = chosen.astype(np.int64, copy=False)
        return (actions if tables.ndim == 3 else actions.squeeze(axis=0)), state

    def decide(
        self, table: Table, state: State | None, episode_start: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], State | None]:
        """Actions int64 (envs,), and the state for the next call: by default as it came."""
        return self.actions(table), state

    def actions(self, table: Table) -> NDArray[np.int64]:
        """Legal actions, int64 (envs,)."""
        from prema_gym.baselines.choosing import decide  # which knows every rule

        ordering = self.ordering
        return decide(self.program, table, None if ordering.rule else ordering.choose(table))

    def displaced(self, table: Table, wishes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Legal actions, int64 (envs,), for running the slots ``wishes`` (envs,)."""
        from prema_gym.baselines.choosing import decide

        return decide(self.program, table, wishes)

    @cached_property
    def program(self) -> Program:
        """The policy as compiled code reads it."""
        from prema_gym.baselines.choosing import number_of

        mechanisms = self.mechanisms
        return Program(
            rule=number_of(self.ordering),
            way=int(self.way),
            mechanism=self.index(self.needs[0]) if self.needs else 0,
            drain=self.index("drain") if "drain" in mechanisms else NO_DRAIN,
            num_mechanisms=len(mechanisms),
            numbers=self.ordering.numbers,
        )

    def index(self, mechanism: str) -> int:
        """Position of a mechanism in the simulation's tuple."""
        return self.mechanisms.index(mechanism)
