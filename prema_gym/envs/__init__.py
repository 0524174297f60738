"""The Gymnasium environments, their Stable-Baselines3 adapter and the pictures they draw.

Names are loaded on first use, so that importing the package compiles nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.envs.env import PremaNPUEnv
    from prema_gym.envs.multi_objective import PremaNPUMOEnv, PremaNPUMOVectorEnv
    from prema_gym.envs.rewards.reward import reward_names
    from prema_gym.envs.settings import EnvSettings
    from prema_gym.envs.vector import PremaNPUVectorEnv


__all__ = [
    "EnvSettings",
    "PremaNPUEnv",
    "PremaNPUMOEnv",
    "PremaNPUMOVectorEnv",
    "PremaNPUVectorEnv",
    "reward_names",
]


__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "env": ("PremaNPUEnv",),
        "multi_objective": ("PremaNPUMOEnv", "PremaNPUMOVectorEnv"),
        "rewards.reward": ("reward_names",),
        "settings": ("EnvSettings",),
        "vector": ("PremaNPUVectorEnv",),
    },
)
