"""What can be set when an environment is made, and how is it checked?

One record for the single environment, its vector twin and the Stable-Baselines3 adapter; each hands
its keyword arguments to :meth:`EnvSettings.of`. Values that came through JSON or TOML (lists for
tuples, dicts for scenarios) are as good as the objects themselves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from prema_gym.checks import (
    Constraint,
    check_fields,
    declared,
    one_of,
    optional,
    truth,
)
from prema_gym.envs.rewards.reward import Reward, resolve_reward
from prema_gym.envs.rewards.terms import RewardFunction
from prema_gym.envs.seen import OBSERVATIONS, SLOT_ORDERS, Seen
from prema_gym.errors import ConfigError, unknown_argument
from prema_gym.simulator.mechanisms import DEFAULT_MECHANISMS, MECHANISM_NAMES
from prema_gym.simulator.options import (
    DEFAULT_ESTIMATE,
    DEFAULT_SLOTS,
    ESTIMATE,
    HORIZON_MS,
    MAX_DECISIONS,
    SLOTS,
    TOKEN_WAITS,
    SchedulerOptions,
    one_estimate,
)
from prema_gym.workloads import scenarios
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.storage import WorkloadLike, check_workload_type

INFOS = ("all", "mask")
"""What ``info`` holds: all of `infos.KEYS`, or those alone that every reset and step gives."""

RENDER_MODES = ("ansi", "rgb_array", "human")

DEFAULT_MAX_DECISIONS = 10_000
"""Some ten times what a scheduler that switches at random takes for the paper's workload; without a
limit, one that kills at every quantum would never end."""

ScenarioLike = str | os.PathLike[str] | Mapping[str, Any] | Scenario


def resolve_scenario(given: object) -> Scenario:
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


def _accept_workload(given: object) -> WorkloadLike:
    check_workload_type(given)
    return given  # type: ignore[return-value]


_SCENARIO = Constraint("a scenario", resolve_scenario)
_REWARD = Constraint("a reward", resolve_reward)
_WORKLOAD = optional(Constraint("a workload", _accept_workload))


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """The keyword arguments of every environment; checked and brought to one form on construction.

    The scenario is kept as a `Scenario`, the reward as a `Reward`, the mechanisms as a tuple. With
    a render mode a timeline is always kept. A drain holds by default, unlike in
    `SchedulerOptions`: one that is asked again at every wake-up would be the same as going on.

    Raises:
        ConfigError: A value that is not allowed.
        UnknownNameError: An unknown scenario, reward, mechanism or render mode.
    """

    scenario: ScenarioLike = declared("paper", _SCENARIO, help="what is drawn, and the machine")
    slots: int = declared(
        DEFAULT_SLOTS,
        SLOTS,
        help="tasks a policy can choose from; more wait in a queue",
    )
    reward: str | Mapping[str, float] | RewardFunction | Reward = declared(
        "antt", _REWARD, help="see above"
    )
    mechanisms: Sequence[str] = declared(
        DEFAULT_MECHANISMS, MECHANISM_NAMES, help='"checkpoint", "kill", "drain", in this order'
    )
    estimate: str = declared(
        DEFAULT_ESTIMATE,
        ESTIMATE,
        help="isolated times shown",
    )
    oracle: bool = declared(False, truth(), help='the same as ``estimate="oracle"``')
    workload: WorkloadLike | None = declared(
        None, _WORKLOAD, help="replay exactly this in every episode"
    )
    max_decisions: int | None = declared(
        DEFAULT_MAX_DECISIONS,
        optional(MAX_DECISIONS),
        help="truncate after so many decisions",
    )
    horizon_ms: float | None = declared(
        None,
        optional(HORIZON_MS),
        unit="ms",
        help="truncate at the first decision from this time on",
    )
    strict: bool = declared(False, truth(), help="raise on illegal actions")
    token_wait: str = declared(
        "since_wakeup", one_of("token_wait", TOKEN_WAITS), help="which wait earns tokens"
    )
    sticky_drain: bool = declared(
        True, truth(), help="a drain holds until the running task has ended"
    )
    record_timeline: bool = declared(
        False, truth(), help="keep who ran when, for ``timeline()``; on when rendering"
    )
    observation: str = declared(
        "table",
        one_of("observation", OBSERVATIONS),
        help="what is seen: the table, or scaled features",
    )
    slot_order: str = declared(
        "slot",
        one_of("slot_order", SLOT_ORDERS),
        help="by what tasks are sorted into rows",
    )
    info: str = declared(
        "all",
        one_of("info", INFOS),
        help='"mask": only the keys that every reset and step has, flat',
    )
    render_mode: str | None = declared(
        None,
        optional(one_of("render_mode", RENDER_MODES)),
        help="a table and a Gantt chart, or a picture",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        estimate = one_estimate(self.estimate, self.oracle)
        object.__setattr__(self, "estimate", estimate)
        object.__setattr__(self, "oracle", estimate == "oracle")
        if self.render_mode is not None:
            object.__setattr__(self, "record_timeline", True)

    @classmethod
    def of(
        cls, caller: str, arguments: Mapping[str, Any], beside: Sequence[str] = ()
    ) -> EnvSettings:
        """Build settings from keyword arguments.

        Args:
            caller: Who was given them, for the message.
            arguments: Settings by name.
            beside: What else it could have been given.

        Raises:
            UnknownArgumentError: A name that is no setting; the message names the nearest one.
            ConfigError: A value that is not allowed.
        """
        known = [f.name for f in fields(cls)]
        for name in arguments:
            if name not in known:
                raise unknown_argument(caller, name, (*known, *beside))
        return cls(**arguments)

    def within(self, max_episode_steps: int | None) -> EnvSettings:
        """Return the same with episodes of at most so many steps: each is one decision."""
        steps = optional(MAX_DECISIONS).check("max_episode_steps", max_episode_steps)
        if steps is None or (self.max_decisions or steps + 1) <= steps:
            return self
        return replace(self, max_decisions=steps)

    @property
    def seen(self) -> Seen:
        """What a policy sees of a table."""
        return Seen(self.observation, self.slot_order)

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
