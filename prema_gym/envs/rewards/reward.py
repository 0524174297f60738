"""What is paid? A weighted sum of reward terms, or a function of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prema_gym.checks import check_keys, number
from prema_gym.envs.rewards.terms import TERMS, AtEnd, Compiled, Moving, RewardFunction
from prema_gym.errors import ConfigError, UnknownNameError

BALANCED: dict[str, float] = {"antt": 1 / 8, "stp": 1 / 8, "fairness": 1.0, "sla_curve": 1.0}
"""The paper's four goals at about equal weight: fairness and SLA lie in [0, 1]; ANTT and STP are
divided by the paper's eight tasks (STP is at most 8; eight tasks that share the NPU equally have an
ANTT of about 8)."""

CUSTOM = "custom"
"""Name of a user's term in ``info["reward_terms"]``."""

_WEIGHT = number()


def reward_names() -> tuple[str, ...]:
    """What ``reward=`` takes by name."""
    return (*TERMS, "balanced")


@dataclass(frozen=True, kw_only=True)
class Reward:
    """A weighted sum of terms.

    Attributes:
        weights: Weight of each named term, in the order in which they are added up; a term of
            weight 0 is reported and not paid.
        custom: A user's own total in place of named terms.
    """

    weights: Mapping[str, float]
    custom: RewardFunction | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The terms, as in ``info["reward_terms"]``."""
        return (CUSTOM,) if self.custom is not None else tuple(self.weights)

    @property
    def ways(self) -> tuple[Compiled | Moving | AtEnd, ...]:
        """How each of them is worked out."""
        if self.custom is not None:
            return (Moving(self.custom),)
        return tuple(TERMS[name].how for name in self.weights)


def resolve_reward(reward: object) -> Reward:
    """Turn what ``reward=`` was given into a weighted sum of terms.

    Args:
        reward: A name, weights by name, or a user's own total.

    Raises:
        UnknownNameError: A name that is no term.
        ConfigError: No term, a weight that is not a finite number, or nothing but weights of 0.
    """
    if isinstance(reward, Reward):
        return reward
    if isinstance(reward, str):
        if reward not in reward_names():
            raise UnknownNameError("reward", reward, reward_names())
        return Reward(weights=dict(BALANCED) if reward == "balanced" else {reward: 1.0})
    if callable(reward):
        return Reward(weights={CUSTOM: 1.0}, custom=reward)
    if not isinstance(reward, Mapping) or not reward:
        raise ConfigError(
            f"reward must be a name, weights by name or a function, got {reward!r} "
            f"(names: {', '.join(reward_names())})"
        )
    check_keys(reward, TERMS, "", kind="reward term")
    weights = {
        name: _WEIGHT.check(f"the weight of reward term {name!r}", weight)
        for name, weight in reward.items()
    }
    if not any(weights.values()):
        raise ConfigError(
            f"one reward term at least must have another weight than 0, got {reward!r}"
        )
    return Reward(weights=weights)
