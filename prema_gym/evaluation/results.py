"""What is known of policies after a comparison? Plain records, and their layout as JSON.

:mod:`prema_gym.evaluation.compare` makes them, :mod:`prema_gym.views.tables` shows them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from prema_gym.metrics import METRICS, FloatArray

Mark = Literal["", "few workloads", "few tasks", "unfinished"]
"""Nothing; or there are too few workloads for an interval, too few tasks to read a percentile from,
or unfinished tasks, so that a value stands for the survivors and is compared with nothing."""


@dataclass(frozen=True, kw_only=True)
class MetricValue:
    """One metric of one policy.

    Attributes:
        mean: Mean over workloads; for a pooled metric, its percentile over all tasks.
        ci95: Ends of its 95 % interval (`prema_gym.evaluation.intervals`); NaN where a mark says
            why there is none.
        ratio: How many times better than the policy compared with: above 1 is better, whatever the
            metric's direction. NaN for 0/0, for metrics without a direction, and where either
            policy left tasks unfinished.
        ratio_ci95: Ends of its interval, from the same resamples for both policies.
        mark: What a reader must know: see `Mark`.
    """

    mean: float
    ci95: tuple[float, float]
    ratio: float
    ratio_ci95: tuple[float, float]
    mark: Mark = ""


@dataclass(frozen=True, kw_only=True)
class PolicyResult:
    """One policy's row.

    Attributes:
        metrics: By name, in the order of ``METRICS``.
        sla_curve: Share of tasks with NTT > n, by target n.
        mechanisms: What its action space offered.
        tasks: Tasks in all workloads.
        unfinished: Tasks that never finished; means over NTT leave them out, nothing is compared.
        truncated: Workloads cut off by the decision limit.
        per_workload: Each workload's value by metric, float64 (workloads,); empty unless asked for.
        regret: By metric, (value − optimum)/optimum with means over workloads, 0 at best; empty
            unless asked for.
    """

    metrics: dict[str, MetricValue]
    sla_curve: dict[int, MetricValue]
    mechanisms: tuple[str, ...]
    tasks: int
    unfinished: int
    truncated: int
    per_workload: dict[str, FloatArray] = field(default_factory=dict)
    regret: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The outcome of a comparison, with all it takes to repeat it.

    Attributes:
        scenario: The scenario's name.
        seed: Workload i was drawn from seed + i; None: they were given.
        workloads: Number of workloads.
        most_tasks: Tasks of the longest.
        relative_to: The policy ratios compare with.
        versions: What it was computed with.
        workload_digest: SHA-256 of the workloads' arrays: equal digests, equal workloads.
        settings: Plain data for :func:`prema_gym.evaluation.compare.evaluate_settings`.
        policies: Results by policy, in the order given.
        optimum: Mean of the best value any schedule of each workload can have with free switches
            and true times, by metric; empty unless asked for.
        per_workload_optimum: That best value of each workload, float64 (workloads,), by metric;
            empty unless both are asked for.
    """

    scenario: str
    seed: int | None
    workloads: int
    most_tasks: int
    relative_to: str
    versions: dict[str, str]
    workload_digest: str
    settings: dict[str, Any]
    policies: dict[str, PolicyResult]
    optimum: dict[str, float] = field(default_factory=dict)
    per_workload_optimum: dict[str, FloatArray] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data, the layout of the JSON report; may hold NaN."""
        data = {
            name: getattr(self, name)
            for name in ("scenario", "seed", "workloads", "most_tasks", "relative_to", "versions")
        }
        data["workload_digest"] = self.workload_digest
        data["settings"] = self.settings
        data["metrics"] = {
            m.name: {"unit": m.unit, "better": m.better, "formula": m.formula, "source": m.source}
            for m in METRICS
        }
        data["policies"] = {name: _plain(result) for name, result in self.policies.items()}
        if self.optimum:
            data["optimum"] = self.optimum
        if self.per_workload_optimum:
            data["per_workload_optimum"] = {
                name: values.tolist() for name, values in self.per_workload_optimum.items()
            }
        return data


def _plain(result: PolicyResult) -> dict[str, Any]:
    data: dict[str, Any] = {name: asdict(value) for name, value in result.metrics.items()}
    data["sla_curve"] = {str(n): asdict(value) for n, value in result.sla_curve.items()}
    data["mechanisms"] = list(result.mechanisms)
    for name in ("tasks", "unfinished", "truncated"):
        data[f"num_{name}"] = getattr(result, name)
    if result.per_workload:
        data["per_workload"] = {name: v.tolist() for name, v in result.per_workload.items()}
    if result.regret:
        data["regret"] = result.regret
    return data
