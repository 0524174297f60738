"""What is there to see of a sweep over loads? Rows, where each policy breaks, advice, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prema_gym.evaluation.sweep import Breaking, Sweep, SweepPoint
from prema_gym.metrics.groups import STREAM_COLUMNS
from prema_gym.views.numbers import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = ("latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "p999_latency_ms")
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
