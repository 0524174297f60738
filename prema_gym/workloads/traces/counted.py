"""When did requests arrive that a file only counts? Drawn within their minute or window, by seed.

Azure Functions 2019 counts the calls of each function in each minute: they are spread over it
evenly at random, as a Poisson process of that many arrivals is. ServeGen gives the rate of windows
and the law that it fitted to their gaps: as many requests as the rate says, with gaps of that law,
stretched to fill the window exactly, so that the count is the recorded one.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prema_gym.workloads.fields import IntArray
from prema_gym.workloads.traces.values import (
    NS_PER_S,
    BadValueError,
    times,
    whole_numbers,
)

MOST_REQUESTS = 50_000_000
"""Requests of one file: 400 MB of times. A day of all functions of 2019 is twenty times as much."""
_MINUTE_NS = 60 * NS_PER_S
_MOST = 1e9  # requests a second, or of a shape: no more fit 64 bits of nanoseconds
LAST_MINUTE = 2**63 // _MINUTE_NS - 1
"""Later ones are beyond 64 bits of nanoseconds."""
_PATTERNS = ("Gamma", "Weibull", "")


class Counted(NamedTuple):
    """Requests of a file that counts them."""

    times: IntArray  # (n,) [ns]
    places: IntArray  # (n,) line of each, counted from 0


def in_minutes(minutes: IntArray, counts: npt.NDArray[np.int32], seed: int) -> Counted:
    """Spread calls over their minutes.

    Args:
        minutes: Number of each column, (m,).
        counts: Calls of each line and minute, int32 (lines, m).
        seed: Places them.

    Raises:
        BadValueError: There are too many.
    """
    total = int(counts.sum(dtype=np.int64))
    _check_count(total)
    lines, _ = counts.shape
    starts = np.repeat(np.tile(minutes * _MINUTE_NS, lines), counts.ravel())
    places = np.repeat(np.arange(lines), counts.sum(axis=1))
    within = np.random.default_rng(seed).integers(0, _MINUTE_NS, total)
    return Counted(starts + within, places)


def in_windows(rows: Sequence[Sequence[str]], seed: int) -> Counted:
    """Draw the requests of windows.

    Args:
        rows: The texts of each line, six of them.
        seed: Draws their gaps.

    Raises:
        BadValueError: A window is none, begins before the one in front of it, or all of them have
            too many requests.
    """
    columns = list(zip(*rows, strict=True))
    starts = times(columns[0], "s")
    rates = _numbers(columns[1], "a rate")
    shapes = _numbers(columns[4], "a shape")
    steps = np.diff(starts)
    if starts.dtype == np.object_:
        raise BadValueError(len(starts) - 1, "begins more than 292 years after 0")
    if (steps <= 0).any():
        index = int((steps <= 0).argmax()) + 1
        raise BadValueError(index, "begins no later than the window in front of it")
    # The last window is as long as the one before it: the file does not say.
    last = steps[-1:] if len(steps) else np.array([600 * NS_PER_S])
    lengths = np.concatenate([steps, last])
    with np.errstate(over="ignore"):  # of rates near the largest float: inf, which is too many
        expected = np.rint(rates * (lengths / NS_PER_S))
    _check_count(expected.sum())  # before they are whole numbers: a rate may be beyond 64 bits
    counts = expected.astype(np.int64)
    rng = np.random.default_rng(seed)
    found = [np.empty(0, np.int64)]
    for index, count in enumerate(counts.tolist()):
        pattern, shape = columns[3][index].strip(), float(shapes[index])
        if pattern not in _PATTERNS:
            raise BadValueError(
                index, f"pattern {reprlib.repr(pattern)} is neither Gamma nor Weibull"
            )
        if count and (not pattern or shape <= 0):
            raise BadValueError(
                index, f"has a rate, but pattern {reprlib.repr(pattern)} of shape {shape:g}"
            )
        if count:
            draw = rng.gamma if pattern == "Gamma" else rng.weibull
            gaps = np.cumsum(draw(shape, size=count + 1))
            share = gaps[:-1] / gaps[-1] if gaps[-1] > 0 else np.zeros(count)
            offset = (share * float(lengths[index])).astype(np.int64)
            found.append(np.asarray(starts[index] + offset, dtype=np.int64))
    return Counted(np.concatenate(found), np.repeat(np.arange(len(rows)), counts))


def _check_count(total: float) -> None:
    if total > MOST_REQUESTS:
        raise BadValueError(
            0, f"counts {total:.0f} requests, at most {MOST_REQUESTS}: cut the file"
        )


def _numbers(texts: Sequence[str], what: str) -> npt.NDArray[np.float64]:
    """Numbers from 0; an empty text is 0."""
    found = np.zeros(len(texts))
    for index, text in enumerate(texts):
        try:
            found[index] = float(text.strip() or "0")
        except ValueError:
            found[index] = np.nan
        if not 0 <= found[index] <= _MOST:
            raise BadValueError(
                index, f"{reprlib.repr(text)} is not {what}: a number from 0 to {_MOST:.0e}"
            )
    return found


def counts_of(columns: Sequence[Sequence[str]]) -> npt.NDArray[np.int32]:
    """Calls by line and minute from the texts of each minute's column, (lines, minutes)."""
    found = [whole_numbers(texts, 0, MOST_REQUESTS) for texts in columns]
    return np.stack(found, axis=1).astype(np.int32)
