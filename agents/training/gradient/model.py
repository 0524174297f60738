"""What does a gradient algorithm train, and on what? A model of SB3 and its environments.

SB3 and sb3-contrib do the training; here are the environments, their reward, and our network as the
algorithm's policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.training.gradient.arguments import check_hyper
from prema_gym.agents.training.objective import BALANCED, OBJECTIVES, measure
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.baselines import PREMA
from prema_gym.errors import ConfigError
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

SLOTS = 8
"""Least slots in training: the paper's eight tasks fit."""


class Linear:
    """A learning rate that falls to 0 in a straight line; a class, so that it can be pickled.

    SB3 asks for it when a rollout has been played, and so would learn nothing from the last one.
    """

    rollout = 0.0  # in runs of an older version

    def __init__(self, first: float, rollout: float = 0.0) -> None:
        """Start at ``first``; a rollout is the share ``rollout`` of the training."""
        self.first, self.rollout = first, rollout

    def __call__(self, left: float) -> float:
        """Rate of a rollout after which the share ``left`` of the training is to go."""
        return self.first * min(1.0, left + self.rollout)


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
    reached = measure(play(baselines.make(PREMA), catalog, batch, play_settings))
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
    algorithm, gradient = settings.algorithm, settings.gradient
    check_hyper(algorithm.load("model"), settings)
    arguments: dict[str, Any] = algorithm.load("arguments")(settings) | gradient.hyper
    if gradient.policy == "mlp":
        arguments["policy"] = "MlpPolicy"
    else:
        sizes = {name: getattr(gradient, name) for name in algorithm.sizes}
        arguments |= {"policy": algorithm.load("policy"), "policy_kwargs": sizes}
    try:
        model: BaseAlgorithm = algorithm.load("model")(
            env=env,
            seed=settings.seed,
            learning_rate=Linear(gradient.learning_rate),
            gamma=gradient.gamma,
            device=settings.device,
            **arguments,
        )
    except (TypeError, ValueError, AssertionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"[gradient.hyper] does not suit {settings.algo}: {reason} (got {gradient.hyper})"
        ) from None
    # SB3 seeds the environments with the run's seed; they belong into the training range.
    env.seed(seeds.training_environment(settings.seed))
    if settings.init_from:
        _imitate(settings, model, say)
    return model


def pace(model: BaseAlgorithm, settings: TrainSettings) -> None:
    """Let the learning rate fall to 0 over the whole run, also where it is gone on with."""
    steps = model.n_steps * model.n_envs if isinstance(model, OnPolicyAlgorithm) else 0
    model.learning_rate = Linear(settings.gradient.learning_rate, steps / settings.timesteps)
    model._setup_lr_schedule()


def _imitate(settings: TrainSettings, model: BaseAlgorithm, say: Callable[[str], None]) -> None:
    """Start as an imitation of the teacher."""
    if settings.gradient.policy == "mlp":
        raise ConfigError("init_from needs the policy 'slots', got 'mlp'")
    from prema_gym.agents.training.imitation import imitate

    scorer: Any = model.policy.scorer
    scenario = training_scenario(settings)
    scorer.load(imitate(settings.init_from, scenario, scorer.shape, settings.seed, say=say))
    if hasattr(model, "q_net_target"):
        model.q_net_target.load_state_dict(model.q_net.state_dict())  # type: ignore[attr-defined]
