"""What is an action worth? The table of reward terms, each of which adds up to a reported metric.

A term is a *total*: what an episode has earned by now, larger is better, 0 before it starts. The
reward of a step is the weighted rise of the totals since the step before, so the rewards of an
episode add up to its totals, and a total at the end is the metric that :mod:`prema_gym.metrics`
reports (with a minus where lower is better). What happens before the first decision is part of
the first step.

To add a term: a line in :data:`TERMS`, and the function it names. ``AtEnd`` and ``Moving`` take any
function of arrays; ``Compiled`` names a branch of :func:`totals.draw_lines`, for totals that are
straight lines between events, at a small part of a step's cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prema_gym import metrics
from prema_gym.envs.ended import EndedEpisodes
from prema_gym.envs.rewards.totals import ANTT, PRIORITY_ANTT, SLA, SLA_CURVE, STP
from prema_gym.evaluation.outcomes import energy_mj
from prema_gym.simulator import Simulator

FloatArray = NDArray[np.float64]
RewardFunction = Callable[[Simulator], FloatArray]
"""The total of each sub-environment by now, float64 (num_envs,), from the simulator's arrays
(``docs/rewards.md``). Called after every step, before those that ended are reset."""


@dataclass(frozen=True)
class Compiled:
    """The total moves all the time, worked out by compiled code (number ``code`` there)."""

    code: int


@dataclass(frozen=True)
class Moving:
    """The total moves all the time, worked out by a function of the simulator."""

    total: RewardFunction


@dataclass(frozen=True)
class AtEnd:
    """The total is paid in an episode's last step: float64 (K,) of K episodes that ended."""

    total: Callable[[EndedEpisodes], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Term:
    """One reward term.

    Attributes:
        name: As in ``reward=`` and ``info["reward_terms"]``.
        unit: Of its total; "1" for a ratio.
        metric: The metric it adds up to (a name in ``prema_gym.metrics.METRICS``).
        sign: −1 where the metric is better when lower.
        total: What an episode's rewards add up to.
        unfinished: What a task counts that a truncated episode leaves unfinished.
        how: Who works it out, and when it is paid.
    """

    name: str
    unit: str
    metric: str
    sign: Literal[-1, 1]
    total: str
    unfinished: str
    how: Compiled | Moving | AtEnd

    @property
    def paid(self) -> str:
        """When: "dense", as time passes, or "end", in the last step."""
        return "end" if isinstance(self.how, AtEnd) else "dense"


def energy_total(simulator: Simulator) -> FloatArray:
    """Minus the energy each sub-environment has taken so far: float64 (B,) [mJ]."""
    return -energy_mj(simulator)


def fairness_total(ended: EndedEpisodes) -> FloatArray:
    """Fairness of episodes that ended: float64 (K,); 0 where some task is unfinished."""
    ntt = metrics.ntt(
        ended.tasks["arrival_cycles"],
        ended.tasks["completion_cycles"],
        ended.tasks["isolated_cycles"],
        ended.task_present,
    )
    # Where no task finished the metric is undefined; nothing was done fairly.
    return np.nan_to_num(metrics.fairness(ntt, ended.tasks["priority"]), nan=0.0)


def tail_total(ended: EndedEpisodes) -> FloatArray:
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


TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        Term(
            name="antt",
            unit="1",
            metric="antt",
            sign=-1,
            total="−mean NTT (−ANTT)",
            unfinished="its slowdown so far; divided by all tasks",
            how=Compiled(ANTT),
        ),
        Term(
            name="priority_antt",
            unit="1",
            metric="priority_antt",
            sign=-1,
            total="−Σ π·NTT / Σ π",
            unfinished="its slowdown so far; divided by all priorities",
            how=Compiled(PRIORITY_ANTT),
        ),
        Term(
            name="stp",
            unit="1",
            metric="stp",
            sign=1,
            total="Σ 1/NTT",
            unfinished="0",
            how=Compiled(STP),
        ),
        Term(
            name="sla",
            unit="1",
            metric="deadline_miss",
            sign=-1,
            total="−share of tasks past their deadline",
            unfinished="a miss if the deadline has passed",
            how=Compiled(SLA),
        ),
        Term(
            name="sla_curve",
            unit="1",
            metric="sla_violation",
            sign=-1,
            total="−share of tasks with NTT > n, mean over n = 2 … 20",
            unfinished="the targets passed",
            how=Compiled(SLA_CURVE),
        ),
        Term(
            name="fairness",
            unit="1",
            metric="fairness",
            sign=1,
            total="min PP / max PP, PP = (1/NTT) / (π/Σ π)",
            unfinished="fairness 0",
            how=AtEnd(fairness_total),
        ),
        Term(
            name="tail",
            unit="1",
            metric="p95_ntt_high",
            sign=-1,
            total="−95th percentile of NTT of highest-priority tasks (0 if none)",
            unfinished="slowdown so far",
            how=AtEnd(tail_total),
        ),
        Term(
            name="energy",
            unit="mJ",
            metric="energy_mj",
            sign=-1,
            total="−energy [mJ]",
            unfinished="the energy spent",
            how=Moving(energy_total),
        ),
    )
}
