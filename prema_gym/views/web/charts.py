"""How is a chart drawn without a library? As SVG: axes, lines and points, a group a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prema_gym.views.axis import Axis
from prema_gym.views.colours import Look, looks
from prema_gym.views.labels import shortened
from prema_gym.views.web.page import escape

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 44
ROW, ROW_LEFT, ROW_LETTERS = 15, 130, 17
"""Pixels of a row that has a name, of the names beside them, and letters that fit there."""
_ROOM = 0.05
"""Share of an axis that stays free at an end: a mark is 12 of some 400 pixels."""
Points = Sequence[tuple[float, float]]


def axis_for(label: str, values: Sequence[float], *, log: bool = False, zero: bool = False) -> Axis:
    """An axis that holds some values, with a little room."""
    known = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    low, high = min(known), max(known)
    if log:
        room = max((high / low) ** _ROOM, 1.05)
        return Axis(label, low / room, max(high * room, low * 1.2), log=True)
    room = (high - low or abs(high) or 1.0) * _ROOM
    return Axis(label, 0.0 if zero else low - room, high + room)


def chart(
    title: str,
    note: str,
    x: Axis,
    y: Axis,
    series: Mapping[str, Points],
    *,
    lines: bool,
    rows: Sequence[str] = (),
) -> str:
    """A figure with a caption.

    Args:
        title: What it shows.
        note: How it is read; may be empty.
        x: The axis from left to right.
        y: The axis from bottom to top.
        series: Points by policy; their number is the policy's in the page.
        lines: Join the points; else each is marked.
        rows: Names of the rows from top to bottom; the first is at the height of their number,
            the last at 1. None: ``y`` has ticks.
    """
    frame = _Frame(x, y, LEFT, HEIGHT)
    if rows:
        frame = _Frame(x, y, ROW_LEFT, max(HEIGHT, TOP + BOTTOM + ROW * (len(rows) + 1)))
    parts = [_grid(frame, rows)]
    drawn_as = looks(series)
    for number, (name, points) in enumerate(series.items()):
        known = [(a, b) for a, b in points if math.isfinite(a) and math.isfinite(b)]
        shown = [(frame.across(a), frame.down(b)) for a, b in known]
        own = drawn_as[name]
        drawn = _line(own, shown) if lines else "".join(_mark(own, p) for p in shown)
        parts.append(
            f'<g class="series" data-policy="{number}"><title>{escape(name)}</title>{drawn}</g>'
        )
    label = escape(f"{title}. {note}")
    return (
        f'<figure><h3>{escape(title)}</h3><svg viewBox="0 0 {WIDTH} {frame.height}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg><figcaption>{escape(note)}</figcaption></figure>'
    )


def key(drawn: Look) -> str:
    """How a policy is drawn, small, for beside its name."""
    shown = _line(drawn, [(1, 7), (29, 7)]) + _mark(drawn, (15, 7))
    return f'<svg class="look" viewBox="0 0 30 14" aria-hidden="true">{shown}</svg>'


class _Frame(NamedTuple):
    """Where values lie in a figure of some height, whose axes meet ``left`` pixels from its rim."""

    x: Axis
    y: Axis
    left: int
    height: int

    def across(self, value: float) -> float:
        return self.left + self.x.share(value) * (WIDTH - self.left - RIGHT)

    def down(self, value: float) -> float:
        return self.height - BOTTOM - self.y.share(value) * (self.height - TOP - BOTTOM)


def _grid(frame: _Frame, rows: Sequence[str]) -> str:
    left, bottom, right = frame.left, frame.height - BOTTOM, WIDTH - RIGHT
    parts = [f'<path class="axis" d="M{left} {TOP}V{bottom}H{right}"/>']
    for tick in frame.x.ticks():
        at = round(frame.across(tick), 1)
        parts.append(f'<path class="grid" d="M{at} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 15}" text-anchor="middle">{tick:g}</text>')
    for tick, name in _levels(frame.y, rows):
        at = round(frame.down(tick), 1)
        parts.append(f'<path class="grid" d="M{left} {at}H{right}"/>')
        parts.append(f'<text x="{left - 5}" y="{at + 4}" text-anchor="end">{escape(name)}</text>')
    middle, across = (left + right) / 2, (TOP + bottom) / 2
    parts.append(
        f'<text x="{middle}" y="{frame.height - 8}" text-anchor="middle">'
        f"{escape(frame.x.label)}</text>"
    )
    parts.append(
        f'<text transform="translate(12 {across}) rotate(-90)" text-anchor="middle">'
        f"{escape(frame.y.label)}</text>"
    )
    return "".join(parts)


def _levels(y: Axis, rows: Sequence[str]) -> list[tuple[float, str]]:
    """What stands beside the vertical axis: rows by name, or round values."""
    if not rows:
        return [(tick, f"{tick:g}") for tick in y.ticks()]
    return [
        (len(rows) - at, shortened(name, lambda text: len(text) <= ROW_LETTERS))
        for at, name in enumerate(rows)
    ]


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
    "<": "M-5 0L4 -5V5Z",
    ">": "M5 0L-4 -5V5Z",
    "*": "M0 -6L1.5 -2H6L2.5 1L4 5.5L0 3L-4 5.5L-2.5 1L-6 -2H-1.5Z",
    "h": "M0 -5L4.5 -2.5V2.5L0 5L-4.5 2.5V-2.5Z",
}


def _mark(drawn: Look, at: tuple[float, float]) -> str:
    where = f"translate({at[0]:.1f} {at[1]:.1f})"
    inside = drawn.colour if drawn.filled else "var(--paper)"
    return (
        f'<path class="mark" transform="{where}" fill="{inside}" stroke="{drawn.colour}" '
        f'd="{_MARKS[drawn.mark]}"/>'
    )
