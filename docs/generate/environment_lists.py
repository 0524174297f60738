"""What does an environment show and pay? The lists of its docstring and pages, from the tables."""

from __future__ import annotations

import math
from textwrap import indent

from docs.generate.sections import table
from prema_gym.envs.infos import KEYS
from prema_gym.envs.rewards.reward import BALANCED
from prema_gym.envs.rewards.terms import TERMS
from prema_gym.simulator.observation import COLUMNS

_INDENT = "    "
"""Of the docstring of a class."""


def columns() -> str:
    """Every column of the observation table."""
    rows = [(one.name, one.unit, _interval(one.low, one.high), one.meaning) for one in COLUMNS]
    return indent(table(("column", "unit", "range", "meaning"), rows), _INDENT)


def _interval(low: float, high: float) -> str:
    left = "(-inf" if low == -math.inf else f"[{low:g}"
    return f"{left}, {'inf)' if high == math.inf else f'{high:g}]'}"


_TERM, _TOTAL = "term", "an episode's rewards add up to"
_PAID, _UNFINISHED = "paid", "a task unfinished at truncation counts"


def terms() -> str:
    """Every reward term, in short, and their usual mixture."""
    rows = [(one.name, one.total, one.paid, one.unfinished) for one in TERMS.values()]
    weights = (name if one == 1 else f"{name}/{1 / one:g}" for name, one in BALANCED.items())
    rows.append(("balanced", " + ".join(weights), "", ""))
    return indent(table((_TERM, _TOTAL, _PAID, _UNFINISHED), rows), _INDENT)


def info_keys() -> str:
    """Every key of ``info``."""
    return indent(table(("key", "type", "in", "meaning"), KEYS), _INDENT)


def terms_and_metrics() -> str:
    """Every reward term, and the metric it adds up to."""
    rows = [
        (one.name, one.total, one.unit, one.metric, one.paid, one.unfinished)
        for one in TERMS.values()
    ]
    return table((_TERM, _TOTAL, "unit", "metric", _PAID, _UNFINISHED), rows)


DOCSTRING_PARTS = {"columns": columns, "terms": terms, "info": info_keys}
PARTS = {"terms": terms_and_metrics}
