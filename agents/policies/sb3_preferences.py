"""What does a policy of Stable-Baselines3 prefer? One line a family; read off the policy's class.

A saved model is played by its policy alone, so the algorithm that trained it need not be known.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from prema_gym.errors import ConfigError

State = Any
"""What a policy remembers: NumPy arrays (layers, tables, width), or None."""

Preferences = Callable[[Any, Tensor, State, Tensor], tuple[Tensor, State]]
"""(policy, tables float32 (B, S, C), state, episode_start float32 (B,)) → (B, actions), state."""


def _of_distribution(policy: Any, tables: Tensor, state: State, _: Tensor) -> tuple[Tensor, State]:  # noqa: ANN401
    return policy.get_distribution(tables).distribution.logits, state


def _of_values(policy: Any, tables: Tensor, state: State, _: Tensor) -> tuple[Tensor, State]:  # noqa: ANN401
    return policy.q_net(tables), state


def _of_quantiles(policy: Any, tables: Tensor, state: State, _: Tensor) -> tuple[Tensor, State]:  # noqa: ANN401
    return policy.quantile_net(tables).mean(dim=1), state


def _of_memory(policy: Any, tables: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:  # noqa: ANN401
    memory = policy.lstm_actor
    if state is None:
        shape = (memory.num_layers, len(tables), memory.hidden_size)
        state = (np.zeros(shape, np.float32), np.zeros(shape, np.float32))
    before = tuple(map(torch.as_tensor, state))
    distribution, after = policy.get_distribution(tables, before, starts)
    return distribution.distribution.logits, tuple(one.numpy() for one in after)


class Family(NamedTuple):
    """Policies that are asked in the same way.

    Attributes:
        policy: Their class, ``module:class``.
        title: Which algorithms have it.
        preferences: How they are asked.
    """

    policy: str
    title: str
    preferences: Preferences


FAMILIES: tuple[Family, ...] = (  # a class before those it is made from
    Family(
        "sb3_contrib.common.recurrent.policies:RecurrentActorCriticPolicy",
        "RecurrentPPO",
        _of_memory,
    ),
    Family(
        "sb3_contrib.common.maskable.policies:MaskableActorCriticPolicy",
        "MaskablePPO",
        _of_distribution,
    ),
    Family(
        "stable_baselines3.common.policies:ActorCriticPolicy",
        "PPO, A2C or TRPO",
        _of_distribution,
    ),
    Family("stable_baselines3.dqn.policies:DQNPolicy", "DQN", _of_values),
    Family("sb3_contrib.qrdqn.policies:QRDQNPolicy", "QR-DQN", _of_quantiles),
)
"""Every family that can be played."""


def family_of(policy: type) -> Family:
    """Return the family of a policy's class.

    Raises:
        ConfigError: It is of none; the message has those there are.
    """
    for family in FAMILIES:
        if issubclass(policy, resolve_name(family.policy)):
            return family
    known = "; ".join(family.title for family in FAMILIES)
    raise ConfigError(f"its policy is a {policy.__name__}; models can be played of {known}")
