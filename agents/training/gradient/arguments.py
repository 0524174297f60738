"""Which arguments of Stable-Baselines3's classes suit episodes of some hundred decisions?

``[gradient.hyper]`` overrules them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prema_gym.agents.training.settings import TrainSettings

MINIBATCHES = 8
"""Parts of a rollout that PPO takes its steps on: the usual few thousand tables each."""


def none(settings: TrainSettings) -> dict[str, Any]:
    """SB3's own."""
    return {}


def ppo(settings: TrainSettings) -> dict[str, Any]:
    """For PPO, masked or not."""
    chosen: dict[str, Any] = {
        "n_steps": 128,
        "n_epochs": 4,
        "gae_lambda": 0.98,
        "ent_coef": 0.001,
        "clip_range": 0.2,
    }
    steps = settings.gradient.hyper.get("n_steps", chosen["n_steps"])
    if isinstance(steps, int):  # else SB3 says so
        chosen["batch_size"] = max(64, steps * settings.num_envs // MINIBATCHES)
    return chosen


def a2c(settings: TrainSettings) -> dict[str, Any]:
    """For A2C."""
    return {"n_steps": 32, "gae_lambda": 0.98, "ent_coef": 0.001}


def dqn(settings: TrainSettings) -> dict[str, Any]:
    """For DQN."""
    return {
        "buffer_size": 200_000,
        "learning_starts": min(5_000, settings.timesteps // 10),  # a short run should learn too
        "batch_size": 256,
        "train_freq": 4,
        "target_update_interval": 2_000,
        "exploration_fraction": 0.3,
    }
