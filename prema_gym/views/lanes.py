"""How do tasks that overlap share few rows? Lanes, each of which holds one task at a time."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush


def lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The lane of each span: the lowest that is free when it starts, so as few as can be.

    Args:
        spans: (start, end) of each; one that starts where another ends may share its lane.
    """
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    found, made = [0] * len(spans), 0
    for index in sorted(range(len(spans)), key=lambda i: (spans[i], i)):
        start, end = spans[index]
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        if not free:
            heappush(free, made)
            made += 1
        lane = heappop(free)
        heappush(busy, (end, lane))
        found[index] = lane
    return found
