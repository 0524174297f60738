"""What is reported of each policy? Means, intervals, and ratios to the one compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from prema_gym.evaluation.bootstrap import Bootstrap, interval
from prema_gym.evaluation.results import MetricValue, PolicyResult
from prema_gym.evaluation.settings import EvaluationSettings
from prema_gym.metrics import (
    METRICS,
    SLA_TARGETS,
    Better,
    Outcomes,
    mean_of_known,
    sla_curve,
    times_better,
    values_of,
)
from prema_gym.metrics.groups import Groups, groups_of

_CURVE: Better = "lower"  # each point of the SLA curve
_DIRECTIONS = (*(metric.better for metric in METRICS), *(_CURVE for _ in SLA_TARGETS))
_NO_INTERVAL = (math.nan, math.nan)


def summarise(
    outcomes: Mapping[str, Outcomes], settings: EvaluationSettings
) -> dict[str, PolicyResult]:
    """Every policy's metrics with intervals, and ratios to ``settings.relative_to``.

    Args:
        outcomes: What became of the workloads, by policy.
        settings: The comparison.
    """
    bootstrap = Bootstrap(settings.num_workloads, resamples=settings.resamples, seed=settings.seed)
    measured = {name: _Measured(found, bootstrap) for name, found in outcomes.items()}
    base = measured[settings.relative_to]
    return {
        name: _result(
            own,
            base,
            settings.mechanisms[name],
            settings.per_workload,
            groups_of(own.outcomes, settings.scenario.networks, settings.scenario.priorities),
        )
        for name, own in measured.items()
    }


class _Measured:
    """Every metric and every point of the SLA curve of one policy, as columns of arrays.

    Attributes:
        outcomes: What they are computed from.
        values: float64 (W, K), each workload.
        point: float64 (K,), what is reported.
        draws: float64 (resamples, K), the same in every resample.
    """

    def __init__(self, outcomes: Outcomes, bootstrap: Bootstrap) -> None:
        self.outcomes = outcomes
        curve = sla_curve(outcomes.ntt).T
        self.values = np.stack([*values_of(outcomes).values(), *curve], axis=-1)
        self.point = np.array([*(m.reported(outcomes) for m in METRICS), *mean_of_known(curve)])
        self.draws = bootstrap.means(self.values)
        for column, metric in enumerate(METRICS):
            if metric.pool is not None:
                pool = metric.pool(outcomes)
                self.draws[:, column] = bootstrap.percentiles(pool, metric.percent)


def _result(
    own: _Measured,
    base: _Measured,
    mechanisms: tuple[str, ...],
    per_workload: bool,
    groups: Groups,
) -> PolicyResult:
    found = _metric_values(own, base)
    named = dict(zip((metric.name for metric in METRICS), found, strict=False))
    columns = zip(named, own.values.T, strict=False)
    return PolicyResult(
        metrics=named,
        sla_curve=dict(zip(SLA_TARGETS, found[len(METRICS) :], strict=True)),
        mechanisms=mechanisms,
        tasks=int(own.outcomes.present.sum()),
        unfinished=int(own.outcomes.unfinished.sum()),
        truncated=int(own.outcomes.truncated.sum()),
        groups=groups,
        per_workload={name: column.copy() for name, column in columns} if per_workload else {},
    )


def _metric_values(own: _Measured, base: _Measured) -> list[MetricValue]:
    """Every column with its interval and its ratio to ``base``."""
    low, high = interval(own.draws)
    known = len(own.values) > 1  # one workload says nothing about the spread between them
    found = []
    for k, better in enumerate(_DIRECTIONS):
        ratio = times_better(base.point[k], own.point[k], better)
        ends = interval(times_better(base.draws[:, k], own.draws[:, k], better))
        found.append(
            MetricValue(
                mean=float(own.point[k]),
                ci95=(float(low[k]), float(high[k])) if known else _NO_INTERVAL,
                ratio=float(ratio),
                ratio_ci95=(float(ends[0]), float(ends[1])) if known else _NO_INTERVAL,
            )
        )
    return found
