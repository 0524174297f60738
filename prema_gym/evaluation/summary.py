"""What is reported of each policy? Means, intervals, and ratios to the one compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from prema_gym.evaluation.bootstrap import Bootstrap
from prema_gym.evaluation.intervals import (
    LEAST_WORKLOADS,
    POSITIVE,
    Ends,
    Scale,
    enough_beyond,
    mean_ends,
    percentile_ends,
    ratio_ends,
)
from prema_gym.evaluation.results import Mark, MetricValue, PolicyResult
from prema_gym.evaluation.settings import EvaluationSettings
from prema_gym.files import as_given
from prema_gym.metrics import (
    METRICS,
    SLA_TARGETS,
    Better,
    FloatArray,
    Outcomes,
    mean_of_known,
    sla_curve,
    times_better,
    values_of,
)
from prema_gym.metrics.groups import Groups, groups_of

_CURVE: Better = "lower"  # each point of the SLA curve
_DIRECTIONS = (*(metric.better for metric in METRICS), *(_CURVE for _ in SLA_TARGETS))


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
    networks = [as_given(name) for name in settings.scenario.networks]
    return {
        name: _result(
            own,
            base,
            bootstrap,
            settings.mechanisms[name],
            settings.per_workload,
            groups_of(own.outcomes, networks, settings.scenario.priorities),
        )
        for name, own in measured.items()
    }


class _Measured:
    """Every metric and every point of the SLA curve of one policy, as columns of arrays.

    Attributes:
        outcomes: What they are computed from.
        values: float64 (W, K), each workload.
        point: float64 (K,), what is reported.
        scale: Where each can lie.
        ends: Ends of the interval of each.
        draws: By column of a percentile: what it is in every resample, float64 (resamples,).
        marks: What a reader must know of each.
    """

    def __init__(self, outcomes: Outcomes, bootstrap: Bootstrap) -> None:
        self.outcomes = outcomes
        curve = sla_curve(outcomes.ntt_so_far).T
        self.values = np.stack([*values_of(outcomes).values(), *curve], axis=-1)
        self.point = np.array([*(m.reported(outcomes) for m in METRICS), *mean_of_known(curve)])
        shares = np.ones(len(curve))
        self.scale = Scale(
            np.array([*(metric.least for metric in METRICS), *(0.0 * shares)]),
            np.array([*(metric.most(outcomes) for metric in METRICS), *shares]),
        )
        self.ends = mean_ends(self.values, self.scale, bootstrap)
        few: Mark = "few workloads" if bootstrap.workloads < LEAST_WORKLOADS else ""
        self.marks = ["unfinished" if self.unfinished else few] * len(self.point)
        self.draws: dict[int, FloatArray] = {}
        for column, metric in enumerate(METRICS):
            if metric.pool is not None:
                self._read_percentile(column, metric.pool(outcomes), metric.percent, bootstrap)

    def _read_percentile(
        self, column: int, pool: FloatArray, percent: float, bootstrap: Bootstrap
    ) -> None:
        self.draws[column] = bootstrap.percentiles(pool, percent)
        scale = Scale(self.scale.least[column], self.scale.most[column])
        point = float(self.point[column])
        ends = percentile_ends(point, self.draws[column], scale, bootstrap.workloads)
        if not enough_beyond(int((~np.isnan(pool)).sum()), percent):
            ends = (np.full((), math.nan), np.full((), math.nan))
            if not self.unfinished:
                self.marks[column] = "few tasks"
        for all_ends, end in zip(self.ends, ends, strict=True):
            all_ends[column] = end

    @property
    def unfinished(self) -> int:
        """Tasks that never finished."""
        return int(self.outcomes.unfinished.sum())


def _result(
    own: _Measured,
    base: _Measured,
    bootstrap: Bootstrap,
    mechanisms: tuple[str, ...],
    per_workload: bool,
    groups: Groups,
) -> PolicyResult:
    found = _metric_values(own, base, bootstrap)
    named = dict(zip((metric.name for metric in METRICS), found, strict=False))
    columns = zip(named, own.values.T, strict=False)
    return PolicyResult(
        metrics=named,
        sla_curve=dict(zip(SLA_TARGETS, found[len(METRICS) :], strict=True)),
        mechanisms=mechanisms,
        tasks=int(own.outcomes.present.sum()),
        unfinished=own.unfinished,
        truncated=int(own.outcomes.truncated.sum()),
        groups=groups,
        per_workload={name: column.copy() for name, column in columns} if per_workload else {},
    )


def _metric_values(own: _Measured, base: _Measured, bootstrap: Bootstrap) -> list[MetricValue]:
    """Every column with its interval and its ratio to ``base``.

    Where tasks are left unfinished a figure stands for the survivors: it is compared with nothing.
    """
    ratios = [times_better(base.point[k], own.point[k], b) for k, b in enumerate(_DIRECTIONS)]
    ends, ratio_ends_ = own.ends, _ratio_ends(own, base, bootstrap)
    nothing = np.full(len(ratios), math.nan)
    if own.unfinished:
        ends = (nothing, nothing)
    if own.unfinished or base.unfinished:
        ratios, ratio_ends_ = [*nothing], (nothing, nothing)
    return [
        MetricValue(
            mean=float(own.point[k]),
            ci95=(float(ends[0][k]), float(ends[1][k])),
            ratio=float(ratios[k]),
            ratio_ci95=(float(ratio_ends_[0][k]), float(ratio_ends_[1][k])),
            mark=mark,
        )
        for k, mark in enumerate(own.marks)
    ]


def _ratio_ends(own: _Measured, base: _Measured, bootstrap: Bootstrap) -> Ends:
    """Ends of the interval of every ratio; NaN for a metric without a direction."""
    lower = np.array([better == "lower" for better in _DIRECTIONS])
    top = np.where(lower, base.values, own.values)
    bottom = np.where(lower, own.values, base.values)
    low, high = ratio_ends(top, bottom, bootstrap)
    for k, draws in own.draws.items():
        better = _DIRECTIONS[k]
        low[k], high[k] = percentile_ends(
            float(times_better(base.point[k], own.point[k], better)),
            times_better(base.draws[k], draws, better),
            POSITIVE,
            bootstrap.workloads,
        )
    unknown = np.array(
        [
            better is None or "few tasks" in (mine, theirs)
            for better, mine, theirs in zip(_DIRECTIONS, own.marks, base.marks, strict=True)
        ]
    )
    return np.where(unknown, math.nan, low), np.where(unknown, math.nan, high)
