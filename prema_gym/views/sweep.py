"""What is there to see of a sweep over loads? Rows, where each policy breaks, a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prema_gym.evaluation.sweep import Breaking, Sweep, SweepPoint
from prema_gym.metrics.groups import GROUP_COLUMNS, STREAM_COLUMNS
from prema_gym.views.colours import looks
from prema_gym.views.comparison import group_heading
from prema_gym.views.numbers import number
from prema_gym.views.plotting import new, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_ACROSS = 3
SAME_TO_THE_EYE = 0.02
"""Latencies that differ by less lie within a mark of each other: 1 % of two decades."""


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
    """One row a point, under the headings of ``evaluate``, as a terminal has room for it."""
    shown = [column for column in GROUP_COLUMNS if column.name != "requests"]
    return [
        _head(point) | {group_heading(column): point.row[column.name].value for column in shown}
        for point in sweep.points
    ]


def num_naming(sweep: Sweep) -> int:
    """How many of the first columns of :func:`rows` tell a row from the others."""
    return 2 + max((len(point.over) for point in sweep.points), default=0)


LEGEND = (
    "worst: the stream (of one stream, the network) that takes most of what the promise allows; "
    "taken: how much of it, kept up to 1. The other figures are of all requests: those of each "
    "stream are told by prema-gym evaluate --set load=LOAD --by stream,network"
)
"""What the columns of :func:`rows` mean that no other command has."""


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
