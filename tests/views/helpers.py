"""A comparison made up by hand, and what a table looks like."""

from __future__ import annotations

import io
import math

import numpy as np
from rich.console import Console
from rich.table import Table

from prema_gym.evaluation.results import Evaluation, Mark, MetricValue, PolicyResult
from prema_gym.metrics import METRICS, SLA_TARGETS


def value_of(mean: float, ratio: float, mark: Mark = "") -> MetricValue:
    ends, ratio_ends = (mean - 0.5, mean + 0.5), (1.0, 2.0)
    if mark:
        ends = ratio_ends = (math.nan, math.nan)
    return MetricValue(mean=mean, ci95=ends, ratio=ratio, ratio_ci95=ratio_ends, mark=mark)


def evaluation(
    *,
    illegal: float = 0.0,
    unfinished: int = 0,
    per_workload: bool = False,
    hardware: dict[str, object] | None = None,
    marks: dict[str, Mark] | None = None,
) -> Evaluation:
    def result(ratio: float) -> PolicyResult:
        metrics = {m.name: value_of(12.345, ratio) for m in METRICS}
        for name, mark in (marks or {}).items():
            metrics[name] = value_of(12.345, ratio, mark)
        metrics["energy_mj"] = value_of(math.nan, math.nan)
        metrics["illegal_actions"] = value_of(illegal, math.nan)
        return PolicyResult(
            metrics=metrics,
            sla_curve={n: value_of(1 / n, ratio) for n in SLA_TARGETS},
            mechanisms=("checkpoint",),
            tasks=16,
            unfinished=unfinished,
            truncated=min(unfinished, 1),
            per_workload={"antt": np.array([1.0, math.nan])} if per_workload else {},
        )

    return Evaluation(
        scenario="paper",
        seed=5,
        workloads=2,
        most_tasks=8,
        relative_to="np-fcfs",
        versions={"prema-gym": "0.1.0"},
        workload_digest="0" * 64,
        settings={"max_decisions": 50, "slots": 16, "scenario": {"hardware": hardware or {}}},
        policies={"np-fcfs": result(1.0), "dynamic-prema": result(7.8)},
    )


def shown(*tables: Table, width: int = 160) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    for table in tables:
        console.print(table)
    return console.export_text()
