"""Figures of one value a policy or network: metrics, tails, mechanisms, regrets, costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prema_gym.metrics import METRICS
from prema_gym.views.colours import look, looks
from prema_gym.views.figures.chart import (
    Chart,
    Records,
    Study,
    legend_below,
    marked,
    policies_in,
    round_ticks,
)
from prema_gym.views.plotting import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAIN = tuple(metric for metric in METRICS if metric.table == "main")
_TITLES = {metric.name: metric.title for metric in METRICS}


def _metric_records(study: Study) -> Records:
    return [
        {
            "metric": metric.name,
            "policy": name,
            "mean": found.metrics[metric.name].mean,
            "ci95_low": found.metrics[metric.name].ci95[0],
            "ci95_high": found.metrics[metric.name].ci95[1],
            "better": metric.better,
            "mark": found.metrics[metric.name].mark,
        }
        for metric in MAIN
        for name, found in study.main.policies.items()
    ]


def _draw_metrics(figure: Figure, records: Records) -> None:
    panels = figure.subplots(1, len(MAIN), sharey=True)
    for axes, metric in zip(panels, MAIN, strict=True):
        own = [record for record in records if record["metric"] == metric.name]
        arrow = "←" if metric.better == "lower" else "→"
        _intervals(axes, own, f"{metric.title} ({arrow} better)\n{_lacking(own)}".rstrip())
        if metric.name in ("antt", "p95_ntt_high", "fairness"):
            axes.set_xscale("log")
            round_ticks(axes.xaxis)


def _lacking(records: Records) -> str:
    """Why some means have no interval; empty: all have."""
    lacking = [record["mark"] for record in records if np.isnan(record["ci95_low"])]
    if not lacking:
        return ""
    some = "" if len(lacking) == len(records) else f"{len(lacking)} with "
    return f"{some}no interval: {', '.join(_WHY[mark] for mark in dict.fromkeys(lacking))}"


_WHY = {
    "few workloads": "too few workloads",
    "few tasks": "too few tasks",
    "unfinished": "unfinished tasks",
    "": "no value",
}
"""Why there is no interval, by its mark (`prema_gym.evaluation.results.Mark`)."""


def _intervals(axes: Axes, records: Records, label: str) -> None:
    """A point with its interval for each policy, from top to bottom."""
    drawn = looks(policies_in(records))
    for at, record in enumerate(records):
        own = marked(drawn[record["policy"]])
        low = np.nan_to_num(record["mean"] - record["ci95_low"])
        high = np.nan_to_num(record["ci95_high"] - record["mean"])
        axes.errorbar(
            record["mean"], at, xerr=[[max(low, 0)], [max(high, 0)]],
            **own, linestyle="none", capsize=2, markersize=4,
        )  # fmt: skip
    names = [plain(record["policy"]) for record in records]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(label)


def _tail_records(study: Study) -> Records:
    records: Records = []
    for name, found in study.main.policies.items():
        if found.outcomes is None:
            continue
        priority, ntt = found.outcomes.priority, found.outcomes.ntt
        for level in sorted(set(priority[found.outcomes.present].tolist())):
            own = ntt[(priority == level) & found.outcomes.present]
            record: dict[str, Any] = {"policy": name, "priority": level, "tasks": len(own)}
            for percent in (50, 95, 99):
                record[f"p{percent}_ntt"] = float(np.percentile(own, percent, method="lower"))
            records.append(record)
    return records


def _draw_tail(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    names = policies_in(records)
    levels = sorted({record["priority"] for record in records})
    shades = ("#BFD7EA", "#6A9FC5", "#1F4E79")[-len(levels) :]
    height = 0.8 / len(levels)
    for place, level in enumerate(levels):
        own = [record for record in records if record["priority"] == level]
        at = [names.index(r["policy"]) + (place - (len(levels) - 1) / 2) * height for r in own]
        axes.barh(
            at, [r["p95_ntt"] for r in own], height * 0.9, label=f"π={level}",
            color=shades[min(place, 2)], edgecolor="#333333", linewidth=0.3,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xscale("log")
    round_ticks(axes.xaxis)
    axes.set_xlabel("95th percentile of NTT (← better)")
    legend_below(figure, axes)


def _mechanism_records(study: Study) -> Records:
    records: Records = []
    for name, found in study.main.policies.items():
        way, _, ordering = name.partition("-")
        rival = study.main.policies.get(f"kill-{ordering}")
        if way != "static" or rival is None:
            continue
        for metric in MAIN[:4]:
            ours, theirs = found.metrics[metric.name].mean, rival.metrics[metric.name].mean
            better = float(metric.times_better(theirs, ours))
            records.append({"ordering": ordering, "metric": metric.name, "times_better": better})
    return records


def _draw_mechanisms(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    orderings = list(dict.fromkeys(record["ordering"] for record in records))
    metrics = list(dict.fromkeys(record["metric"] for record in records))
    height = 0.8 / max(len(orderings), 1)
    hatches = ("", "///", "...", "xxx")
    for place, ordering in enumerate(orderings):
        own = [record for record in records if record["ordering"] == ordering]
        at = [metrics.index(r["metric"]) + place * height for r in own]
        axes.barh(
            at, [r["times_better"] - 1 for r in own], height * 0.9, left=1.0, label=plain(ordering),
            color=look(f"static-{ordering}").colour, hatch=hatches[place % 4],
            edgecolor="white", linewidth=0.3,
        )  # fmt: skip
    axes.axvline(1.0, color="#333333", linewidth=0.8)
    middle = 0.4 - height / 2
    axes.set_yticks([i + middle for i in range(len(metrics))], [_TITLES[m] for m in metrics])
    axes.invert_yaxis()
    axes.set_xlabel("times better by CHECKPOINT than by KILL")
    axes.legend()


def _regret_records(study: Study) -> Records:
    return [
        {"policy": name, "metric": metric, "regret_percent": 100.0 * value + 0.0}
        for name, found in study.main.policies.items()
        for metric, value in found.regret.items()
        if metric in ("antt", "stp", "priority_antt")
    ]


def _draw_regret(figure: Figure, records: Records) -> None:
    metrics = list(dict.fromkeys(record["metric"] for record in records))
    panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for axes, metric in zip(panels, metrics, strict=True):
        own = [record for record in records if record["metric"] == metric]
        # STP falls behind: its regret is below 0, its size is what is shown.
        values = [abs(record["regret_percent"]) for record in own]
        colours = [look(record["policy"]).colour for record in own]
        axes.barh(range(len(own)), values, color=colours)
        for at, value in enumerate(values):
            axes.text(value, at, f" {value:.0f}", va="center", fontsize=6)
        axes.set_yticks(range(len(own)), [plain(record["policy"]) for record in own])
        axes.set_ylim(len(own) - 0.5, -0.5)
        if max(values, default=0.0) > 300:  # one far behind would hide the others
            axes.set_xscale("symlog", linthresh=10)
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlim(0, max(values, default=1.0) * 1.3 + 1)
        axes.set_xlabel(f"{_TITLES[metric]}: % behind")


def _cost_records(study: Study) -> Records:
    return [dict(row) for row in study.preemption]


def _draw_costs(figure: Figure, records: Records) -> None:
    labels = [f"{record['network']} ×{record['batch']}" for record in records]
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, key, unit, colour in (
        (left, "context", "KiB", "#0072B2"),
        (right, "checkpoint", "us", "#D55E00"),
    ):
        at = range(len(records))
        _ranges(axes, records, [f"{key} {what} {unit}" for what in ("mean", "p95", "max")], colour)
        axes.set_yticks(at, [plain(label) for label in labels], fontsize=5.5)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xscale("log")
    left.set_xlabel("context saved [KiB]")
    right.set_xlabel("time until the machine is free [µs]")
    right.legend()


def _ranges(axes: Axes, records: Records, keys: Sequence[str], colour: str) -> None:
    """Mean, 95th percentile and maximum of each record, joined by a line."""
    values = np.maximum([[record[key] for key in keys] for record in records], 1e-3)
    at = np.arange(len(records))
    axes.hlines(at, values[:, 0], values[:, -1], color=colour, linewidth=0.8)
    for column, (mark, name) in enumerate(zip("o|>", ("mean", "95th pct.", "max"), strict=True)):
        axes.plot(values[:, column], at, mark, color=colour, markersize=3, label=name)


BARS: tuple[Chart, ...] = (
    Chart(
        "metrics",
        "The paper's comparison: value and 95 % interval by policy",
        "A row a policy, a panel a metric. The dot is the mean, the line its 95 % "
        "interval, where there is one; the arrow of each axis says which way is better.",
        (6.9, 2.4),
        _metric_records,
        _draw_metrics,
    ),
    Chart(
        "tail-by-priority",
        "Tail latency by priority",
        "95th percentile of NTT (time in the system over time alone) of the tasks of each "
        "priority π. PREMA keeps the bar of π = 9 short without letting π = 1 starve.",
        (3.35, 3.0),
        _tail_records,
        _draw_tail,
    ),
    Chart(
        "checkpoint-against-kill",
        "CHECKPOINT against KILL, by ordering",
        "How many times better an ordering is when it saves the work of the task that "
        "gives way than when it throws it away.",
        (3.35, 2.2),
        _mechanism_records,
        _draw_mechanisms,
        needs="policies static-… and kill-… of one ordering",
    ),
    Chart(
        "regret",
        "How far behind the best schedule there is",
        "How much worse than the best schedule there is, found with all arrivals and true "
        "times known. Each metric against its own optimum; none reaches all of them at "
        "once.",
        (6.9, 2.2),
        _regret_records,
        _draw_regret,
        needs="workloads of at most 20 tasks",
    ),
    Chart(
        "preemption-cost",
        "What a preemption costs, by network and batch size",
        "Left: context saved; right: time until the machine is free. From the mean over "
        "all instants to the worst, by network and batch size.",
        (6.9, 4.2),
        _cost_records,
        _draw_costs,
    ),
)
