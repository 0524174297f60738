"""How does a run of a Stable-Baselines3 algorithm go? Build, learn, validate, keep.

SB3 and sb3-contrib do the training; here are the environment, our network as their policy, and a
state that lets a run be resumed to the bit: counters, schedules, optimiser, replay memory, random
numbers, and where the environments stand.
"""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from prema_gym.agents import seeds
from prema_gym.agents.training.evolution.run import describe
from prema_gym.agents.training.gradient.callbacks import Keeper
from prema_gym.agents.training.gradient.policies import MaskableSlotPolicy, SlotPolicy, SlotQPolicy
from prema_gym.agents.training.objective import BALANCED, OBJECTIVES, measure
from prema_gym.agents.training.progress import Reporter
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.selection import MORE, best_scored, choose_best
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.agents.training.validation import REFERENCE, Validator
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecEnv

from prema_gym import baselines
from prema_gym.checks import damaged
from prema_gym.errors import ConfigError, located
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.simulator import DEFAULT_SLOTS
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

SLOTS = 8
"""Least slots in training: the paper's eight tasks fit."""

# Arguments that suit episodes of some hundred decisions; [gradient.hyper] overrules them.
_ALGORITHMS: dict[str, tuple[type[BaseAlgorithm], type, dict[str, Any]]] = {
    "maskable-ppo": (
        MaskablePPO,
        MaskableSlotPolicy,
        {"n_steps": 128, "n_epochs": 4, "gae_lambda": 0.98, "ent_coef": 0.001, "clip_range": 0.2},
    ),
    "ppo": (
        PPO,
        SlotPolicy,
        {"n_steps": 128, "n_epochs": 4, "gae_lambda": 0.98, "ent_coef": 0.001, "clip_range": 0.2},
    ),
    "a2c": (A2C, SlotPolicy, {"n_steps": 32, "gae_lambda": 0.98, "ent_coef": 0.001}),
    "dqn": (
        DQN,
        SlotQPolicy,
        {
            "buffer_size": 200_000,
            "learning_starts": 5_000,
            "batch_size": 256,
            "train_freq": 4,
            "target_update_interval": 2_000,
            "exploration_fraction": 0.3,
        },
    ),
}
_MINIBATCHES = 8
"""Parts of a rollout that PPO takes its steps on: the usual few thousand tables each."""


class Linear:
    """A learning rate that falls to 0 in a straight line; a class, so that it can be pickled."""

    def __init__(self, first: float) -> None:
        """Start at ``first``."""
        self.first = first

    def __call__(self, left: float) -> float:
        """Rate with the share ``left`` of the training to go."""
        return self.first * left


def train_gradient(folder: RunFolder, settings: TrainSettings, *, resume: bool) -> None:
    """Run an SB3 algorithm of a run folder to its end.

    Args:
        folder: Where everything is kept.
        settings: What to do.
        resume: Go on from the folder's state.
    """
    check_device(settings.device)
    torch.set_num_threads(settings.threads)
    with Reporter(settings.timesteps) as reporter:
        state = _unpacked(folder.load_state(), folder.state) if resume else None
        done = 0 if state is None else int(state["timesteps"])
        env = make_env(settings)
        if state is None:
            with located(str(folder.path / "config.toml")):
                model = new_model(settings, env, reporter.say)
        else:
            model = _restored_model(settings, env, state, folder.state)
            folder.resumed(done)
            reporter.say_if_done(done)
        model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        validator = _validator(settings, settings.eval_workloads)
        keeper = Keeper(folder, settings, validator, reporter, lambda: pack(model))
        try:
            if done < settings.timesteps:
                model.learn(
                    settings.timesteps - done,
                    callback=keeper,
                    # Rollouts (episodes, for DQN) between lines of the log.
                    log_interval=4 if settings.algo == "dqn" else 1,
                    reset_num_timesteps=state is None,
                )
        finally:
            if isinstance(model, DQN):  # what it has learned since the last validation counts too
                keeper.between = pack(model)
            if keeper.between is not None:
                folder.save_state(keeper.between)
            env.close()
        if settings.gradient.policy == "slots":
            few = settings.eval_workloads
            validator = _validator(settings, MORE * few, few)
            choose_best(folder, best_scored(folder), validator, describe, reporter.say)


def check_device(name: str) -> None:
    """Refuse a device that torch does not know or this machine lacks: SB3 would take the CPU.

    Raises:
        ConfigError: It is none.
    """
    try:
        if name != "auto":
            torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device {name!r} cannot be used here: {reason}") from None


def _validator(settings: TrainSettings, workloads: int, first: int = 0) -> Validator:
    return Validator(
        [settings.resolved_scenario],
        workloads=workloads,
        first=first,
        objective=settings.objective,
        slots=training_slots(settings) if settings.gradient.policy == "mlp" else DEFAULT_SLOTS,
    )


def training_scenario(settings: TrainSettings) -> Scenario:
    """The scenario with the quantum used in training."""
    return replace(settings.resolved_scenario, quantum_ms=settings.gradient.quantum_ms)


def training_slots(settings: TrainSettings) -> int:
    """Slots in training; the network then runs with any number, SB3's with these only."""
    return max(SLOTS, settings.resolved_scenario.num_tasks)


def make_env(settings: TrainSettings) -> VecEnv:
    """The training environments, seeded from the training range."""
    from prema_gym.envs.sb3 import make_sb3_env

    env: VecEnv = make_sb3_env(
        settings.num_envs,
        scenario=training_scenario(settings),
        slots=training_slots(settings),
        reward=reward_for(settings),
    )
    env.seed(seeds.training_environment(settings.seed))
    return env


def reward_for(settings: TrainSettings) -> dict[str, float]:
    """Weights of the environment's reward terms for an objective.

    "balanced" adds up the five metrics, each divided by what PREMA reaches: a step uphill on that
    sum is a step uphill on the geometric mean of the five ratios, near PREMA. Further from it the
    sum overpays what is easily gained, which ``emphasis`` can correct.
    """
    terms = {**{name: name for name in OBJECTIVES}, "sla": "sla_curve"}
    if settings.objective != BALANCED:
        return {terms[settings.objective]: 1.0}
    scenario = training_scenario(settings)
    catalog = compile_scenario(scenario)
    drawn = seeds.training_workloads(settings.seed, 10**9, settings.eval_workloads)
    batch = sample_batch(catalog, drawn.tolist())
    play_settings = PlaySettings(slots=training_slots(settings))
    reached = measure(play(baselines.make(REFERENCE), catalog, batch, play_settings))
    emphasis = settings.gradient.emphasis
    return {
        terms[name]: float(emphasis.get(name, 1.0) / value)
        for name, value in zip(OBJECTIVES, reached, strict=True)
    }


def new_model(settings: TrainSettings, env: VecEnv, say: Callable[[str], None]) -> BaseAlgorithm:
    """Make the model of a new run.

    Args:
        settings: The run.
        env: From :func:`make_env`.
        say: Prints a line on an imitation's progress.

    Raises:
        ConfigError: ``[gradient.hyper]`` does not suit the algorithm, or ``init_from`` the policy.
    """
    kind, policy, defaults = _ALGORITHMS[settings.algo]
    gradient = settings.gradient
    arguments: dict[str, Any] = dict(defaults)
    if "n_epochs" in arguments and "batch_size" not in gradient.hyper:
        steps = gradient.hyper.get("n_steps", arguments["n_steps"])
        if isinstance(steps, int):  # else SB3 says so
            arguments["batch_size"] = max(64, steps * settings.num_envs // _MINIBATCHES)
    if settings.algo == "dqn":  # a short run should learn too
        arguments["learning_starts"] = min(arguments["learning_starts"], settings.timesteps // 10)
    arguments |= gradient.hyper
    if gradient.policy == "mlp":
        arguments["policy"] = "MlpPolicy"
    else:
        sizes = {"hidden": gradient.hidden, "readers": gradient.readers}
        if settings.algo != "dqn":
            sizes["critic_width"] = gradient.critic_width
        arguments |= {"policy": policy, "policy_kwargs": sizes}
    try:
        model = kind(  # type: ignore[call-arg]  # every one of ours takes gamma
            env=env,
            seed=settings.seed,
            learning_rate=Linear(gradient.learning_rate),
            gamma=gradient.gamma,
            device=settings.device,
            **arguments,
        )
    except (TypeError, ValueError, AssertionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(f"[gradient.hyper] does not suit {settings.algo}: {reason}") from None
    # SB3 seeds the environments with the run's seed; they belong into the training range.
    env.seed(seeds.training_environment(settings.seed))
    if settings.init_from:
        if gradient.policy == "mlp":
            raise ConfigError("init_from needs the policy 'slots', given 'mlp'")
        from prema_gym.agents.training.imitation import imitate

        scorer: Any = model.policy.scorer
        scorer.load(
            imitate(
                settings.init_from,
                training_scenario(settings),
                scorer.shape,
                settings.seed,
                say=say,
            )
        )
        if settings.algo == "dqn":
            model.q_net_target.load_state_dict(model.q_net.state_dict())  # type: ignore[attr-defined]
    return model


def pack(model: BaseAlgorithm) -> bytes:
    """Everything that a resumed run needs."""
    file = io.BytesIO()
    model.save(file)
    replay = io.BytesIO()
    if isinstance(model, DQN):
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
        "copies": monitor.unwrapped.get_state(),
        "returns": monitor.episode_returns,
        "lengths": monitor.episode_lengths,
    }


def _unpacked(state: bytes, path: Path) -> dict[str, Any]:
    """What :func:`pack` packed; ``path`` is where it was kept, for messages."""
    try:
        unpacked = dict(pickle.loads(state))
        unpacked["episodes"]["copies"]
        return unpacked
    except Exception as error:  # whatever pickle makes of bytes that mean nothing
        raise damaged(path, error) from None


def _restored_model(
    settings: TrainSettings, env: VecEnv, state: dict[str, Any], path: Path
) -> BaseAlgorithm:
    try:
        return _restored(settings, env, state)
    except Exception as error:  # the same, by torch, SB3 and the generators
        raise damaged(path, error) from None


def _restored(settings: TrainSettings, env: VecEnv, state: dict[str, Any]) -> BaseAlgorithm:
    kind = _ALGORITHMS[settings.algo][0]
    env.reset()
    monitor: Any = env
    monitor.unwrapped.set_state(state["episodes"]["copies"])
    monitor.episode_returns = state["episodes"]["returns"]
    monitor.episode_lengths = state["episodes"]["lengths"]
    model = kind.load(
        io.BytesIO(state["model"]), env=env, device=settings.device, force_reset=False
    )
    if isinstance(model, DQN):
        model.replay_buffer = pickle.loads(state["replay"])
    model.action_space.np_random.bit_generator.state = state["exploration"]
    torch.set_rng_state(torch.from_numpy(np.frombuffer(state["torch"], np.uint8).copy()))
    np.random.set_state(state["numpy"])  # noqa: NPY002 - SB3 draws from it
    random.setstate(state["python"])
    return model
