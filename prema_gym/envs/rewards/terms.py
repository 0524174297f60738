"""What is an action worth? Named reward terms, each of which adds up to a reported metric.

A term is a *total*: what an episode has earned by now, larger is better, 0 before it starts. The
reward of a step is the weighted rise of the totals since the step before, so the rewards of an
episode add up to its totals, and a total at the end is the metric that :mod:`prema_gym.metrics`
reports (with a minus where lower is better). What happens before the first decision is part of
the first step.

``when`` says how a total gets there: "dense" totals move all the time, by :mod:`totals` (held
equal to the metric by tests); "end" totals are paid once, by the metric's own code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym import metrics
from prema_gym.envs.infos import Records
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.evaluation.play import energy_mj
from prema_gym.simulator.simulator import Simulator

FloatArray = NDArray[np.float64]
CustomTotal = Callable[[Simulator], FloatArray]
"""A user's term: the total of each copy by now, float64 (num_envs,), from the simulator's records.
It is called after every step, before copies that ended are reset."""

# Terms that are worked out by compiled code, as it numbers them; NOT_COMPILED: in Python.
ANTT, PRIORITY_ANTT, STP, SLA, SLA_CURVE = range(5)
NOT_COMPILED = -1


class Term(NamedTuple):
    """One named reward term.

    Attributes:
        name: As in ``reward=`` and ``info["reward_terms"]``.
        metric: The metric it adds up to (a name in ``prema_gym.metrics.METRICS``).
        sign: −1 where the metric is better when lower.
        when: "dense" or "end"; see the module.
        code: Number in the compiled code.
        unfinished: What it has paid for tasks that a truncated episode leaves unfinished.
    """

    name: str
    metric: str
    sign: int
    when: Literal["dense", "end"]
    code: int
    unfinished: str


TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        Term("antt", "antt", -1, "dense", ANTT, "their slowdown so far; divided by all tasks"),
        Term(
            "priority_antt",
            "priority_antt",
            -1,
            "dense",
            PRIORITY_ANTT,
            "their slowdown so far; divided by the priorities of all tasks",
        ),
        Term("stp", "stp", 1, "dense", STP, "nothing, as the metric"),
        Term("sla", "deadline_miss", -1, "dense", SLA, "a miss if the deadline has passed"),
        Term(
            "sla_curve", "sla_violation", -1, "dense", SLA_CURVE, "the targets passed by their age"
        ),
        Term("fairness", "fairness", 1, "end", NOT_COMPILED, "fairness 0, as the metric"),
        Term("tail", "p95_ntt_high", -1, "end", NOT_COMPILED, "their slowdown so far"),
        Term("energy", "energy_mj", -1, "dense", NOT_COMPILED, "the energy spent, as the metric"),
    )
}

BALANCED: dict[str, float] = {"antt": 1 / 8, "stp": 1 / 8, "fairness": 1.0, "sla_curve": 1.0}
"""The paper's four goals at about equal weight: fairness and SLA lie in [0, 1]; ANTT and STP are
divided by the paper's eight tasks (STP is at most 8; eight tasks that share the NPU equally have an
ANTT of about 8)."""

CUSTOM = "custom"
"""Name of a user's term in ``info["reward_terms"]``."""


def reward_names() -> tuple[str, ...]:
    """What ``reward=`` takes by name."""
    return (*TERMS, "balanced")


@dataclass(frozen=True, kw_only=True)
class Reward:
    """A weighted sum of terms.

    Attributes:
        weights: Weight of each named term, in the order in which they are added up; a term of
            weight 0 is reported and not paid.
        custom: A user's own total in place of named terms.
    """

    weights: Mapping[str, float]
    custom: CustomTotal | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The terms, as in ``info["reward_terms"]``."""
        return (CUSTOM,) if self.custom is not None else tuple(self.weights)


def resolve_reward(reward: str | Mapping[str, float] | CustomTotal | Reward) -> Reward:
    """Turn what ``reward=`` was given into a weighted sum of terms.

    Args:
        reward: A name, weights by name, or a user's own total.

    Raises:
        UnknownNameError: A name that is no term.
        ConfigError: No term, a weight that is not a finite number, or nothing but weights of 0.
    """
    if isinstance(reward, Reward):
        return reward
    if isinstance(reward, str):
        if reward not in reward_names():
            raise UnknownNameError("reward", reward, reward_names())
        return Reward(weights=dict(BALANCED) if reward == "balanced" else {reward: 1.0})
    if callable(reward):
        return Reward(weights={CUSTOM: 1.0}, custom=reward)
    if not isinstance(reward, Mapping) or not reward:
        raise ConfigError(
            f"reward must be a name, weights by name or a function, got {reward!r} "
            f"(names: {', '.join(reward_names())})"
        )
    for name, weight in reward.items():
        if name not in TERMS:
            raise UnknownNameError("reward term", str(name), TERMS)
        number = real_number(weight)
        if number is None or not math.isfinite(number):
            raise ConfigError(
                f"the weight of reward term {name!r} must be a finite number, got {weight!r}"
            )
    if not any(reward.values()):
        raise ConfigError(
            f"one reward term at least must have another weight than 0, got {reward!r}"
        )
    return Reward(weights={name: float(weight) for name, weight in reward.items()})


def real_number(value: object) -> float | None:
    """Return a number of Python's or NumPy's as a float; None for anything else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    try:
        return None if isinstance(value, np.complexfloating) else float(value)
    except OverflowError:
        return None


def energy_total(simulator: Simulator) -> FloatArray:
    """Minus the energy each copy has taken so far: float64 (B,) [mJ]."""
    return -energy_mj(simulator)


def fairness_total(ended: Records) -> FloatArray:
    """Fairness of episodes that ended: float64 (K,); 0 where some task is unfinished."""
    ntt = metrics.ntt(
        ended.tasks["arrival_cycles"],
        ended.tasks["completion_cycles"],
        ended.tasks["isolated_cycles"],
        ended.task_present,
    )
    # Where no task finished the metric is undefined; nothing was done fairly.
    return np.nan_to_num(metrics.fairness(ntt, ended.tasks["priority"]), nan=0.0)


def tail_total(ended: Records) -> FloatArray:
    """Minus the 95th percentile of NTT of highest-priority tasks: float64 (K,).

    0 where a workload has no task of the scenario's highest priority: no action could change it.
    """
    tasks = ended.tasks
    now = ended.env["now_cycles"][:, None]
    completion = tasks["completion_cycles"]
    arrived = ended.task_present & (tasks["arrival_cycles"] <= now)
    ntt = metrics.ntt(
        tasks["arrival_cycles"],
        np.where(completion == metrics.UNFINISHED, now, completion),
        tasks["isolated_cycles"],
        arrived & (tasks["priority"] == max(ended.catalog.scenario.priorities)),
    )
    return -np.nan_to_num(metrics.percentile(ntt, 95.0), nan=0.0)


MOVING_TOTALS: dict[str, CustomTotal] = {"energy": energy_total}
END_TOTALS: dict[str, Callable[[Records], FloatArray]] = {
    "fairness": fairness_total,
    "tail": tail_total,
}
