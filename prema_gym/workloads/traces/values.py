"""How do texts of a trace become whole numbers, exactly and a million at a time?

Times are whole nanoseconds, from the file's own digits and without floats, so a clock that counts
from 1970 is as exact as one that starts at 0. Plain numbers are read a character at a time of all
rows at once; whatever is not plain (an exponent, digits beyond the nanosecond, a zone) is read one
by one, as exactly.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import numpy.typing as npt

from prema_gym.workloads.fields import IntArray

NS_PER_S = 10**9
DATE = "date"
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": NS_PER_S}
"""Nanoseconds in each unit that a time may have; a ``date`` is none."""

# Largest number a file may give as a time: in ms, thirty million years.
_MOST_TIME = Decimal(10**18)
# Enough digits that a time below _MOST_TIME is rounded once, to the nanosecond, and not before.
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# As much of a date as the standard library reads on every version, the fraction, the zone.
_DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII
)
# A number, or a word for what is none, so that the message can say why.
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
# Digits that a 64-bit number holds whatever they are, and characters that such a number has.
_SAFE_DIGITS = 18
_WIDEST = 32
_SECONDS_WIDTH = len("2023-11-16 18:17:03")

# Whole nanoseconds: int64 where all fit, Python's own numbers (dtype object) where one does not.
Nanoseconds = IntArray | npt.NDArray[np.object_]


class BadValueError(ValueError):
    """One of the texts is not what it should be.

    Attributes:
        index: Which.
    """

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def times(texts: Sequence[str], unit: str) -> Nanoseconds:
    """Times as the nearest whole nanoseconds, ties to even.

    Args:
        texts: As a file gives them.
        unit: One of ``UNITS``, or ``"date"``: a date and time, without a zone as UTC.

    Raises:
        BadValueError: One is no number, no date, or below 0, which often stands for a missing one.
    """
    if unit == DATE:
        found, plain = _plain_dates(texts)
        return _rest(found, plain, texts, date_time)
    scale = UNITS[unit]
    digits, behind, plain = _plain_numbers(texts)
    # Behind the point are no more digits than the unit has: nothing is rounded.
    most = len(str(scale)) - 1
    plain &= behind <= most
    factor = scale // 10 ** np.minimum(behind, most)
    plain &= digits <= (2**63 - 1) // factor
    found = np.where(plain, digits, 0) * factor
    return _rest(found, plain, texts, lambda text: nanoseconds(text, scale))


def whole_numbers(texts: Sequence[str], least: int, most: int) -> IntArray:
    """Whole numbers, also written as ``4.0``.

    Raises:
        BadValueError: One is none, or outside the bounds.
    """

    def one(text: str) -> int:
        number = _decimal(text)
        if not number.is_finite() or number != number.to_integral_value():
            raise ValueError(f"{reprlib.repr(text)} is not a whole number")
        return int(number) if abs(number) <= 2**62 else 2**62

    digits, behind, plain = _plain_numbers(texts)
    found = _rest(digits, plain & (behind == 0), texts, one)
    wrong = (found < least) | (found > most)
    if wrong.any():
        index = int(wrong.argmax())
        raise BadValueError(
            index, f"{reprlib.repr(texts[index])} is not a whole number from {least} to {most}"
        )
    return np.asarray(found, dtype=np.int64)


def nanoseconds(text: str, unit: int) -> int:
    """A time as the nearest whole nanosecond, ties to even.

    Args:
        text: As the file gives it.
        unit: Nanoseconds in one.

    Raises:
        ValueError: It is no number, or below 0.
    """
    time = _decimal(text)
    if not time.is_finite() or not 0 <= time < _MOST_TIME:
        raise ValueError(f"{reprlib.repr(text)} is not a time from 0 to {_MOST_TIME:.0e}")
    return int(_EXACT.to_integral_value(_EXACT.multiply(time, Decimal(unit))))


def date_time(text: str) -> int:
    """Nanoseconds since 1970 of a date and time such as ``2023-11-16 18:17:03.9799600``.

    Raises:
        ValueError: It is none.
    """
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{reprlib.repr(text)} is not a date and time")
    seconds, fraction, zone = match.groups(default="")
    offset = "+00:00" if zone in ("", "Z") else zone
    since = datetime.fromisoformat(seconds + offset) - _EPOCH
    return since // timedelta(seconds=1) * NS_PER_S + int(fraction.ljust(9, "0"))


def _decimal(text: str) -> Decimal:
    # Decimal alone would take 1_000, and digits of other scripts.
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{reprlib.repr(text)} is not a number")
    return Decimal(text)


def _rest(
    found: IntArray,
    plain: npt.NDArray[np.bool_],
    texts: Sequence[str],
    read: Callable[[str], int],
) -> Nanoseconds:
    """Read one by one what is not plain.

    Raises:
        BadValueError: As ``read`` says.
    """
    if plain.all():
        return found
    beyond: Nanoseconds = found
    for index in np.flatnonzero(~plain).tolist():
        try:
            value = read(texts[index])
        except ValueError as error:
            raise BadValueError(index, str(error)) from error
        if beyond.dtype != np.object_ and abs(value) >= 2**63:
            beyond = beyond.astype(np.object_)
        beyond[index] = value
    return beyond


def _plain_numbers(texts: Sequence[str]) -> tuple[IntArray, IntArray, npt.NDArray[np.bool_]]:
    """Digits, and at most one point, of all texts at once.

    Returns:
        The number that a text's digits make, how many of them stand behind the point, and whether
        that is all there is to it; (n,) each.
    """
    digits = np.zeros(len(texts), dtype=np.int64)
    behind = np.zeros(len(texts), dtype=np.int64)
    count = np.zeros(len(texts), dtype=np.int64)
    pointed = np.zeros(len(texts), dtype=np.bool_)
    characters, plain = _characters(texts)
    for column in characters.T:
        is_digit = (column >= ord("0")) & (column <= ord("9"))
        is_point = (column == ord(".")) & ~pointed
        plain &= is_digit | is_point | (column == 0)
        count += is_digit
        more = is_digit & (count <= _SAFE_DIGITS)
        digits = np.where(more, digits * 10 + (column - np.int64(ord("0"))), digits)
        behind += is_digit & pointed
        pointed |= is_point
    return digits, behind, plain & (count > 0) & (count <= _SAFE_DIGITS)


def _plain_dates(texts: Sequence[str]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Dates and times of UTC, all at once, and which texts are plainly such."""
    found = np.zeros(len(texts), dtype=np.int64)
    texts = [text.removesuffix("+00:00").removesuffix("Z") for text in texts]
    nowhere = np.zeros(len(texts), dtype=np.bool_)
    if any(len(text) < _SECONDS_WIDTH for text in texts):
        return found, nowhere
    pattern = "0000-00-00 00:00:00"
    heads = [text[:_SECONDS_WIDTH] for text in texts]
    head, plain = _characters(heads)
    if not plain.all():
        return found, nowhere
    for column, expected in zip(head.T, pattern, strict=True):
        is_digit = (column >= ord("0")) & (column <= ord("9"))
        is_space = (column == ord(" ")) | (column == ord("T"))
        plain &= {"0": is_digit, " ": is_space}.get(expected, column == ord(expected))
    # What is not of this form is read one by one; here something stands for it.
    safe = [text if fine else "1970-01-01" for text, fine in zip(heads, plain, strict=True)]
    try:
        since = np.array(safe, dtype="datetime64[s]").astype(np.int64)
    except ValueError:  # a thirtieth of February among them
        return found, nowhere
    tails = [text[_SECONDS_WIDTH + 1 :] or "0" for text in texts]
    points = np.array([text[_SECONDS_WIDTH : _SECONDS_WIDTH + 1] in ("", ".") for text in texts])
    dangling = np.array([len(text) == _SECONDS_WIDTH + 1 for text in texts])
    fraction, behind, plain_tail = _plain_numbers(tails)
    lengths = np.array(list(map(len, tails)))
    plain &= points & ~dangling & plain_tail & (behind == 0) & (lengths <= 9)
    # Within what 64 bits of nanoseconds hold: the years 1678 to 2261.
    plain &= np.abs(since) < 9 * 10**9
    scaled = fraction * 10 ** np.clip(9 - lengths, 0, 9)
    return np.where(plain, since * NS_PER_S + scaled, 0), plain


def _characters(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """Texts as rows of ASCII codes, zeros behind their ends, and which are no longer than a number.

    Texts that are, or that are not ASCII, are rows of zeros.
    """
    plain = np.array([len(text) <= _WIDEST and text.isascii() for text in texts], dtype=np.bool_)
    kept = texts if plain.all() else [t if p else "" for t, p in zip(texts, plain, strict=True)]
    width = max(map(len, kept), default=0) or 1
    raw = np.array(kept, dtype=f"S{width}")
    return raw.view(np.uint8).reshape(len(texts), width), plain
