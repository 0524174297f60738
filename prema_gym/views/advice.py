"""Which policy should serve this traffic? What a sweep over loads says of it, in a few lines.

The policy that keeps the promise up to the highest load is taken. Where the intervals of others
overlap with its own nothing tells them apart by the load, and the lowest mean latency decides, at
the highest load that all of them were played at and keep the promise: the same requests for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from prema_gym.evaluation.sweep import Breaking, Sweep, SweepPoint
from prema_gym.views.numbers import number


def advice(sweep: Sweep, relative_to: str) -> list[str]:
    """Lines: which policy to take, whom it ties with if any, what is gained, and what it costs.

    Args:
        sweep: What was found, over loads only.
        relative_to: The policy that the one taken is compared with.
    """
    highest = max(sweep.breaking, key=lambda one: (one.load, one.low))
    if highest.load == 0:
        return [
            f"None of {len(sweep.breaking)} policies keeps {sweep.slo} at any load tried.",
            f"The lightest load tried was {min(p.load for p in sweep.points):g}.",
            "Promise more time, shorten the work, or take a faster machine.",
        ]
    tied = [one for one in sweep.breaking if one.load > 0 and _overlap(one, highest)]
    compared = _compared(sweep, tied)
    best = min(tied, key=lambda one: _latency_ms(compared[one.policy]))
    base = next(one for one in sweep.breaking if one.policy == relative_to)
    lines = [
        f"Take {best.policy}: it keeps {sweep.slo} for everybody up to load "
        f"{'at least ' if best.beyond else ''}{number(best.load)}, which is "
        f"{number(best.rate_per_s)} requests/s (95 %: load {_ends(best)})."
    ]
    lines += [_tie(best, tied, compared)] if len(tied) > 1 else []
    return [*lines, _gain(sweep, best, tied, base), _cost(sweep, best, base)]


def _overlap(one: Breaking, other: Breaking) -> bool:
    """Whether the intervals of two breaking loads overlap; an end that is not known is open."""
    return one.low <= _high(other) and other.low <= _high(one)


def _high(one: Breaking) -> float:
    return math.inf if math.isnan(one.high) else one.high


def _ends(one: Breaking) -> str:
    above = "above the loads tried" if math.isnan(one.high) else number(one.high)
    return f"{number(one.low)} to {above}"


def _latency_ms(point: SweepPoint) -> float:
    """Mean latency; infinite where nothing finished."""
    value = point.row["latency_ms"].value
    return math.inf if math.isnan(value) else value


def _compared(
    sweep: Sweep, lines: Sequence[Breaking], most: float = math.inf
) -> dict[str, SweepPoint]:
    """Points of some policies at one load: the highest that all of them keep the promise at.

    Args:
        sweep: What was found.
        lines: The policies, with what else was set.
        most: No higher load than this, where there is one.

    Returns:
        By policy. Where they keep it together at no load, the lightest that all were played at.
    """
    of = {
        one.policy: {
            p.load: p for p in sweep.points if (p.policy, p.over) == (one.policy, one.over)
        }
        for one in lines
    }
    shared = set.intersection(*(set(points) for points in of.values()))
    kept = [
        load
        for load in shared
        if load <= most and all(points[load].keeps for points in of.values())
    ]
    load = max(kept) if kept else min(shared)
    return {policy: points[load] for policy, points in of.items()}


def _tie(best: Breaking, tied: Sequence[Breaking], compared: dict[str, SweepPoint]) -> str:
    """Who ties, and why the one that is taken is."""
    slower = {
        one.policy: number(_latency_ms(compared[one.policy])) for one in tied if one is not best
    }
    own = compared[best.policy]
    together = all(point.keeps for point in compared.values())
    which = (
        "highest that all of them keep" if together else "lightest that all of them were played at"
    )
    return (
        f"Tie: no difference shown between {', '.join([best.policy, *slower])}: the intervals of "
        f"their loads overlap. {best.policy} has the lowest mean latency at load "
        f"{number(own.load)}, the {which}: {number(_latency_ms(own))} ms ("
        + ", ".join(f"{policy} {latency}" for policy, latency in slower.items())
        + ")."
    )


def _gain(sweep: Sweep, best: Breaking, tied: Sequence[Breaking], base: Breaking) -> str:
    """What is gained over the policy compared with, and over the next best that does not tie."""
    if best is base:
        against = f"{base.policy} is what the others are compared with"
    elif base in tied:
        against = f"in load none is shown over {base.policy} ({number(base.load)})"
    elif base.load == 0:
        against = f"{base.policy} keeps it at no load tried"
    else:
        against = (
            f"that is {number(best.load / base.load)} × the load of {base.policy} "
            f"({number(base.load)})"
        )
    others = [one for one in sweep.breaking if one not in tied and one.load > 0]
    if not others:
        return f"Gain: {against}."
    second = max(others, key=lambda one: (one.load, one.low))
    return f"Gain: {against}; next best is {second.policy}, up to load {number(second.load)}."


def _cost(sweep: Sweep, best: Breaking, base: Breaking) -> str:
    """What the policy costs, beside the one compared with at the same load."""
    if best is base:
        return f"Cost: none, it is {base.policy} itself."
    compared = _compared(sweep, [best, base], best.load)
    own, other = compared[best.policy], compared[base.policy]
    mean, than = own.row["latency_ms"].value, other.row["latency_ms"].value
    most, before = own.row["p999_latency_ms"].value, other.row["p999_latency_ms"].value
    return (
        f"Cost at load {number(own.load)}: {own.overhead:.2%} of the time goes into switching; "
        f"mean latency {number(mean)} ms (with {base.policy} {number(than)} ms), the slowest "
        f"request in a thousand {number(most)} ms ({number(before)} ms)."
    )
