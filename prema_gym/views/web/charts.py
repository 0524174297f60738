"""How is a chart drawn without a library? As SVG: axes, lines and points, a group a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from prema_gym.views.axis import Axis
from prema_gym.views.colours import Look, look
from prema_gym.views.web.page import escape

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 44
Points = Sequence[tuple[float, float]]


def axis_for(label: str, values: Sequence[float], *, log: bool = False, zero: bool = False) -> Axis:
    """An axis that holds some values, with a little room."""
    known = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    low, high = min(known), max(known)
    if log:
        return Axis(label, low / 1.05, max(high * 1.05, low * 1.2), log=True)
    room = (high - low or abs(high) or 1.0) * 0.05
    return Axis(label, 0.0 if zero else low - room, high + room)


def chart(
    title: str, note: str, x: Axis, y: Axis, series: Mapping[str, Points], *, lines: bool
) -> str:
    """A figure with a caption.

    Args:
        title: What it shows.
        note: How it is read; may be empty.
        x: The axis from left to right.
        y: The axis from bottom to top.
        series: Points by policy; their number is the policy's in the page.
        lines: Join the points; else each is marked.
    """
    parts = [_grid(x, y)]
    for number, (name, points) in enumerate(series.items()):
        shown = [(_x(x, a), _y(y, b)) for a, b in points if math.isfinite(a) and math.isfinite(b)]
        drawn = _line(look(name), shown) if lines else "".join(_mark(look(name), p) for p in shown)
        parts.append(
            f'<g class="series" data-policy="{number}"><title>{escape(name)}</title>{drawn}</g>'
        )
    label = escape(f"{title}. {note}")
    return (
        f'<figure><h3>{escape(title)}</h3><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg><figcaption>{escape(note)}</figcaption></figure>'
    )


def key(policy: str) -> str:
    """How a policy is drawn, small, for beside its name."""
    drawn = look(policy)
    shown = _line(drawn, [(1, 7), (29, 7)]) + _mark(drawn, (15, 7))
    return f'<svg class="look" viewBox="0 0 30 14" aria-hidden="true">{shown}</svg>'


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)


def _grid(x: Axis, y: Axis) -> str:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>']
    for tick in x.ticks():
        at = round(_x(x, tick), 1)
        parts.append(f'<path class="grid" d="M{at} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 15}" text-anchor="middle">{tick:g}</text>')
    for tick in y.ticks():
        at = round(_y(y, tick), 1)
        parts.append(f'<path class="grid" d="M{LEFT} {at}H{right}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4}" text-anchor="end">{tick:g}</text>')
    middle, across = (LEFT + right) / 2, (TOP + bottom) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x.label)}</text>'
    )
    parts.append(
        f'<text transform="translate(12 {across}) rotate(-90)" text-anchor="middle">'
        f"{escape(y.label)}</text>"
    )
    return "".join(parts)


def _line(drawn: Look, points: Points) -> str:
    if not points:
        return ""
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    dashes = f' stroke-dasharray="{" ".join(map(str, drawn.dashes))}"' if drawn.dashes else ""
    return f'<path class="line" stroke="{drawn.colour}"{dashes} d="{path}"/>'


_MARKS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
    "s": "M-4 -4H4V4H-4Z",
    "^": "M0 -5L5 4H-5Z",
    "v": "M0 5L5 -4H-5Z",
    "D": "M0 -5.5L5.5 0L0 5.5L-5.5 0Z",
    "P": "M-2 -5H2V-2H5V2H2V5H-2V2H-5V-2H-2Z",
    "X": "M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
    "p": "M0 -5L5 -1L3 5H-3L-5 -1Z",
}


def _mark(drawn: Look, at: tuple[float, float]) -> str:
    where = f"translate({at[0]:.1f} {at[1]:.1f})"
    return f'<path transform="{where}" fill="{drawn.colour}" d="{_MARKS[drawn.mark]}"/>'
