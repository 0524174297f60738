"""What is there to see of a sweep over loads? Rows, where each policy breaks, advice, a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prema_gym.evaluation.sweep import Breaking, Sweep, SweepPoint
from prema_gym.metrics.groups import STREAM_COLUMNS
from prema_gym.views.colours import looks
from prema_gym.views.numbers import number
from prema_gym.views.plotting import new, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = ("latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "p999_latency_ms")
PANELS_ACROSS = 3
SAME_TO_THE_EYE = 0.02
"""Latencies that differ by less lie within a mark of each other: 1 % of two decades."""
_ALSO = ("antt", "deadline_miss", "goodput_per_s", "throughput_per_s")


def records(sweep: Sweep) -> list[dict[str, object]]:
    """One record a point, with every column and its interval."""
    return [
        _head(point)
        | {
            f"{column.name}{suffix}": value
            for column in STREAM_COLUMNS
            for suffix, value in zip(
                ("", "_ci95_low", "_ci95_high"), point.row[column.name], strict=True
            )
        }
        for point in sweep.points
    ]


def rows(sweep: Sweep) -> list[dict[str, object]]:
    """One row a point, as a terminal has room for it."""
    return [
        _head(point) | {name: point.row[name].value for name in (*_SHOWN, *_ALSO)}
        for point in sweep.points
    ]


def _head(point: SweepPoint) -> dict[str, object]:
    return {
        "policy": point.policy,
        "load": point.load,
        **point.over,
        "slo": "kept" if point.keeps else ("broken" if point.keeps_up else "cannot keep up"),
        "worst": point.worst,
        "taken": point.taken.value,
    }


def breaking_rows(sweep: Sweep) -> list[dict[str, object]]:
    """One row a policy: the load up to which the promise is kept."""
    return [
        {
            "policy": one.policy,
            **one.over,
            f"{sweep.slo} up to load": ("≥ " if one.beyond else "") + number(one.load),
            "95 % interval": f"{number(one.low)} … {number(one.high)}",
            "requests/s": one.rate_per_s,
        }
        for one in sweep.breaking
    ]


def advice(sweep: Sweep, relative_to: str) -> list[str]:
    """Three lines: which policy to take, by how much it is better, and what it costs."""
    best = max(sweep.breaking, key=lambda one: (one.load, one.low))
    base = next(one for one in sweep.breaking if one.policy == relative_to)
    if best.load == 0:
        return [
            f"None of {len(sweep.breaking)} policies keeps {sweep.slo} at any load tried.",
            f"The lightest load tried was {min(p.load for p in sweep.points):g}.",
            "Promise more time, shorten the work, or take a faster machine.",
        ]
    first = (
        f"Take {best.policy}: it keeps {sweep.slo} for everybody up to load "
        f"{'at least ' if best.beyond else ''}{number(best.load)}, which is "
        f"{number(best.rate_per_s)} requests/s (95 %: load {number(best.low)} to "
        f"{number(best.high)})."
    )
    return [first, _gain(sweep, best, base), _cost(sweep, best, base)]


def _gain(sweep: Sweep, best: Breaking, base: Breaking) -> str:
    others = sorted((o for o in sweep.breaking if o is not best), key=lambda one: -one.load)
    runner_up = others[0] if others else best
    against = (
        f"{base.policy} keeps it at no load tried"
        if base.load == 0
        else f"that is {number(best.load / base.load)} × the load of {base.policy} "
        f"({number(base.load)})"
    )
    return f"Gain: {against}; next best is {runner_up.policy}, up to load {number(runner_up.load)}."


def _cost(sweep: Sweep, best: Breaking, base: Breaking) -> str:
    def at(policy: str) -> SweepPoint:
        line = [p for p in sweep.points if p.policy == policy and p.over == best.over]
        return min(line, key=lambda point: abs(point.load - best.load))

    own, other = at(best.policy), at(base.policy)
    if own is other:
        return f"Cost: none, it is {base.policy} itself."
    mean, than = own.row["latency_ms"].value, other.row["latency_ms"].value
    most, before = own.row["p999_latency_ms"].value, other.row["p999_latency_ms"].value
    return (
        f"Cost at load {number(own.load)}: {own.overhead:.2%} of the time goes into switching; "
        f"mean latency {number(mean)} ms (with {base.policy} {number(than)} ms), the slowest "
        f"request in a thousand {number(most)} ms ({number(before)} ms)."
    )


def picture(sweep: Sweep) -> Figure:
    """The promised percentile of the latency over the load, a line a policy.

    Dotted lines show up to which load policies keep the promise. Other keys that were set have
    panels of their own.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    from prema_gym.views.figures.chart import legend_below

    cases = [dict(case) for case in dict.fromkeys(tuple(b.over.items()) for b in sweep.breaking)]
    across = min(len(cases), PANELS_ACROSS)
    down = -(-len(cases) // across)
    figure = new("drawing a sweep", (7.0 * max(1.0, 0.7 * across), 1.4 + 3.6 * down), 150)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, over in zip(panels, cases, strict=False):
        _curves(axes, sweep, over)
        _breaks(axes, [one for one in sweep.breaking if one.over == over])
        axes.set_title(plain(" ".join(f"{key}={value}" for key, value in over.items())))
        axes.set_xlabel("load (dotted: up to here the promise is kept)")
        axes.set_ylabel(f"p{sweep.slo.percent:g} latency of all requests [ms]")
        axes.label_outer()
    for axes in panels[len(cases) :]:
        axes.set_visible(False)
    figure.suptitle(plain(f"{sweep.scenario.name}; promised: {sweep.slo}"))
    legend_below(figure, panels[0], ncols=4)
    return figure


def _curves(axes: Axes, sweep: Sweep, over: Mapping[str, Any]) -> None:
    """A line a policy; where lines lie on one another, the lower ones are wider."""
    from prema_gym.views.figures.chart import line, round_ticks

    drawn: list[dict[float, float]] = []
    for policy, own in looks(one.policy for one in sweep.breaking).items():
        points = [p for p in sweep.points if p.policy == policy and p.over == over]
        curve = {point.load: point.row[sweep.slo.column].value for point in points}
        under = sum(_covers(curve, other) for other in drawn)
        line(axes, policy, own, list(curve), list(curve.values()), every=1, under=under)
        drawn.append(curve)
    axes.set_yscale("log")
    round_ticks(axes.yaxis)
    if sweep.slo.limit_ms is not None:
        axes.axhline(sweep.slo.limit_ms, color="#999999", linewidth=0.8, zorder=1)


def _covers(one: Mapping[float, float], other: Mapping[float, float]) -> bool:
    """Whether two curves cover each other: the eye cannot tell half of what they share apart."""
    shared = one.keys() & other.keys()
    same = [math.isclose(one[load], other[load], rel_tol=SAME_TO_THE_EYE) for load in shared]
    return 2 * sum(same) >= max(len(same), 1)


def _breaks(axes: Axes, found: Sequence[Breaking]) -> None:
    """A dotted line at each load at which a promise breaks, in the policy's colour if it is one."""
    own = looks(one.policy for one in found)
    at: dict[float, list[str]] = {}
    for one in found:
        if one.load > 0 and not one.beyond:
            at.setdefault(round(one.load, 3), []).append(one.policy)
    for load, policies in at.items():
        colour = own[policies[0]].colour if len(policies) == 1 else "#333333"
        axes.axvline(load, color=colour, linestyle=":", linewidth=1.2)
