"""What can be chosen about a training run? All that `train.py` takes, checked, in one record.

The record is written into the run's folder as ``config.toml``; giving that file back to
``train.py --config`` repeats the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from prema_gym.agents.scorer.shape import ScorerShape
from prema_gym.agents.training.evolution.search import EvolutionConfig
from prema_gym.agents.training.objective import OBJECTIVES, objective_names

from prema_gym.checks import check_kinds
from prema_gym.errors import ConfigError, UnknownNameError, located
from prema_gym.files import read_toml, write_toml
from prema_gym.workloads import scenarios
from prema_gym.workloads.scenario import Scenario

ALGORITHMS = ("es", "maskable-ppo", "ppo", "dqn", "a2c")
POLICIES = ("slots", "mlp")
TEACHER = "dynamic-prema"


@dataclass(frozen=True, kw_only=True)
class GradientConfig:
    """What the Stable-Baselines3 algorithms share.

    Attributes:
        policy: "slots": our network, the same for every slot; "mlp": SB3's ``MlpPolicy``, which
            only runs with the slots it was trained with.
        hidden: Width of a task's encoding ("slots").
        readers: Width of the layer that reads a task in its context ("slots").
        critic_width: Width of the critic ("slots").
        quantum_ms: Quantum during training [ms]. Default 2: an eighth of the questions of the
            paper's, so that what an answer brings is an eighth as far away.
        learning_rate: First learning rate; it falls to 0 in a straight line.
        gamma: Discount. Default 1: episodes end, and no task's end matters less for being late.
        emphasis: Factor on a metric's part in the balanced reward, by its short name, 1 where none
            is given. Fairness moves least and is paid once, at the end; with all factors 1 it is
            sold for SLA violations (fairness 0.41 ×, SLA 2.7 × after 40 000 steps). The defaults
            came out of four other runs.
        hyper: Further arguments of the SB3 class, by their own names.
    """

    policy: str = "slots"
    hidden: int = 32
    readers: int = 32
    critic_width: int = 32
    quantum_ms: float = 2.0
    learning_rate: float = 1e-3
    gamma: float = 1.0
    emphasis: dict[str, float] = field(
        default_factory=lambda: {"fairness": 15.0, "sla": 0.3, "tail": 2.0}
    )
    hyper: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_kinds(self)
        for name in self.emphasis:
            if name not in OBJECTIVES:
                raise UnknownNameError("metric", name, OBJECTIVES, "emphasis")
        if self.policy not in POLICIES:
            raise UnknownNameError("policy", self.policy, POLICIES)
        ScorerShape(hidden=self.hidden, readers=self.readers)  # refuses what no network can have
        if self.critic_width < 1:
            raise ConfigError(f"critic_width must be at least 1, given {self.critic_width!r}")
        for name in ("quantum_ms", "learning_rate"):
            if not 0 < getattr(self, name) < inf:
                raise ConfigError(
                    f"{name} must be positive and finite, given {getattr(self, name)!r}"
                )
        if not 0 < self.gamma <= 1:
            raise ConfigError(f"gamma must be above 0 and at most 1, given {self.gamma!r}")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """One training run.

    Attributes:
        algo: One of ``ALGORITHMS``.
        scenario: A registered name or a TOML file.
        objective: "balanced", or one of the five metrics by its short name.
        timesteps: Scheduling decisions to take in training.
        num_envs: Environments played side by side; for "es" workloads of one candidate.
        seed: Seed of the run: weights, workloads, search.
        init_from: "dynamic-prema" to start from an imitation of it, "" for random weights.
        eval_every: Timesteps between validations and checkpoints.
        eval_workloads: Validation workloads (of each scenario, for "es").
        device: Where torch computes.
        threads: Threads that play candidates ("es") or that torch may use.
        evolution: What "es" is made of; its ``workloads`` is overruled by ``num_envs``.
        gradient: What the others share.
    """

    algo: str = "es"
    scenario: str = "paper"
    objective: str = "balanced"
    timesteps: int = 400_000_000
    num_envs: int = 640
    seed: int = 0
    init_from: str = ""
    eval_every: int = 20_000_000
    eval_workloads: int = 600
    device: str = "cpu"
    threads: int = 2
    evolution: EvolutionConfig = field(default_factory=EvolutionConfig)
    gradient: GradientConfig = field(default_factory=GradientConfig)

    def __post_init__(self) -> None:
        check_kinds(self)
        for kind, value, known in (
            ("algorithm", self.algo, ALGORITHMS),
            ("objective", self.objective, objective_names()),
            ("init_from", self.init_from, ("", TEACHER)),
        ):
            if value not in known:
                raise UnknownNameError(kind, value, known)
        for name in ("timesteps", "num_envs", "eval_every", "eval_workloads", "threads"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, given {getattr(self, name)!r}")
        if self.seed < 0:
            raise ConfigError(f"seed must be at least 0, given {self.seed!r}")
        if self.algo == "es":
            with located("num_envs is what a candidate plays"):
                replace(self.evolution, workloads=self.num_envs)
            for name, value, only in (
                ("policy", self.gradient.policy, "slots"),
                ("device", self.device, "cpu"),
            ):
                if value != only:
                    raise ConfigError(
                        f"{name} {value!r} does nothing with algo 'es': it breeds our own network "
                        f"on the CPU ({name} = {only!r}); the other algorithms take it"
                    )
        scenarios.get(self.scenario)  # raises for an unknown one, before anything is started

    @property
    def resolved_scenario(self) -> Scenario:
        """The scenario itself."""
        return scenarios.get(self.scenario)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "settings") -> TrainSettings:
        """Build settings from named values; ``evolution`` and ``gradient`` may be nested.

        Args:
            data: The values.
            where: Where they are from, for messages.

        Raises:
            UnknownNameError: A key is no field; the message names the nearest one.
            ConfigError: A value is not allowed.
        """
        values = dict(_known(cls, data, where))
        for name, kind in (("evolution", EvolutionConfig), ("gradient", GradientConfig)):
            if isinstance(values.get(name), Mapping):
                section = f"{where}, [{name}]"
                given = _known(kind, values[name], section)
                with located(section):
                    values[name] = kind(**given)
        with located(where):
            return cls(**values)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> TrainSettings:
        """Read settings from a TOML file.

        Raises:
            ConfigError: The file cannot be read, is not TOML, or holds a value not allowed.
        """
        return cls.from_dict(read_toml(path), where=os.fspath(path))

    def to_dict(self) -> dict[str, Any]:
        """Every field as plain data, nested."""
        return asdict(self)

    def to_toml(self, path: Path) -> None:
        """Write every field to a file that :meth:`from_toml` reads back equal."""
        write_toml(path, self.to_dict())


def _known(kind: type, data: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    names = [f.name for f in fields(kind)]
    for key in data:
        if key not in names:
            raise UnknownNameError("field", str(key), names, where)
    return data
