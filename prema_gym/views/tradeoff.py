"""How are policies shown beside the front of ANTT and fairness? As rows, a line, a picture."""

from __future__ import annotations

import math
from pathlib import Path

from prema_gym.errors import MissingExtraError
from prema_gym.evaluation.tradeoff import Tradeoff
from prema_gym.files import write_atomically
from prema_gym.views.colours import looks
from prema_gym.views.figures.chart import marked
from prema_gym.views.numbers import number

FRONTS = {True: "front", False: "front without holding"}


def policy_rows(found: Tradeoff) -> list[dict[str, object]]:
    """A row a policy: its point, and the front's at the same fairness and at the same ANTT."""
    return [
        {
            "policy": name,
            "antt": antt,
            "fairness": fairness,
            "least_antt": found.antt_at(fairness),
            "least_antt_plain": found.antt_at(fairness, holding=False),
            "most_fairness": found.fairness_at(antt),
            "most_fairness_plain": found.fairness_at(antt, holding=False),
        }
        for name, (antt, fairness) in found.points.items()
    ]


def front_rows(found: Tradeoff) -> list[dict[str, object]]:
    """A row a point of either front, with the keys of :func:`policy_rows`."""
    empty: dict[str, object] = dict.fromkeys(
        ("least_antt", "least_antt_plain", "most_fairness", "most_fairness_plain"), math.nan
    )
    return [
        {"policy": FRONTS[front.holding], "antt": float(antt), "fairness": float(fairness)} | empty
        for front in (found.front, found.plain)
        for antt, fairness in zip(front.antt, front.fairness, strict=True)
    ]


def answer(found: Tradeoff, antt: float) -> str:
    """What fairness can be had at an ANTT of at most so much, and which policy comes nearest."""
    possible = found.fairness_at(antt)
    if math.isnan(possible):
        return f"ANTT at most {antt:g}: no schedule; the optimum is {number(found.front.antt[0])}"
    plain = found.fairness_at(antt, holding=False)
    line = (
        f"ANTT at most {antt:g}: fairness {number(possible)} at best "
        f"({number(plain)} if nobody is held back); "
    )
    name = found.nearest(antt)
    if name is None:
        return line + "no policy here has so little ANTT"
    own, fairness = found.points[name]
    return line + f"{name} comes nearest, {number(fairness)} at {number(own)}"


def draw(found: Tradeoff, path: Path) -> None:
    """Draw the fronts and every policy into a picture file.

    Raises:
        MissingExtraError: Matplotlib is not installed.
        ConfigError: The file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing a front", "matplotlib", "plot") from None
    figure = Figure(figsize=(8, 5.5), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    for front, style in ((found.front, "-"), (found.plain, "--")):
        axes.plot(front.antt, front.fairness, style, color="#0072B2", label=FRONTS[front.holding])
    drawn = looks(found.points)
    for name, (antt, fairness) in found.points.items():
        axes.plot(antt, fairness, linestyle="none", **marked(drawn[name]))
        axes.annotate(name, (antt, fairness), xytext=(5, 3), textcoords="offset points", fontsize=8)
    axes.set_xlabel("ANTT (less is better)")
    axes.set_ylabel("fairness (more is better)")
    axes.set_xscale("log")
    ticks = [1.5, 2, 2.5, 3, 4, 6, 10, 20, 40]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(*_span([*found.front.antt, *(antt for antt, _ in found.points.values())]))
    axes.legend(loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    kind = path.suffix.lstrip(".") or "png"
    write_atomically(path, lambda beside: figure.savefig(beside, format=kind))


def _span(values: list[float]) -> tuple[float, float]:
    return min(values) * 0.95, max(values) * 1.2
