"""What can be set when an environment is made, and how is it checked?

One record for the single environment, its vector twin and the Stable-Baselines3 adapter; each hands
its keyword arguments to :meth:`EnvSettings.of`. Values that came through JSON or TOML (lists for
tuples, dicts for scenarios) are as good as the objects themselves.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from prema_gym.envs.rewards.terms import CustomTotal, Reward, real_number, resolve_reward
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.simulator.mechanisms import DEFAULT_MECHANISMS, check_mechanisms
from prema_gym.simulator.options import DEFAULT_SLOTS, MAX_SLOTS, SchedulerOptions
from prema_gym.workloads import scenarios
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.storage import WorkloadLike, check_workload_type

RENDER_MODES = ("ansi", "rgb_array", "human")

DEFAULT_MAX_DECISIONS = 10_000
"""Some ten times what a scheduler that switches at random takes for the paper's workload; without a
limit, one that kills at every quantum would never end."""

MOST_DECISIONS = 10**12
"""Decisions before truncation at most: more than any machine takes in a month."""

MOST_MS = 1e9
"""Latest horizon: eleven days of the NPU's time, far within 64-bit cycles."""

ScenarioLike = str | os.PathLike[str] | Mapping[str, Any] | Scenario


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """The keyword arguments of every environment; checked and brought to one form on construction.

    Attributes:
        scenario: What is drawn, and the machine: a registered name, a `Scenario`, its fields as a
            dict, or a TOML file. Kept as a `Scenario`.
        slots: Rows of the table (S): tasks a policy can choose from; more wait in a queue.
        reward: A name, weights by name, or a function; see `prema_gym.envs.rewards`. Kept as a
            `Reward`.
        mechanisms: Ways of preempting that the action space offers, in this order.
        oracle: Show true isolated times in place of estimates.
        workload: Replay exactly this in every episode: a `Workload`, a file, or a `WorkloadBatch`
            with one row for each copy. None: draw from the scenario.
        max_decisions: Truncate after so many decisions; None: never.
        horizon_ms: Truncate at the first decision from this time on [ms]; None: never.
        strict: Raise on an illegal action instead of counting it.
        token_wait: Which wait earns tokens; see `SchedulerOptions`.
        sticky_drain: A DRAIN holds until the running task has ended; see `SchedulerOptions`. True
            here: a drain that is asked again at every wake-up would be the same as going on.
        record_timeline: Keep who ran when. Always so with a render mode.
        render_mode: "ansi", "rgb_array", "human" or None.

    Raises:
        ConfigError: A value that is not allowed.
        UnknownNameError: An unknown scenario, reward, mechanism or render mode.
    """

    scenario: ScenarioLike = "paper"
    slots: int = DEFAULT_SLOTS
    reward: str | Mapping[str, float] | CustomTotal | Reward = "antt"
    mechanisms: Sequence[str] = DEFAULT_MECHANISMS
    oracle: bool = False
    workload: WorkloadLike | None = None
    max_decisions: int | None = DEFAULT_MAX_DECISIONS
    horizon_ms: float | None = None
    strict: bool = False
    token_wait: str = "since_wakeup"
    sticky_drain: bool = True
    record_timeline: bool = False
    render_mode: str | None = None

    def __post_init__(self) -> None:
        self._set("scenario", resolve_scenario(self.scenario))
        self._set("reward", resolve_reward(self.reward))
        self._set("slots", whole_number("slots", self.slots, most=MAX_SLOTS))
        self._set("mechanisms", check_mechanisms(self.mechanisms))
        if self.max_decisions is not None:
            limit = whole_number("max_decisions", self.max_decisions, most=MOST_DECISIONS)
            self._set("max_decisions", limit)
        if self.horizon_ms is not None:
            self._set("horizon_ms", _positive("horizon_ms", self.horizon_ms))
        for name in ("oracle", "strict", "sticky_drain", "record_timeline"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.workload is not None:
            check_workload_type(self.workload)
        if self.render_mode is not None:
            if self.render_mode not in RENDER_MODES:
                raise UnknownNameError("render_mode", str(self.render_mode), RENDER_MODES)
            self._set("record_timeline", True)
        # Raises for an unknown token_wait.
        SchedulerOptions(token_wait=self.token_wait, sticky_drain=self.sticky_drain)

    @classmethod
    def of(cls, arguments: Mapping[str, Any], beside: Sequence[str] = ()) -> EnvSettings:
        """Build settings from keyword arguments.

        Args:
            arguments: Settings by name.
            beside: What else the caller could have been given, for the message.

        Raises:
            UnknownNameError: A name that is no setting; the message names the nearest one.
            ConfigError: A value that is not allowed.
        """
        known = [f.name for f in fields(cls)]
        for name in arguments:
            if name not in known:
                raise UnknownNameError("argument", name, (*known, *beside), "the environment")
        return cls(**arguments)

    @property
    def checked_scenario(self) -> Scenario:
        """The scenario, as the type it is kept in."""
        assert isinstance(self.scenario, Scenario)
        return self.scenario

    @property
    def checked_reward(self) -> Reward:
        """The reward, as the type it is kept in."""
        assert isinstance(self.reward, Reward)
        return self.reward

    @property
    def options(self) -> SchedulerOptions:
        """The open points of the scheduler."""
        return SchedulerOptions(token_wait=self.token_wait, sticky_drain=self.sticky_drain)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def resolve_scenario(given: ScenarioLike) -> Scenario:
    """Return the scenario that a name, file, dict or object stands for.

    Raises:
        UnknownNameError: No such name, or a key that is no field.
        ConfigError: Another type, or a value that is not allowed.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return Scenario.from_dict(given)
    if isinstance(given, str | os.PathLike):
        return scenarios.get(given)
    raise ConfigError(
        f"scenario must be a name ({', '.join(scenarios.names())}), a TOML file, a dict or a "
        f"Scenario, got {given!r}"
    )


def whole_number(name: str, value: object, most: int | None = None) -> int:
    """Return ``value`` as a whole number from 1 to ``most``.

    Raises:
        ConfigError: It is none.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(value, bool) or number < 1:
        raise ConfigError(f"{name} must be a whole number of at least 1, got {value!r}")
    if most is not None and number > most:
        raise ConfigError(f"{name} must be at most {most}, got {value!r}")
    return number


def _positive(name: str, value: object) -> float:
    number = real_number(value)
    if number is None:
        raise ConfigError(f"{name} must be a number or None, got {value!r}")
    if not 0 < number <= MOST_MS:
        raise ConfigError(f"{name} must be positive and at most {MOST_MS:g}, got {value!r}")
    return number
