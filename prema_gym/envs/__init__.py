"""The Gymnasium environments, their Stable-Baselines3 adapter and the pictures they draw.

Names are loaded on first use, so that importing the package compiles nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prema_gym.envs.env import PremaNPUEnv
    from prema_gym.envs.rewards import reward_names
    from prema_gym.envs.settings import EnvSettings
    from prema_gym.envs.vector import PremaNPUVectorEnv

_HOME = {
    "EnvSettings": "settings",
    "PremaNPUEnv": "env",
    "PremaNPUVectorEnv": "vector",
    "reward_names": "rewards",
}

__all__ = ["EnvSettings", "PremaNPUEnv", "PremaNPUVectorEnv", "reward_names"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
