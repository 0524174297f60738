"""What is there to see of a sweep over loads? Rows, where each policy breaks, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prema_gym.evaluation.sweep import Sweep, SweepPoint
from prema_gym.metrics.groups import GROUP_COLUMNS, STREAM_COLUMNS
from prema_gym.views.comparison import group_heading
from prema_gym.views.numbers import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def picture(sweep: Sweep, column: str = "p99_latency_ms") -> Figure:
    """The tail over the load, a line a policy; a mark where the promise breaks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes: Any = figure.add_subplot()
    for one in sweep.breaking:
        line = [p for p in sweep.points if p.policy == one.policy and p.over == one.over]
        label = " ".join([one.policy, *(f"{key}={value}" for key, value in one.over.items())])
        values = [point.row[column].value for point in line]
        (drawn,) = axes.plot([p.load for p in line], values, marker=".", label=label)
        if one.load > 0 and not one.beyond:
            axes.axvline(one.load, color=drawn.get_color(), linestyle=":", linewidth=1)
    axes.set_yscale("log")
    axes.set_xlabel("load (dotted: the promise breaks)")
    axes.set_ylabel(column.replace("_latency_ms", " latency [ms]"))
    axes.set_title(f"{sweep.scenario.name}: {sweep.slo}")
    axes.legend(fontsize="small")
    return figure
