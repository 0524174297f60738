"""How good was a schedule? Every metric, by the same code for every policy.

The one intermediate is the table of normalised turnaround times ``ntt``: float64, tasks on the last
axis, NaN where there is no task (padding) and ∞ where a task never finished. All functions are pure
and work on any number of leading axes. Times are integer NPU cycles, or milliseconds where the name
says so.

Unfinished tasks must not flatter a policy: they violate every SLA target and every deadline, add
nothing to the throughput, hold fairness at 0 and sit at ∞ in the percentiles. Only a mean of NTT
cannot hold them: it is over the finished tasks, and the count of unfinished ones stands beside it.

:data:`METRICS` is the one list of what is reported: it drives the columns of every report, the JSON
keys, the ratios and the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

UNFINISHED = -1
"""Completion time of a task that never finished."""

SLA_TARGETS: tuple[int, ...] = tuple(range(2, 21))
"""NTT targets n of the SLA curve (fidelity.md, Metrics: n = 2 … 20)."""


def ntt(
    arrival_cycles: ArrayLike,
    completion_cycles: ArrayLike,
    isolated_cycles: ArrayLike,
    present: ArrayLike | None = None,
) -> FloatArray:
    """Normalised turnaround time: (completion − arrival) / isolated time.

    Args:
        arrival_cycles: int64 (…, N) [cycles].
        completion_cycles: int64 (…, N) [cycles]; :data:`UNFINISHED` where the task never finished.
        isolated_cycles: int64 (…, N) [cycles, > 0 where a task is present], time when run alone.
        present: bool (…, N), False on padding; all present by default.

    Returns:
        float64 (…, N), at least 1 for a finished task, ∞ for an unfinished one, NaN on padding.

    Source:
        fidelity.md, Metrics (turnaround/isolated time); Eyerman & Eeckhout, IEEE Micro 28(3), 2008.
    """
    arrival = np.asarray(arrival_cycles, dtype=np.int64)
    completion = np.asarray(completion_cycles, dtype=np.int64)
    isolated = np.asarray(isolated_cycles, dtype=np.int64)
    here = np.ones(arrival.shape, dtype=bool) if present is None else np.asarray(present, bool)
    # Padding may hold any number, also 0: divide by 1 there, the result is overwritten.
    slowdown = (completion - arrival) / np.where(here, isolated, 1)
    slowdown = np.where(completion == UNFINISHED, np.inf, slowdown)
    return np.where(here, slowdown, np.nan)


def _mean(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean over the last axis, NaN where all weight is 0; ``values`` must be finite."""
    total = weight.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((values * weight).sum(axis=-1) / total, dtype=np.float64)


def antt(ntt: FloatArray) -> FloatArray:
    """Average NTT of the finished tasks: float64 (…,), NaN where none finished. Lower is better.

    Source: fidelity.md, Metrics.
    """
    finished = np.isfinite(ntt)
    return _mean(np.where(finished, ntt, 0.0), finished.astype(np.float64))


def priority_antt(ntt: FloatArray, priority: ArrayLike) -> FloatArray:
    """Σ π·NTT / Σ π over the finished tasks: float64 (…,), NaN where none finished.

    Source: ours, because ANTT gives a high-priority task no more say than a low one.
    """
    finished = np.isfinite(ntt)
    weight = np.where(finished, np.asarray(priority, dtype=np.float64), 0.0)
    return _mean(np.where(finished, ntt, 0.0), weight)


def stp(ntt: FloatArray) -> FloatArray:
    """System throughput Σ 1/NTT: float64 (…,), at most the number of tasks. Higher is better.

    An unfinished task adds 0. Source: fidelity.md, Metrics.
    """
    return np.asarray(np.nansum(1.0 / ntt, axis=-1), dtype=np.float64)


def fairness(ntt: FloatArray, priority: ArrayLike) -> FloatArray:
    """Fairness min PP / max PP, with PP_i = (1/NTT_i) / (π_i / Σπ): float64 (…,), in [0, 1].

    1 means that every task progressed in proportion to its priority. 0 where some task never
    finished, NaN where none did. Source: fidelity.md, Metrics.
    """
    weight = np.asarray(priority, dtype=np.float64)
    here = ~np.isnan(ntt)
    share = weight / np.where(here, weight, 0.0).sum(axis=-1, keepdims=True)
    # On padding the priority may be 0; those entries are overwritten.
    with np.errstate(invalid="ignore", divide="ignore"):
        progress = (1.0 / ntt) / share
        least = np.where(here, progress, np.inf).min(axis=-1)
        most = np.where(here, progress, -np.inf).max(axis=-1)
        return np.asarray(least / most, dtype=np.float64)


def sla_curve(ntt: FloatArray, targets: ArrayLike = SLA_TARGETS) -> FloatArray:
    """Share of tasks whose NTT exceeds each target: float64 (…, targets). Lower is better.

    Unfinished tasks violate every target. Source: fidelity.md, Metrics.
    """
    goals = np.asarray(targets, dtype=np.float64)
    here = (~np.isnan(ntt)).sum(axis=-1)[..., None]
    # NaN > n is False, so padding never counts.
    violations = (ntt[..., None, :] > goals[:, None]).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(violations / here, dtype=np.float64)


def sla_violation(ntt: FloatArray) -> FloatArray:
    """Mean of the SLA curve over n = 2 … 20: float64 (…,). Lower is better. Source: fidelity.md."""
    return np.asarray(sla_curve(ntt).mean(axis=-1), dtype=np.float64)


def percentile(ntt: FloatArray, percent: float) -> FloatArray:
    """Percentile of the present tasks: float64 (…,), NaN where there is none, ∞ if it falls there.

    Method: linear interpolation between order statistics at rank (n − 1)·percent/100 from 0 (type 7
    of Hyndman & Fan, NumPy's default), with ∞ allowed as a value.

    Args:
        ntt: float64 (…, N); NaN marks what does not take part.
        percent: In [0, 100].
    """
    ordered = np.sort(ntt, axis=-1)  # NaN goes last, ∞ just before
    count = (~np.isnan(ntt)).sum(axis=-1)
    rank = np.maximum(count - 1, 0) * (percent / 100.0)
    low = np.floor(rank).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    take = np.take_along_axis
    below = take(ordered, low[..., None], axis=-1)[..., 0]
    above = take(ordered, high[..., None], axis=-1)[..., 0]
    return interpolate(below, above, rank - low)


def interpolate(below: FloatArray, above: FloatArray, fraction: FloatArray) -> FloatArray:
    """``below + fraction·(above − below)`` elementwise, where either end may be ∞."""
    with np.errstate(invalid="ignore"):
        between = below + fraction * (above - below)
    return np.where((fraction == 0.0) | (below == above), below, between)


def missed_deadlines(
    completion_cycles: ArrayLike, deadline_cycles: ArrayLike, present: ArrayLike
) -> IntArray:
    """Number of tasks that finished after their deadline or never: int64 (…,).

    Args:
        completion_cycles: int64 (…, N) [cycles]; :data:`UNFINISHED` where the task never finished.
        deadline_cycles: int64 (…, N) [cycles].
        present: bool (…, N), False on padding.
    """
    completion = np.asarray(completion_cycles, dtype=np.int64)
    late = (completion > np.asarray(deadline_cycles)) | (completion == UNFINISHED)
    return np.asarray((late & np.asarray(present, bool)).sum(axis=-1), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What became of W workloads of at most N tasks under one policy.

    Attributes:
        arrival_cycles: int64 (W, N).
        completion_cycles: int64 (W, N), :data:`UNFINISHED` where the task never finished.
        isolated_cycles: int64 (W, N).
        priority: int64 (W, N), the weight π.
        deadline_cycles: int64 (W, N).
        present: bool (W, N), False on padding.
        busy_cycles: int64 (W,), time spent running tasks, work later killed included.
        killed_cycles: int64 (W,), work thrown away by KILL.
        switching_cycles: int64 (W,), time spent saving and restoring contexts.
        idle_cycles: int64 (W,), time with no task in the system, also before the first arrival.
        checkpoints: int64 (W,), preemptions by CHECKPOINT.
        kills: int64 (W,), preemptions by KILL.
        drains: int64 (W,), preemptions by DRAIN.
        host_moves: int64 (W,), contexts that had to be saved in host memory.
        decisions: int64 (W,), times the policy was asked.
        illegal_actions: int64 (W,), answers that were not allowed.
        truncated: bool (W,), the run was cut off by its decision limit.
        energy_mj: float64 (W,), energy of the run [mJ].
        high_priority: The highest priority weight the scenario knows.
        cycles_per_ms: Clock cycles in a millisecond.
    """

    arrival_cycles: IntArray
    completion_cycles: IntArray
    isolated_cycles: IntArray
    priority: IntArray
    deadline_cycles: IntArray
    present: BoolArray
    busy_cycles: IntArray
    killed_cycles: IntArray
    switching_cycles: IntArray
    idle_cycles: IntArray
    checkpoints: IntArray
    kills: IntArray
    drains: IntArray
    host_moves: IntArray
    decisions: IntArray
    illegal_actions: IntArray
    truncated: BoolArray
    energy_mj: FloatArray
    high_priority: int
    cycles_per_ms: float

    @cached_property
    def ntt(self) -> FloatArray:
        """Normalised turnaround times, float64 (W, N); see :func:`ntt`."""
        return ntt(self.arrival_cycles, self.completion_cycles, self.isolated_cycles, self.present)

    @property
    def ntt_high(self) -> FloatArray:
        """NTT of the tasks of the highest priority, NaN elsewhere: float64 (W, N)."""
        return np.where(self.priority == self.high_priority, self.ntt, np.nan)

    @property
    def num_tasks(self) -> IntArray:
        """Tasks in each workload, int64 (W,)."""
        return np.asarray(self.present.sum(axis=-1), dtype=np.int64)

    @property
    def unfinished(self) -> IntArray:
        """Tasks that never finished, int64 (W,)."""
        missing = self.present & (self.completion_cycles == UNFINISHED)
        return np.asarray(missing.sum(axis=-1), dtype=np.int64)

    @property
    def elapsed_cycles(self) -> IntArray:
        """Busy + switching + idle, int64 (W,): the makespan of a run that finished."""
        return self.busy_cycles + self.switching_cycles + self.idle_cycles

    def share(self, cycles: IntArray) -> FloatArray:
        """``cycles`` as a share of the elapsed time, float64 (W,); NaN where no time passed."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(cycles / self.elapsed_cycles, dtype=np.float64)

    @staticmethod
    def concatenate(parts: list[Outcomes]) -> Outcomes:
        """Join outcomes of the same scenario along the workload axis."""
        first = parts[0]
        joined = {
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(Outcomes)
            if isinstance(getattr(first, f.name), np.ndarray)
        }
        return Outcomes(
            **joined, high_priority=first.high_priority, cycles_per_ms=first.cycles_per_ms
        )


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
        table: Which printed table shows it: the main one with intervals and ratios, the one of
            details, or none (JSON and CSV hold every metric).
    """

    name: str
    title: str
    better: Literal["lower", "higher"] | None
    formula: str
    source: str
    values: Callable[[Outcomes], FloatArray]
    unit: str = ""
    pool: Callable[[Outcomes], FloatArray] | None = None
    percent: float = 50.0
    table: Literal["main", "detail"] | None = None


def _float(values: IntArray) -> FloatArray:
    return values.astype(np.float64)


_POOLED = (
    "; reported over the tasks of all workloads together, because the percentile of a handful of "
    "tasks is little more than their maximum"
)

METRICS: tuple[Metric, ...] = (
    Metric(
        name="antt",
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
        source="fidelity.md, Metrics",
        values=lambda o: stp(o.ntt),
    ),
    Metric(
        name="fairness",
        title="fairness",
        table="main",
        better="higher",
        formula="min PP / max PP, PP_i = (1/NTT_i) / (π_i / Σπ)",
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
        values=lambda o: sla_violation(o.ntt),
    ),
    Metric(
        name="p95_ntt_high",
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
        title="p95",
        table="detail",
        better="lower",
        formula="95th percentile of NTT" + _POOLED,
        source="ours, because a mean hides the tail",
        values=lambda o: percentile(o.ntt, 95.0),
        pool=lambda o: o.ntt,
        percent=95.0,
    ),
    Metric(
        name="p99_ntt",
        title="p99",
        table="detail",
        better="lower",
        formula="99th percentile of NTT" + _POOLED,
        source="ours, because a mean hides the tail",
        values=lambda o: percentile(o.ntt, 99.0),
        pool=lambda o: o.ntt,
        percent=99.0,
    ),
    Metric(
        name="priority_antt",
        title="π-ANTT",
        better="lower",
        formula="Σ π·NTT / Σ π, over finished tasks",
        source="ours, because ANTT ignores priority",
        values=lambda o: priority_antt(o.ntt, o.priority),
    ),
    Metric(
        name="deadline_miss",
        title="missed",
        better="lower",
        formula="share of tasks that finish after their deadline, or never",
        source="textbook",
        values=lambda o: (
            missed_deadlines(o.completion_cycles, o.deadline_cycles, o.present) / o.num_tasks
        ),
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
        title="util.",
        table="detail",
        better="higher",
        formula="useful run time / makespan; killed work is not useful",
        source="textbook",
        values=lambda o: o.share(o.busy_cycles - o.killed_cycles),
    ),
    Metric(
        name="overhead",
        title="overhead",
        table="detail",
        better="lower",
        formula="time spent saving and restoring contexts / makespan",
        source="textbook",
        values=lambda o: o.share(o.switching_cycles),
    ),
    Metric(
        name="killed",
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
    Metric(
        name="checkpoints",
        title="ckpts",
        table="detail",
        unit="per workload",
        better=None,
        formula="preemptions by CHECKPOINT",
        source="fidelity.md, Preemption",
        values=lambda o: _float(o.checkpoints),
    ),
    Metric(
        name="kills",
        title="kills",
        table="detail",
        unit="per workload",
        better=None,
        formula="preemptions by KILL",
        source="fidelity.md, Preemption",
        values=lambda o: _float(o.kills),
    ),
    Metric(
        name="drains",
        title="drains",
        table="detail",
        unit="per workload",
        better=None,
        formula="preemptions by DRAIN",
        source="fidelity.md, Preemption",
        values=lambda o: _float(o.drains),
    ),
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
