"""Which arguments of Stable-Baselines3's classes suit episodes of some hundred decisions?

``[gradient.hyper]`` overrules them.
"""

from __future__ import annotations

from inspect import Parameter, signature
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from prema_gym.errors import ConfigError, UnknownNameError

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


def check_hyper(model: type, settings: TrainSettings) -> None:
    """Hold ``[gradient.hyper]`` to the arguments of an SB3 class and the types that it declares.

    Raises:
        ConfigError: It has no such argument, or one of another type.
    """
    hyper = settings.gradient.hyper
    known = signature(model).parameters
    where = f"[gradient.hyper] does not suit {settings.algo}"
    for name, value in hyper.items():
        if name not in known:
            raise ConfigError(f"{where}: {UnknownNameError('argument', name, list(known))}")
        declared = known[name].annotation
        if declared is not Parameter.empty and not _is_of(value, declared):
            types = str(getattr(declared, "__name__", declared)).replace("typing.", "")
            raise ConfigError(f"{where}: {name} must be {types}, got {value!r} (got {hyper})")


def _is_of(value: object, declared: object) -> bool:
    """Whether a value of a settings file is of a declared type, or of one of a union's."""
    members = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    types = {get_origin(member) or member for member in members}
    if isinstance(value, int) and not isinstance(value, bool):
        return not types.isdisjoint({int, float, Any})
    if isinstance(value, list):
        return not types.isdisjoint({list, tuple, Any})
    return not types.isdisjoint({type(value), Any})
