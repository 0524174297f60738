"""Which colour is whose? One a policy, the same in every picture, figure and page.

The colours are Okabe and Ito's, told apart by colour-blind readers too, and lightened or darkened
where eight are not enough; in grey, marks (filled or not) and dashes tell them apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Look(NamedTuple):
    """How a policy is drawn.

    Attributes:
        colour: Of its line and mark.
        dashes: Of its line (on, off, …; empty: solid).
        mark: Its shape, by Matplotlib's letter.
        filled: Whether its mark is; else it is a rim.
    """

    colour: str
    dashes: tuple[int, ...]
    mark: str
    filled: bool = True


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31")
_DASHES: tuple[tuple[int, ...], ...] = ((), (5, 2), (2, 2), (7, 2, 2, 2))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", ">", "*", "h")

KNOWN = {
    "np-fcfs": Look("#555555", (2, 2), "s"),
    "dynamic-prema": Look("#0072B2", (), "o"),
    "learned": Look("#D55E00", (), "D"),
    "static-prema": Look("#56B4E9", (5, 2), "o", filled=False),
    "kill-prema": Look("#009E73", (5, 2), "v"),
    "np-prema": Look("#7A5195", (2, 2), "^", filled=False),
    "static-sjf": Look("#E69F00", (), "^"),
    "static-hpf": Look("#CC79A7", (), "P"),
    "kill-sjf": Look("#8C6D31", (5, 2), "X"),
    "learned-ppo": Look("#A63603", (5, 2), "D", filled=False),
    "np-hpf": Look("#E377C2", (2, 2), "P", filled=False),
    "np-sjf": Look("#B8860B", (2, 2), "v", filled=False),
    "np-token": Look("#17A2A2", (2, 2), "h", filled=False),
    "static-token": Look("#00695C", (7, 2, 2, 2), "h"),
    "static-rrb": Look("#9E9D24", (7, 2, 2, 2), "p"),
    "static-edf": Look("#C2185B", (5, 2), "<"),
    "static-srpt": Look("#33691E", (7, 2, 2, 2), "*"),
    "dynamic-sjf": Look("#F4511E", (7, 2, 2, 2), ">"),
    "random": Look("#999999", (2, 2), "X", filled=False),
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
    """How a policy is drawn on its own; beside others: :func:`looks`."""
    if policy in KNOWN:
        return KNOWN[policy]
    number = zlib.crc32(policy.encode())  # Python's own hash differs from run to run
    return Look(
        _COLOURS[number % len(_COLOURS)],
        _DASHES[number // 8 % len(_DASHES)],
        MARKS[number // 32 % len(MARKS)],
        number // 32 // len(MARKS) % 2 == 0,
    )


def looks(policies: Iterable[str]) -> dict[str, Look]:
    """How the policies of one page or picture are drawn: no two with the same mark and filling.

    Of two that would look the same, the one that is not in :data:`KNOWN`, or is later in the
    alphabet, takes the next mark that is free. Beyond 24 policies marks are used again.
    """
    names = list(dict.fromkeys(policies))
    free = [(mark, filled) for filled in (True, False) for mark in MARKS]
    found: dict[str, Look] = {}
    for name in sorted(names, key=lambda name: (name not in KNOWN, name)):
        own = look(name)
        if free and (own.mark, own.filled) not in free:
            mark, filled = free[0]
            own = own._replace(mark=mark, filled=filled)
        if free:
            free.remove((own.mark, own.filled))
        found[name] = own
    return {name: found[name] for name in names}


def nth(number: int) -> Look:
    """How the things of another kind, networks say, are drawn, by their place in a list."""
    at = number % len(_COLOURS)
    return Look(_COLOURS[at], _DASHES[number // len(_COLOURS) % len(_DASHES)], MARKS[at])


def priority_colours(priorities: Iterable[int]) -> dict[int, str]:
    """The colour of each priority that occurs; the highest is darkest."""
    levels: Sequence[int] = sorted(set(priorities))
    first = len(PRIORITY_COLOURS) - len(levels)
    return {level: PRIORITY_COLOURS[max(first + i, 0)] for i, level in enumerate(levels)}
