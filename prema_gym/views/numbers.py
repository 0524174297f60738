"""How is a number shown to people? In three significant digits; JSON and CSV hold them all."""

from __future__ import annotations

import math

ABSENT = "–"
_DIGITS = 3


def number(value: float) -> str:
    """A number in three significant digits."""
    if not math.isfinite(value):
        return ABSENT
    scale = abs(value)
    whole_digits = math.floor(math.log10(scale)) + 1 if scale > 0 else 1
    return f"{value:.{max(0, _DIGITS - whole_digits)}f}"


def interval(low: float, high: float) -> str:
    """Both ends of an interval, in brackets; empty where there is none."""
    return f"[{number(low)}, {number(high)}]" if math.isfinite(low) else ""


def times(ratio: float) -> str:
    """How many times better something is."""
    return f"{number(ratio)}×" if math.isfinite(ratio) else ABSENT
