"""Figures of curves: service levels, distributions, performance profiles, load, learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prema_gym.views.colours import look, looks
from prema_gym.views.figures.chart import (
    Chart,
    Records,
    Study,
    legend_below,
    line,
    policies_in,
    round_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS_A_CURVE = 100


def _sla_records(study: Study) -> Records:
    return [
        {
            "policy": name,
            "target": target,
            "violated": found.mean,
            "ci95_low": found.ci95[0],
            "ci95_high": found.ci95[1],
        }
        for name, result in study.main.policies.items()
        for target, found in result.sla_curve.items()
    ]


def _draw_sla(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    for name, drawn in looks(policies_in(records)).items():
        own = [record for record in records if record["policy"] == name]
        line(axes, name, drawn, [r["target"] for r in own], [100 * r["violated"] for r in own])
    axes.set_xticks([2, 5, 10, 15, 20])
    axes.set_xlabel("target: NTT at most")
    axes.set_ylabel("tasks that miss it [%] (↓ better)")
    axes.set_ylim(bottom=0)
    legend_below(figure, axes)


def _ntt_records(study: Study) -> Records:
    shares = np.linspace(0.0, 1.0, POINTS_A_CURVE + 1)
    return [
        {"policy": name, "share": float(share), "ntt": float(value)}
        for name, found in study.main.policies.items()
        if found.outcomes is not None
        for share, value in zip(
            shares,
            np.quantile(found.outcomes.ntt[found.outcomes.present], shares, method="lower"),
            strict=True,
        )
    ]


def _draw_ntt(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    for name, drawn in looks(policies_in(records)).items():
        own = [r for r in records if r["policy"] == name and np.isfinite(r["ntt"])]
        line(axes, name, drawn, [r["ntt"] for r in own], [100 * r["share"] for r in own])
    axes.set_xscale("log")
    round_ticks(axes.xaxis)
    axes.set_xlabel("NTT at most")
    axes.set_ylabel("tasks [%] (↑ better)")
    legend_below(figure, axes)


def _profile_records(study: Study) -> Records:
    """Share of workloads on which a policy is within a factor of the best of those compared."""
    results = study.main.policies
    if not all(found.per_workload for found in results.values()):
        return []
    values = np.array([found.per_workload["antt"] for found in results.values()])
    behind = values / values.min(axis=0)
    factors = np.geomspace(1.0, 8.0, POINTS_A_CURVE)
    return [
        {"policy": name, "factor": float(factor), "share": float(np.mean(own <= factor))}
        for name, own in zip(results, behind, strict=True)
        for factor in factors
    ]


def _draw_profile(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    for name, drawn in looks(policies_in(records)).items():
        own = [record for record in records if record["policy"] == name]
        line(axes, name, drawn, [r["factor"] for r in own], [100 * r["share"] for r in own])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("ANTT within this factor of the best policy's")
    axes.set_ylabel("workloads [%] (↑ better)")
    legend_below(figure, axes)


def _sweep_records(study: Study) -> Records:
    return [
        {
            "policy": name,
            "load": load,
            "metric": metric,
            "mean": found.metrics[metric].mean,
            "ci95_low": found.metrics[metric].ci95[0],
            "ci95_high": found.metrics[metric].ci95[1],
        }
        for metric in ("antt", "deadline_miss")
        for load, evaluation in study.sweep.items()
        for name, found in evaluation.policies.items()
    ]


def _draw_sweep(figure: Figure, records: Records) -> None:
    left, right = figure.subplots(1, 2)
    for axes, metric, label, factor in (
        (left, "antt", "ANTT (↓ better)", 1.0),
        (right, "deadline_miss", "deadlines missed [%] (↓ better)", 100.0),
    ):
        for name, drawn in looks(policies_in(records)).items():
            own = [r for r in records if (r["policy"], r["metric"]) == (name, metric)]
            line(
                axes,
                name,
                drawn,
                [r["load"] for r in own],
                [factor * r["mean"] for r in own],
                every=1,
            )
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.2g}")
        axes.set_xlabel("load: work that arrives / work that can be done")
        axes.set_ylabel(label)
    left.set_yscale("log")
    left.set_yticks([1, 2, 5, 10, 20, 50], minor=False)
    left.set_yticks([], minor=True)
    left.yaxis.set_major_formatter("{x:g}")
    legend_below(figure, left, ncols=4)


def _learning_records(study: Study) -> Records:
    return [
        {
            "algorithm": algorithm,
            "run": run,
            "timesteps": int(float(row["timesteps"])),
            "times_better_than_prema": float(row["geometric_mean_ratio"]),
        }
        for (algorithm, run), rows in study.runs.items()
        for row in rows
    ]


def _draw_learning(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    for algorithm in dict.fromkeys(record["algorithm"] for record in records):
        # The axis is logarithmic: where training began has no place on it.
        begun = [r for r in records if r["algorithm"] == algorithm and r["timesteps"] > 0]
        if begun:
            _learning_curve(axes, algorithm, begun)
    axes.axhline(1.0, color="#555555", linestyle=":", linewidth=1)
    axes.set_xscale("log")  # one algorithm takes a hundred times the decisions of another
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("decisions [millions]")
    axes.set_ylabel("times better than dynamic PREMA")
    legend_below(figure, axes)


def _learning_curve(axes: Axes, algorithm: str, records: list[dict[str, Any]]) -> None:
    """The mean over seeds, and between which runs it lies, where all of them have a value."""
    runs = dict.fromkeys(record["run"] for record in records)
    curves = [
        ([r["timesteps"] / 1e6 for r in own], [r["times_better_than_prema"] for r in own])
        for own in ([r for r in records if r["run"] == run] for run in runs)
    ]
    first = max(steps[0] for steps, _ in curves)
    last = min(steps[-1] for steps, _ in curves)
    grid = np.geomspace(first, max(first, last), POINTS_A_CURVE)
    values = np.array([np.interp(grid, steps, ratios) for steps, ratios in curves])
    name = f"{algorithm} ({len(curves)} seeds)"
    line(axes, name, look(name), grid.tolist(), values.mean(0).tolist())
    if len(curves) > 1:
        axes.fill_between(
            grid, values.min(0), values.max(0), alpha=0.2, color=axes.lines[-1].get_color()
        )


CURVES: tuple[Chart, ...] = (
    Chart(
        "sla-curve",
        "Service levels missed",
        "Share of tasks that take longer than the target allows, by target. Lower is "
        "better; a curve that falls early keeps tight promises.",
        (3.35, 2.8),
        _sla_records,
        _draw_sla,
    ),
    Chart(
        "ntt-distribution",
        "How NTT is distributed over tasks",
        "Share of tasks whose NTT is at most the value below. Higher is better; where a "
        "curve still rises at the right, some tasks wait for very long.",
        (3.35, 2.8),
        _ntt_records,
        _draw_ntt,
    ),
    Chart(
        "performance-profile",
        "How often is a policy nearly the best?",
        "Share of workloads on which a policy's ANTT is within a factor of the best "
        "policy's. At 1: how often it is the best; far right: how bad its bad days are.",
        (3.35, 2.8),
        _profile_records,
        _draw_profile,
    ),
    Chart(
        "load-sweep",
        "The same tasks, arriving faster and faster",
        "The same tasks in ever shorter windows; at load 1 as much work arrives as the "
        "machine can do meanwhile.",
        (6.9, 2.6),
        _sweep_records,
        _draw_sweep,
        needs="a sweep (leave out --no-sweep)",
    ),
    Chart(
        "learning-curves",
        "Learning: validation by algorithm",
        "Validation during training, the mean over runs of one algorithm; the band runs "
        "from the worst run to the best. Dynamic PREMA is at 1.",
        (3.35, 2.6),
        _learning_records,
        _draw_learning,
        needs="training runs (--run FOLDER, once each)",
    ),
)
