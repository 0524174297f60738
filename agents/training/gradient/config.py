"""What can be chosen about training by gradients? What the Stable-Baselines3 algorithms share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prema_gym.agents.scorer.shape import WIDTH
from prema_gym.agents.training.objective import OBJECTIVES
from prema_gym.checks import (
    anything,
    check_fields,
    check_keys,
    declared,
    number,
    one_of,
    positive,
    table_of,
)
from prema_gym.errors import ConfigError

NETWORKS = ("slots", "mlp")


SET_ELSEWHERE = {
    "policy": "gradient.policy",
    "policy_kwargs": "gradient.hidden, readers and critic_width",
    "learning_rate": "gradient.learning_rate",
    "gamma": "gradient.gamma",
    "seed": "seed",
    "device": "device",
    "env": "scenario and num_envs",
}
"""Arguments of Stable-Baselines3's classes that are ours to give → the setting that says each."""


def _emphasis() -> dict[str, float]:
    return {"fairness": 15.0, "sla": 0.3, "tail": 2.0}


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

    policy: str = declared(
        "slots", one_of("policy", NETWORKS), help="network: slots, ours, or mlp, SB3's own"
    )
    hidden: int = declared(32, WIDTH, help="width of a task's encoding (slots)")
    readers: int = declared(32, WIDTH, help="width of the layer that reads a task (slots)")
    critic_width: int = declared(32, WIDTH, help="width of the critic (slots)")
    quantum_ms: float = declared(2.0, positive(unit="ms"), unit="ms", help="quantum in training")
    learning_rate: float = declared(1e-3, positive(), help="first learning rate; it falls to 0")
    gamma: float = declared(1.0, number(above=0.0, most=1.0), help="discount")
    emphasis: dict[str, float] = declared(
        constraint=table_of(number()),
        factory=_emphasis,
        help="factor on a metric's part in the balanced reward",
    )
    hyper: dict[str, Any] = declared(
        constraint=table_of(anything()),
        factory=dict,
        help="another argument of the SB3 class, by its own name",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        check_keys(self.emphasis, OBJECTIVES, "emphasis", kind="metric")
        for name in self.hyper:
            if name in SET_ELSEWHERE:
                raise ConfigError(
                    f"hyper must leave {name} to {SET_ELSEWHERE[name]}, got {self.hyper[name]!r}"
                )
