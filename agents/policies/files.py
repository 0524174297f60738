"""Which policy does a file of weights hold? One of our two networks, ready to decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents.policies.balancer_policy import BalancerPolicy, Preference, Thinking
from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.policies.weights_file import AnyWeights, load_weights
from prema_gym.agents.scorer.balancer_shape import BalancerWeights
from prema_gym.agents.scorer.compiled import choose
from prema_gym.errors import ConfigError

OurPolicy = LearnedPolicy | BalancerPolicy

Choose = Callable[[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64]], None]
"""Tables (B, S, C), where an action is asked for, and the actions, written there: in place."""


def chooser(weights: AnyWeights, envs: int, slots: int) -> Choose:
    """How a network chooses in loops that make nothing anew: from the start of ``envs`` episodes.

    Args:
        weights: The network; a balancer is at its balanced setting.
        envs: Environments (B).
        slots: Slots of each (S).
    """
    if isinstance(weights, BalancerWeights):
        return Thinking(weights, envs, slots).choose

    def choose_by_score(
        tables: NDArray[np.float32], asked: NDArray[np.bool_], actions: NDArray[np.int64]
    ) -> None:
        choose(tables, weights, asked, actions)

    return choose_by_score


def policy_of(
    name: str,
    weights: AnyWeights,
    about: Mapping[str, Any],
    preference: Preference | None = None,
) -> OurPolicy:
    """A network as a policy.

    Args:
        name: What reports call it.
        weights: The network.
        about: Plain data with ``mechanisms``.
        preference: What a balancer network prefers; None: balanced.

    Raises:
        ConfigError: The arrays do not fit together, or the network knows no preferences.
    """
    if isinstance(weights, BalancerWeights):
        return BalancerPolicy(name, weights, about, preference)
    if preference is not None:
        raise ConfigError(f"policy {name!r} takes no parameters: its network knows no preferences")
    return LearnedPolicy(name, weights, about)


def policy_from_file(
    path: Path, name: str | None = None, preference: Preference | None = None
) -> OurPolicy:
    """Load a policy from an ``.npz``.

    Args:
        path: The file.
        name: What reports call it; None: as the file.
        preference: As for :func:`policy_of`.

    Raises:
        ConfigError: See :func:`policy_of` and :func:`.load_weights`.
    """
    weights, about = load_weights(path)
    return policy_of(name or path.stem, weights, about, preference)
