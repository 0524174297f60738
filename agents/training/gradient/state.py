"""What must be kept of a training run so that it goes on to the bit? All of this, in one pickle.

Counters, schedules, optimiser, replay memory, random numbers, and where the environments stand.
"""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from prema_gym.agents.policies.old_names import unpickle
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.checks import damaged
from prema_gym.errors import ConfigError


def pack(model: BaseAlgorithm) -> bytes:
    """Everything that a resumed run needs."""
    file = io.BytesIO()
    model.save(file)
    replay = io.BytesIO()
    if isinstance(model, OffPolicyAlgorithm):
        pickle.dump(model.replay_buffer, replay)
    return pickle.dumps(
        {
            "timesteps": model.num_timesteps,
            "model": file.getvalue(),
            "replay": replay.getvalue(),
            "episodes": _episodes_state(model.get_env()),
            "exploration": model.action_space.np_random.bit_generator.state,
            "torch": torch.get_rng_state().numpy().tobytes(),
            "numpy": np.random.get_state(),  # noqa: NPY002 - SB3 draws from it
            "python": random.getstate(),
        }
    )


def _episodes_state(env: VecEnv | None) -> dict[str, Any]:
    """Where the training environments stand, and what their monitor has added up."""
    monitor: Any = env
    return {
        "environments": monitor.unwrapped.get_state(),
        "returns": monitor.episode_returns,
        "lengths": monitor.episode_lengths,
    }


def unpack(state: bytes, path: Path) -> dict[str, Any]:
    """What :func:`pack` packed.

    Args:
        state: What it gave.
        path: Where that was kept, for messages.

    Raises:
        ConfigError: It is damaged, or names what this version of the package does not have.
    """
    try:
        unpacked = dict(unpickle(state))
        if "copies" in unpacked["episodes"]:  # what an older version called them
            raise AttributeError("its environments are kept in another form")
        unpacked["episodes"]["environments"]
        return unpacked
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{path} is damaged or of another version of prema-gym ({error}): its policies load, "
            "but training has to start anew in another folder"
        ) from None
    except Exception as error:  # whatever else pickle makes of bytes that mean nothing
        raise damaged(path, error) from None


def restored_model(
    settings: TrainSettings, env: VecEnv, state: dict[str, Any], path: Path
) -> BaseAlgorithm:
    """The model as it was packed, and everything around it put back.

    Args:
        settings: The training run.
        env: From :func:`.make_env`; set to where it stood.
        state: From :func:`unpack`.
        path: Where it was kept, for messages.

    Raises:
        ConfigError: It is damaged.
    """
    try:
        return _restored(settings, env, state)
    except Exception as error:  # by torch, SB3 and the generators
        raise damaged(path, error) from None


def _restored(settings: TrainSettings, env: VecEnv, state: dict[str, Any]) -> BaseAlgorithm:
    env.reset()
    monitor: Any = env
    monitor.unwrapped.set_state(state["episodes"]["environments"])
    monitor.episode_returns = state["episodes"]["returns"]
    monitor.episode_lengths = state["episodes"]["lengths"]
    model: BaseAlgorithm = settings.algorithm.load("model").load(
        io.BytesIO(state["model"]),
        env=env,
        device=settings.device,
        force_reset=False,
        # An older version bounded its columns otherwise.
        custom_objects={"observation_space": env.observation_space},
    )
    if isinstance(model, OffPolicyAlgorithm):
        model.replay_buffer = pickle.loads(state["replay"])
    model.action_space.np_random.bit_generator.state = state["exploration"]
    torch.set_rng_state(torch.from_numpy(np.frombuffer(state["torch"], np.uint8).copy()))
    np.random.set_state(state["numpy"])  # noqa: NPY002 - SB3 draws from it
    random.setstate(state["python"])
    return model
