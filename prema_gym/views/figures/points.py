"""Figures of points: the front of the best, energy against throughput, estimates against truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from prema_gym.views.colours import looks, nth
from prema_gym.views.figures.chart import Chart, Records, Study, legend_below, point, policies_in
from prema_gym.views.plotting import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TASKS = 2_000
"""Tasks in the figure of estimates; more could not be told apart."""


def front(values: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points no other beats; both numbers better when higher."""
    return [not any(a >= x and b >= y and (a, b) != (x, y) for a, b in values) for x, y in values]


def _pareto_records(study: Study) -> Records:
    means = {
        name: (found.metrics["antt"].mean, found.metrics["fairness"].mean)
        for name, found in study.main.policies.items()
    }
    best = front([(-antt, fairness) for antt, fairness in means.values()])
    return [
        {"policy": name, "antt": antt, "fairness": fairness, "on_front": int(on)}
        for (name, (antt, fairness)), on in zip(means.items(), best, strict=True)
    ]


def _draw_pareto(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    edge = sorted((r["antt"], r["fairness"]) for r in records if r["on_front"])
    axes.step(*zip(*edge, strict=True), where="post", color="#999999", linewidth=0.9, zorder=1)
    drawn = looks(policies_in(records))
    for record in records:
        point(axes, record["policy"], drawn[record["policy"]], record["antt"], record["fairness"])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("ANTT (← better)")
    axes.set_ylabel("fairness (↑ better)")
    axes.set_ylim(bottom=0)
    legend_below(figure, axes)


def _energy_records(study: Study) -> Records:
    return [
        {"policy": name, "stp": found.metrics["stp"].mean, "mj": found.metrics["energy_mj"].mean}
        for name, found in study.main.policies.items()
    ]


def _draw_energy(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    drawn = looks(policies_in(records))
    for record in records:
        point(axes, record["policy"], drawn[record["policy"]], record["stp"], record["mj"])
    axes.set_xlabel("STP (→ better)")
    axes.set_ylabel("energy a workload [mJ] (↓ better)")
    legend_below(figure, axes)


def _estimate_records(study: Study) -> Records:
    """Each task once: estimates do not depend on the policy."""
    found = next(iter(study.main.policies.values())).outcomes
    if found is None:
        return []
    networks = study.main.settings["scenario"]["networks"]
    workload, task = np.nonzero(found.present)
    rows = list(zip(workload.tolist(), task.tolist(), strict=True))[:MOST_TASKS]
    return [
        {
            "network": networks[int(found.network[w, t])],
            "batch_size": int(found.batch_size[w, t]),
            "isolated_ms": float(found.isolated_cycles[w, t] / found.cycles_per_ms),
            "estimated_ms": float(found.estimated_cycles[w, t] / found.cycles_per_ms),
        }
        for w, t in rows
    ]


def _draw_estimates(figure: Figure, records: Records) -> None:
    axes = figure.subplots()
    for place, name in enumerate(sorted({record["network"] for record in records})):
        own, drawn = [r for r in records if r["network"] == name], nth(place)
        isolated, estimated = ([r[key] for r in own] for key in ("isolated_ms", "estimated_ms"))
        axes.plot(isolated, estimated, drawn.mark, color=drawn.colour, markersize=2.5, alpha=0.6)
        axes.plot([], [], drawn.mark, color=drawn.colour, label=plain(name))
    ends = [min(r["isolated_ms"] for r in records), max(r["isolated_ms"] for r in records)]
    axes.plot(ends, ends, color="#333333", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("isolated time [ms]")
    axes.set_ylabel("estimate [ms]")
    legend_below(figure, axes)


POINTS: tuple[Chart, ...] = (
    Chart(
        "pareto",
        "Who is not beaten in both? ANTT and fairness",
        "A mark a policy. The line joins those that no other policy beats in both; right "
        "of it and below, something is given up for nothing.",
        (3.35, 2.9),
        _pareto_records,
        _draw_pareto,
    ),
    Chart(
        "energy-against-throughput",
        "Energy against throughput",
        "Energy counts what runs and what is moved, so work that KILL throws away is paid "
        "twice. Right and low is better.",
        (3.35, 2.9),
        _energy_records,
        _draw_energy,
    ),
    Chart(
        "estimate-against-truth",
        "The scheduler's estimate against the true time",
        "A mark a network, batch size and output length: what Algorithm 1 expects against "
        "what the simulated machine takes. On the line the two agree.",
        (3.35, 3.1),
        _estimate_records,
        _draw_estimates,
    ),
)
