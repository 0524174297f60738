"""What is reported, under which name? :data:`METRICS`, the one list.

It drives the columns of every report, the JSON keys, the ratios and the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from prema_gym.metrics.formulas import (
    Better,
    FloatArray,
    IntArray,
    antt,
    fairness,
    mean_of_finished,
    mean_of_known,
    percentile,
    priority_antt,
    sla_violation,
    stp,
    times_better,
)
from prema_gym.metrics.outcomes import Outcomes
from prema_gym.simulator.mechanisms import Mechanism


def _unlimited(outcomes: Outcomes) -> float:
    return math.inf


def _one(outcomes: Outcomes) -> float:
    """The largest share."""
    return 1.0


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One reported quantity.

    Attributes:
        name: Key in every report.
        title: Column heading.
        unit: Unit, empty for a pure number.
        better: Which direction is better; None for a plain description, which has no ratio.
        formula: Definition in one line.
        source: Where the definition comes from.
        values: The value of each workload, float64 (W,).
        pool: If given, what is reported is not the mean over workloads but the percentile
            :attr:`percent` of these task values, float64 (W, N), taken over all workloads together.
        percent: Percentile of ``pool``, in [0, 100].
        least: Smallest possible value: no interval reaches below.
        most: Largest possible mean over the workloads: no interval reaches above.
        table: Which printed table shows it: the main one with intervals and ratios, the one of
            latencies, the one of details, or none (JSON and CSV hold every metric).
    """

    name: str
    title: str
    better: Better
    formula: str
    source: str
    values: Callable[[Outcomes], FloatArray]
    unit: str = ""
    least: float = 0.0
    most: Callable[[Outcomes], float] = _unlimited
    pool: Callable[[Outcomes], FloatArray] | None = None
    percent: float = 50.0
    table: Literal["main", "latency", "detail"] | None = None

    def reported(self, outcomes: Outcomes) -> float:
        """The one value that stands for all workloads: their mean, or the percentile of the pool.

        Workloads without a value (NaN) do not take part; NaN if none has one.
        """
        if self.pool is None:
            return float(mean_of_known(self.values(outcomes)))
        return float(percentile(self.pool(outcomes).reshape(-1), self.percent))

    def times_better(self, base: ArrayLike, value: ArrayLike) -> FloatArray:
        """How many times better ``value`` is than ``base``; see :func:`times_better`."""
        return times_better(np.asarray(base), np.asarray(value), self.better)


def _float(values: IntArray) -> FloatArray:
    return values.astype(np.float64)


_POOLED = (
    "; reported over the tasks of all workloads together, because the percentile of a handful of "
    "tasks is little more than their maximum"
)


def _preemptions(mechanism: Mechanism) -> Metric:
    """How often tasks were preempted by one mechanism."""
    return Metric(
        name=mechanism.counter,
        title=mechanism.heading,
        table="detail",
        unit="per workload",
        better=None,
        formula=f"preemptions by {mechanism.name}",
        source="fidelity.md, Preemption",
        values=lambda o: _float(o.preemptions[:, mechanism]),
    )


METRICS: tuple[Metric, ...] = (
    Metric(
        name="antt",
        least=1.0,
        title="ANTT",
        table="main",
        better="lower",
        formula="mean of NTT = turnaround / isolated time, over finished tasks",
        source="fidelity.md, Metrics",
        values=lambda o: antt(o.ntt),
    ),
    Metric(
        name="stp",
        title="STP",
        table="main",
        better="higher",
        formula="Σ 1/NTT, at most the number of tasks",
        most=lambda o: float(o.num_tasks.mean()),
        source="fidelity.md, Metrics",
        values=lambda o: stp(o.ntt),
    ),
    Metric(
        name="fairness",
        title="fairness",
        table="main",
        better="higher",
        formula="min PP / max PP, PP_i = (1/NTT_i) / (π_i / Σπ)",
        most=_one,
        source="fidelity.md, Metrics",
        values=lambda o: fairness(o.ntt, o.priority),
    ),
    Metric(
        name="sla_violation",
        title="SLA viol.",
        table="main",
        better="lower",
        formula="share of tasks with NTT > n, mean over n = 2 … 20",
        source="fidelity.md, Metrics",
        most=_one,
        values=lambda o: sla_violation(o.ntt_so_far),
    ),
    Metric(
        name="p95_ntt_high",
        least=1.0,
        title="p95 high",
        table="main",
        better="lower",
        formula="95th percentile of NTT of highest-priority tasks" + _POOLED,
        source="fidelity.md, Metrics",
        values=lambda o: percentile(o.ntt_high, 95.0),
        pool=lambda o: o.ntt_high,
        percent=95.0,
    ),
    Metric(
        name="p95_ntt",
        least=1.0,
        title="p95",
        table="latency",
        better="lower",
        formula="95th percentile of NTT" + _POOLED,
        source="ours, because a mean hides the tail",
        values=lambda o: percentile(o.ntt, 95.0),
        pool=lambda o: o.ntt,
        percent=95.0,
    ),
    Metric(
        name="p99_ntt",
        least=1.0,
        title="p99",
        table="latency",
        better="lower",
        formula="99th percentile of NTT" + _POOLED,
        source="ours, because a mean hides the tail",
        values=lambda o: percentile(o.ntt, 99.0),
        pool=lambda o: o.ntt,
        percent=99.0,
    ),
    Metric(
        name="latency_ms",
        title="latency",
        unit="ms",
        table="latency",
        better="lower",
        formula="mean turnaround, from arrival to completion, over finished tasks",
        source="ours, because an engineer asks for times",
        values=lambda o: mean_of_finished(o.latency_ms),
    ),
    Metric(
        name="p95_latency_ms",
        title="p95 latency",
        unit="ms",
        table="latency",
        better="lower",
        formula="95th percentile of turnaround" + _POOLED,
        source="ours, because an engineer asks for times",
        values=lambda o: percentile(o.latency_ms, 95.0),
        pool=lambda o: o.latency_ms,
        percent=95.0,
    ),
    Metric(
        name="p99_latency_ms",
        title="p99 latency",
        unit="ms",
        table="latency",
        better="lower",
        formula="99th percentile of turnaround" + _POOLED,
        source="ours, because an engineer asks for times",
        values=lambda o: percentile(o.latency_ms, 99.0),
        pool=lambda o: o.latency_ms,
        percent=99.0,
    ),
    Metric(
        name="priority_antt",
        least=1.0,
        title="π-ANTT",
        better="lower",
        formula="Σ π·NTT / Σ π, over finished tasks",
        source="ours, because ANTT ignores priority",
        values=lambda o: priority_antt(o.ntt, o.priority),
    ),
    Metric(
        name="deadline_miss",
        title="missed",
        table="latency",
        better="lower",
        formula="share of tasks whose deadline passed before they finished, of those that arrived",
        source="textbook",
        most=_one,
        values=lambda o: o.missed,
    ),
    Metric(
        name="makespan_ms",
        title="makespan",
        unit="ms",
        better="lower",
        formula="time from 0 to the last completion (to the cut, if the run was cut off)",
        source="textbook",
        values=lambda o: o.elapsed_cycles / o.cycles_per_ms,
    ),
    Metric(
        name="utilisation",
        most=_one,
        title="util.",
        table="detail",
        better="higher",
        formula="useful run time / makespan; killed work is not useful",
        source="textbook",
        values=lambda o: o.share(o.busy_cycles - o.killed_cycles),
    ),
    Metric(
        name="overhead",
        most=_one,
        title="overhead",
        table="detail",
        better="lower",
        formula="time spent saving and restoring contexts / makespan",
        source="textbook",
        values=lambda o: o.share(o.switching_cycles),
    ),
    Metric(
        name="killed",
        most=_one,
        title="killed",
        better="lower",
        formula="work thrown away by KILL / makespan",
        source="textbook",
        values=lambda o: o.share(o.killed_cycles),
    ),
    Metric(
        name="energy_mj",
        title="energy",
        table="detail",
        unit="mJ",
        better="lower",
        formula="work (killed work included) + switches + static power × makespan",
        source="docs/fidelity.md, per-operation energies",
        values=lambda o: o.energy_mj,
    ),
    *map(_preemptions, Mechanism),
    Metric(
        name="host_moves",
        title="host moves",
        unit="per workload",
        better="lower",
        formula="contexts saved in host memory because NPU memory was full",
        source="fidelity.md, Preemption",
        values=lambda o: _float(o.host_moves),
    ),
    Metric(
        name="decisions",
        title="decisions",
        unit="per workload",
        better=None,
        formula="times the policy had a choice and was asked",
        source="docs/simulator.md",
        values=lambda o: _float(o.decisions),
    ),
    Metric(
        name="illegal_actions",
        title="illegal",
        unit="per workload",
        better="lower",
        formula="answers of the policy that the mask did not allow",
        source="docs/simulator.md",
        values=lambda o: _float(o.illegal_actions),
    ),
    Metric(
        name="unfinished",
        title="unfinished",
        unit="per workload",
        better="lower",
        formula="tasks that never finished (the run was cut off)",
        source="ours, because means over finished tasks need it beside them",
        values=lambda o: _float(o.unfinished),
    ),
)


def values_of(outcomes: Outcomes) -> dict[str, FloatArray]:
    """Every metric of every workload: name → float64 (W,), in the order of :data:`METRICS`."""
    return {metric.name: metric.values(outcomes) for metric in METRICS}
