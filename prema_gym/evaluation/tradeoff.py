"""What fairness can be had at which ANTT, and how near do policies come?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prema_gym.bounds import Front, fronts, mean_front
from prema_gym.errors import ConfigError
from prema_gym.evaluation.results import Evaluation
from prema_gym.workloads.workload import WorkloadBatch


@dataclass(frozen=True, kw_only=True)
class Tradeoff:
    """Means over workloads.

    Attributes:
        front: What no work-conserving schedule has more of, tasks held back where that helps.
        plain: The same if tasks run in a fixed order of priority each: nobody is held back.
        points: (ANTT, fairness) of each policy.
    """

    front: Front
    plain: Front
    points: Mapping[str, tuple[float, float]]

    def fairness_at(self, antt: float, *, holding: bool = True) -> float:
        """The largest mean fairness at a mean ANTT of at most so much; NaN below the optimum."""
        front = self.front if holding else self.plain
        if antt < front.antt[0]:
            return float("nan")
        return float(np.interp(antt, front.antt, front.fairness))

    def antt_at(self, fairness: float, *, holding: bool = True) -> float:
        """The least mean ANTT at a mean fairness of at least so much; NaN beyond the bound."""
        front = self.front if holding else self.plain
        if fairness > front.fairness[-1]:
            return float("nan")
        return float(np.interp(fairness, front.fairness, front.antt))

    def nearest(self, antt: float) -> str | None:
        """The fairest policy with a mean ANTT of at most so much; None if there is none."""
        allowed = {name: fair for name, (own, fair) in self.points.items() if own <= antt}
        return max(allowed, key=allowed.__getitem__, default=None)


def tradeoff(result: Evaluation, batch: WorkloadBatch, *, threads: int | None = None) -> Tradeoff:
    """Set a comparison's policies beside the front of the workloads they played.

    Args:
        result: The comparison.
        batch: Its workloads, of at most ``bounds.MAX_FRONT_TASKS`` tasks each.
        threads: As for :func:`prema_gym.bounds.fronts`.

    Raises:
        ConfigError: A workload has too many tasks, or a policy left tasks unfinished.
    """
    for name, policy in result.policies.items():
        if policy.unfinished:
            raise ConfigError(f"policy {name!r} left {policy.unfinished} tasks unfinished")
    tasks = (batch.arrival_cycles, batch.isolated_cycles, batch.num_tasks, batch.priority)
    front, plain = (
        mean_front(fronts(*tasks, holding=holding, threads=threads)) for holding in (True, False)
    )
    points = {
        name: (policy.metrics["antt"].mean, policy.metrics["fairness"].mean)
        for name, policy in result.policies.items()
    }
    return Tradeoff(front=front, plain=plain, points=points)
