"""What can be chosen about a training run? All of it, checked, in one record.

`prema-gym train` makes its options from these fields. The record is written into the run's folder
as ``config.toml``; giving that file back with ``--config`` repeats the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prema_gym.agents.algorithms import ALGORITHMS, Algorithm
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.objective import BALANCED, objective_names
from prema_gym.checks import (
    Constraint,
    check_fields,
    declared,
    instance,
    one_of,
    optional,
    read_record,
    text,
    whole,
)
from prema_gym.errors import ConfigError
from prema_gym.files import read_toml, write_toml

if TYPE_CHECKING:
    from prema_gym.workloads.scenario import Scenario

VALIDATIONS = 20
"""Of a training run whose settings do not say how often."""

_COUNT = whole(1)
_COUNT_OR_DEFAULT = Constraint(_COUNT.allowed, optional(_COUNT).accept)
_ALGORITHMS_OWN = "the algorithm's own"


def _teachers() -> tuple[str, ...]:
    from prema_gym.baselines import PREMA  # late: the command's help needs no baselines

    return (PREMA, "replan")


_TEACHER = one_of("teacher", _teachers)
_TEACHER_OR_NOBODY = Constraint(
    _TEACHER.allowed, lambda value: "" if value == "" else _TEACHER.accept(value)
)


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """One training run.

    Fields that depend on the algorithm take its values where they are None, as they are unless
    given; afterwards every field holds what will be done.

    Attributes:
        algo: A name of :data:`.ALGORITHMS`.
        scenario: A registered name or a TOML file.
        hardware: A machine's name or a TOML file, in place of the scenario's; "" for that.
        objective: "balanced", or one of the five metrics by its short name.
        timesteps: Scheduling decisions to take in training; "es" ends with the generation that
            reaches it. Default: the algorithm's.
        num_envs: Environments played side by side; for "es" workloads of one candidate. Default:
            the algorithm's.
        seed: Seed of the run: weights, workloads, search.
        init_from: "dynamic-prema" to start from an imitation of it, with a balancer network
            "replan"; "" for random weights.
        eval_every: Timesteps between validations and checkpoints. Default: a twentieth of all.
        eval_workloads: Validation workloads (of each scenario, for "es").
        device: Where torch computes.
        threads: Threads that play candidates ("es") or that torch may use.
        evolution: What "es" is made of.
        gradient: What the others share.
    """

    algo: str = declared(
        "es", one_of("algorithm", ALGORITHMS), help=f"how to train: {', '.join(ALGORITHMS)}"
    )
    scenario: str = declared("paper", text(), help="a registered scenario or FILE.toml")
    hardware: str = declared(
        "",
        instance(str, "a text"),
        help="a machine of `prema-gym hardware` or FILE.toml, in place of the scenario's",
    )
    objective: str = declared(
        BALANCED,
        one_of("objective", objective_names),
        help=f"what counts as better: {', '.join(objective_names())}",
    )
    timesteps: int = declared(
        None,
        _COUNT_OR_DEFAULT,
        help="scheduling decisions to train for, in all; es ends with the generation that reaches "
        "it",
        source=_ALGORITHMS_OWN,
    )
    num_envs: int = declared(
        None, _COUNT_OR_DEFAULT, help="environments side by side", source=_ALGORITHMS_OWN
    )
    seed: int = declared(0, whole(0), help="seed of weights, workloads and search")
    init_from: str = declared(
        "",
        _TEACHER_OR_NOBODY,
        help="dynamic-prema, or replan for a balancer network: start as an imitation of it",
    )
    eval_every: int = declared(
        None,
        _COUNT_OR_DEFAULT,
        help="timesteps between validations",
        source=f"a {VALIDATIONS}th of all",
    )
    eval_workloads: int = declared(600, _COUNT, help="workloads of a validation")
    device: str = declared("cpu", text(), help="where torch computes")
    threads: int = declared(2, _COUNT, help="threads that play candidates, or that torch may use")
    evolution: EvolutionConfig = declared(
        constraint=instance(EvolutionConfig, "a table"), factory=EvolutionConfig
    )
    gradient: GradientConfig = declared(
        constraint=instance(GradientConfig, "a table"), factory=GradientConfig
    )

    def __post_init__(self) -> None:
        check_fields(self)
        self._resolve()
        if self.num_envs < self.algorithm.least_envs:
            raise ConfigError(
                f"num_envs must be at least {self.algorithm.least_envs} with algo {self.algo!r}, "
                f"got {self.num_envs}"
            )
        if not self.algorithm.model:
            self._refuse_what_does_nothing()
        self._check_teacher()
        _ = self.resolved_scenario  # raises for an unknown one, before anything is started

    def _resolve(self) -> None:
        """Put the algorithm's own values where none were given."""
        own = dict(self.algorithm.defaults)
        timesteps = self.timesteps if self.timesteps is not None else own["timesteps"]
        own["eval_every"] = max(1, timesteps // VALIDATIONS)
        for name, value in own.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    def _refuse_what_does_nothing(self) -> None:
        for name, value, only in (
            ("policy", self.gradient.policy, "slots"),
            ("device", self.device, "cpu"),
        ):
            if value != only:
                raise ConfigError(
                    f"{name} {value!r} does nothing with algo {self.algo!r}: it breeds our own "
                    f"network on the CPU ({name} = {only!r}); the other algorithms take it"
                )

    def _check_teacher(self) -> None:
        balancer = not self.algorithm.model and self.evolution.network == "balancer"
        teachers = ("", "replan") if balancer else ("", _teachers()[0])
        if self.init_from not in teachers:
            who = "a balancer network" if balancer else "this network"
            raise ConfigError(
                f"{who} can start as an imitation of {teachers[1]!r}, got {self.init_from!r}"
            )

    @property
    def algorithm(self) -> Algorithm:
        """How to train: the line of the table."""
        return ALGORITHMS[self.algo]

    @property
    def resolved_scenario(self) -> Scenario:
        """The scenario itself."""
        from prema_gym.workloads import scenarios

        return scenarios.get(self.scenario, self.hardware or None)

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
        values = dict(data)
        for name, kind in (("evolution", EvolutionConfig), ("gradient", GradientConfig)):
            if isinstance(values.get(name), Mapping):
                section = dict(values[name])
                if name == "evolution":
                    section.pop("workloads", None)  # in old files; num_envs said the same
                values[name] = read_record(kind, section, f"{where}, [{name}]")
        return read_record(cls, values, where)

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
