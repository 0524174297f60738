"""Which training algorithms are there? One table; whoever needs one reads its line.

Settings, command, start, resumption, loading and ``docs/learned.md`` read it. A new algorithm is a
line here and the file that ``train`` names. All is named, and nothing imported until it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

_GRADIENT = "prema_gym.agents.training.gradient"


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One way to train.

    Attributes:
        name: What ``--algo`` calls it.
        title: What it is, in a few words.
        train: Carries a training run, ``module:function``; called with a
            :class:`.TrainingRun`.
        defaults: Fields of :class:`.TrainSettings` that depend on the algorithm.
        least_envs: Environments that it needs at least.
        model: Class of Stable-Baselines3's family, ``module:class``; "" for one of our own.
        policy: Our network as that class's policy, ``module:class``.
        sizes: Fields of :class:`.GradientConfig` that this policy takes.
        arguments: Gives those of ``model`` that differ from its own defaults,
            ``module:function``; called with the settings.
        extra: What of ``pip install 'prema-gym[…]'`` it needs.
    """

    name: str
    title: str
    train: str = f"{_GRADIENT}.run:train_gradient"
    defaults: Mapping[str, int]
    least_envs: int = 1
    model: str = ""
    policy: str = ""
    sizes: tuple[str, ...] = ("hidden", "readers", "critic_width")
    arguments: str = f"{_GRADIENT}.arguments:none"
    extra: str = "train"

    def load(self, what: str) -> Any:  # noqa: ANN401 - a class or function of any module
        """Import what a field names: ``train``, ``model``, ``policy`` or ``arguments``.

        Raises:
            ModuleNotFoundError: A package is missing that it needs.
        """
        return resolve_name(getattr(self, what))


ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            name="es",
            title="CMA-ES, an evolution strategy on the weights of our network",
            train="prema_gym.agents.training.evolution.run:evolve",
            # Decisions of all candidates, most of which only say that a candidate is worse.
            defaults={"timesteps": 400_000_000, "num_envs": 640},
            least_envs=8,  # two for each leg of the course
        ),
        Algorithm(
            name="maskable-ppo",
            title="PPO that knows which actions are legal",
            defaults={"timesteps": 2_000_000, "num_envs": 64},
            model="sb3_contrib:MaskablePPO",
            policy=f"{_GRADIENT}.policies:MaskableSlotPolicy",
            arguments=f"{_GRADIENT}.arguments:ppo",
        ),
        Algorithm(
            name="ppo",
            title="PPO",
            defaults={"timesteps": 2_000_000, "num_envs": 64},
            model="stable_baselines3:PPO",
            policy=f"{_GRADIENT}.policies:SlotPolicy",
            arguments=f"{_GRADIENT}.arguments:ppo",
        ),
        Algorithm(
            name="dqn",
            title="DQN, from a replay memory",
            defaults={"timesteps": 500_000, "num_envs": 16},
            model="stable_baselines3:DQN",
            policy=f"{_GRADIENT}.policies:SlotQPolicy",
            sizes=("hidden", "readers"),
            arguments=f"{_GRADIENT}.arguments:dqn",
        ),
        Algorithm(
            name="a2c",
            title="A2C",
            defaults={"timesteps": 2_000_000, "num_envs": 64},
            model="stable_baselines3:A2C",
            policy=f"{_GRADIENT}.policies:SlotPolicy",
            arguments=f"{_GRADIENT}.arguments:a2c",
        ),
    )
}
"""Every algorithm by its name."""
