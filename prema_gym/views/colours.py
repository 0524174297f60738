"""Which colour is whose? One a policy, the same in every picture, figure and page.

The colours are Okabe and Ito's, told apart by colour-blind readers too, and lightened or darkened
where eight are not enough; in grey, marks and dashes tell them apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Look(NamedTuple):
    """How a policy is drawn: colour, dashes of its line (on, off, …; empty: solid), its mark."""

    colour: str
    dashes: tuple[int, ...]
    mark: str


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31")
_DASHES: tuple[tuple[int, ...], ...] = ((), (5, 2), (2, 2), (7, 2, 2, 2))
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "p")

KNOWN = {
    "np-fcfs": Look("#555555", (2, 2), "s"),
    "dynamic-prema": Look("#0072B2", (), "o"),
    "learned": Look("#D55E00", (), "D"),
    "static-prema": Look("#56B4E9", (5, 2), "o"),
    "kill-prema": Look("#009E73", (5, 2), "v"),
    "np-prema": Look("#7A5195", (2, 2), "^"),
    "static-sjf": Look("#E69F00", (), "^"),
    "static-hpf": Look("#CC79A7", (), "P"),
    "kill-sjf": Look("#8C6D31", (5, 2), "X"),
    "learned-ppo": Look("#A63603", (5, 2), "D"),
}
"""Looks of the policies that most pictures show; others get theirs from their name."""

PRIORITY_COLOURS = ("#56B4E9", "#0072B2", "#003A5C")
"""From low to high: bars darken with priority."""
CHECKPOINT_COLOUR = "#D55E00"
RESTORE_COLOUR = "#E69F00"
KILL_COLOUR = "#A61C3C"
DEADLINE_COLOUR = "#CC79A7"
WAIT_COLOUR = "#BBBBBB"


def look(policy: str) -> Look:
    """How a policy is drawn, wherever it is."""
    if policy in KNOWN:
        return KNOWN[policy]
    number = zlib.crc32(policy.encode())  # Python's own hash differs from run to run
    return Look(
        _COLOURS[number % len(_COLOURS)],
        _DASHES[number // 8 % len(_DASHES)],
        _MARKS[number // 32 % len(_MARKS)],
    )


def nth(number: int) -> Look:
    """How the things of another kind, networks say, are drawn, by their place in a list."""
    at = number % len(_COLOURS)
    return Look(_COLOURS[at], _DASHES[number // len(_COLOURS) % len(_DASHES)], _MARKS[at])


def priority_colours(priorities: Iterable[int]) -> dict[int, str]:
    """The colour of each priority that occurs; the highest is darkest."""
    levels: Sequence[int] = sorted(set(priorities))
    first = len(PRIORITY_COLOURS) - len(levels)
    return {level: PRIORITY_COLOURS[max(first + i, 0)] for i, level in enumerate(levels)}
