"""How is a number shown to people? In three significant digits; JSON and CSV hold them all."""

from __future__ import annotations

import math

ABSENT = "–"
_DIGITS = 3


def number(value: float, like: float | None = None) -> str:
    """A number in three significant digits (as many decimals as ``like`` has, if given)."""
    if not math.isfinite(value):
        return ABSENT
    scale = abs(value if like is None else like)
    whole_digits = math.floor(math.log10(scale)) + 1 if scale > 0 else 1
    return f"{value:.{max(0, _DIGITS - whole_digits)}f}"


def plus_minus(half_width: float, value: float) -> str:
    """Half the width of an interval around ``value``, after a ±; empty where there is none."""
    return f"±{number(half_width, like=value)}" if math.isfinite(half_width) else ""


def times(ratio: float) -> str:
    """How many times better something is."""
    return f"{number(ratio)}×" if math.isfinite(ratio) else ABSENT
