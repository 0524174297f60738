"""What do the files of recorded traces look like, and when did their requests arrive?

A format follows from the file's ending and the names of its columns; what is none of the formats is
refused. Times are whole nanoseconds, from the file's own digits and without floats, so a clock that
counts from 1970 is as exact as one that starts at 0. Sources: the README of each data set.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation

from prema_gym.errors import ConfigError

NS_PER_S = 10**9
NS_PER_MS = 10**6

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


@dataclass(frozen=True)
class Trace:
    """What a file says.

    Attributes:
        times: Arrivals [ns], in the file's order.
        passed_over: Names of the columns that say something else.
    """

    times: list[int]
    passed_over: tuple[str, ...] = ()


def csv_trace(path: str, text: str) -> Trace:
    """The rows of a CSV file."""
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        header = [name.strip() for name in next(filter(None, rows), [])]
        if not header:
            return Trace([])
        columns = _known_columns(header)
        positions = [header.index(name) for name in columns]
        arrival = _CSV_FORMATS[columns]
        times: list[int] = []
        for row in filter(None, rows):
            if len(row) != len(header):
                raise ValueError(f"{len(row)} fields under {len(header)} columns")
            times.append(arrival(*(row[i].strip() for i in positions)))
    except (ValueError, csv.Error) as error:
        raise ConfigError(f"{path!r}, line {rows.line_num}: {error}") from error
    return Trace(times, tuple(name for name in header if name and name not in columns))


def _known_columns(header: list[str]) -> tuple[str, ...]:
    """The columns that tell the arrivals: those of exactly one format, each there once."""
    found = [names for names in _CSV_FORMATS if set(names) <= set(header)]
    if len(found) != 1 or any(header.count(name) > 1 for name in found[0]):
        known = ", ".join(" with ".join(names) for names in _CSV_FORMATS)
        given = textwrap.shorten(", ".join(header), 80, placeholder=" …")
        raise ValueError(
            f"needs a row for each request and exactly one of the columns {known} (counts or rates "
            f"per interval have no arrival times); got {given}"
        )
    return found[0]


def _ours_in_ms(arrival: str) -> int:
    return _nanoseconds(arrival, NS_PER_MS)


def _ours_in_s(arrival: str) -> int:
    return _nanoseconds(arrival, NS_PER_S)


def _azure_llm(timestamp: str) -> int:
    """Nanoseconds since 1970 of a date and time such as ``2023-11-16 18:17:03.9799600``."""
    match = _DATE_TIME.fullmatch(timestamp)
    if match is None:
        raise ValueError(f"{reprlib.repr(timestamp)} is not a date and time")
    seconds, fraction, zone = match.groups(default="")
    offset = "+00:00" if zone in ("", "Z") else zone
    since = datetime.fromisoformat(seconds + offset) - _EPOCH
    return since // timedelta(seconds=1) * NS_PER_S + int(fraction.ljust(9, "0"))


def _azure_functions(end: str, duration: str) -> int:
    # May lie before 0: a call that was under way when the recording began.
    return _nanoseconds(end, NS_PER_S) - _nanoseconds(duration, NS_PER_S)


_CSV_FORMATS: dict[tuple[str, ...], Callable[..., int]] = {
    ("arrival_ms",): _ours_in_ms,
    ("arrival_s",): _ours_in_s,
    ("TIMESTAMP",): _azure_llm,
    ("end_timestamp", "duration"): _azure_functions,
}
"""Columns → nanoseconds from a row's texts in these columns; a ValueError says what is wrong."""


@dataclass(frozen=True)
class _Lines:
    """A format of JSON lines.

    Attributes:
        time: Name of the arrival.
        unit: Nanoseconds in one.
        others: Names that tell this format from others, if the time's does not.
        never: Names that speak against it.
    """

    time: str
    unit: int
    others: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def fits(self, request: Mapping[str, object]) -> bool:
        """Whether an object is of this format, by its names."""
        if self.time not in request or not self.never.isdisjoint(request):
            return False
        return request.keys() >= self.others


_OF_CHATS = frozenset({"chat_id", "parent_chat_id", "turn"})

_JSONL_FORMATS = (
    _Lines("arrival_ms", NS_PER_MS),
    _Lines("arrival_s", NS_PER_S),
    _Lines("timestamp", NS_PER_S, _OF_CHATS),  # rows have hash_ids, too
    _Lines("timestamp", NS_PER_MS, frozenset({"hash_ids"}), never=_OF_CHATS),
)


def jsonl_trace(path: str, text: str) -> Trace:
    """The objects of a file of JSON lines; the first tells the format."""
    times: list[int] = []
    names: dict[str, None] = {}
    known: _Lines | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            try:
                request = _object(line)
                known = _format_of(request, known)
                times.append(_nanoseconds(_number(request, known.time), known.unit))
            except ValueError as error:
                raise ConfigError(f"{path!r}, line {number}: {error}") from error
            names |= dict.fromkeys(request)
    passed_over = (name for name in names if known is None or name != known.time)
    return Trace(times, tuple(passed_over))


def _object(line: str) -> dict[str, object]:
    """One JSON object."""
    try:
        request = json.loads(
            line,
            parse_float=Decimal,
            parse_constant=Decimal,
            object_pairs_hook=_each_once,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at column {error.colno}") from error
    except _TwiceError:
        raise
    except (InvalidOperation, RecursionError, ValueError) as error:  # of very many digits
        raise ValueError("a number or a nesting beyond all measure") from error
    if not isinstance(request, dict):
        raise ValueError("needs an object with the arrival of a request")
    return request


class _TwiceError(ValueError):
    """A name stands twice in an object."""


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object in which no name stands twice.

    Raises:
        _TwiceError: One does: which of its values is meant, nothing tells.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"gives {reprlib.repr(twice)} twice")
    return found


def _format_of(request: Mapping[str, object], known: _Lines | None) -> _Lines:
    """The format of an object: that of the first one, if nothing speaks against it.

    Raises:
        ValueError: It has no arrival, nothing tells its unit, or it is of another format.
    """
    found = next((one for one in _JSONL_FORMATS if one.fits(request)), None)
    if {"arrival_ms", "arrival_s"} <= request.keys():
        raise ValueError("gives exactly one of arrival_ms and arrival_s")
    if known is not None:
        if found not in (None, known):
            raise ValueError(f"is of another format than the first line, {known.time} as it is")
        if known.time in request:
            return known
    if found is not None:
        return found
    if "timestamp" in request:
        raise ValueError(
            "nothing tells whether timestamp is in ms (beside hash_ids) or in s (beside chat_id, "
            "parent_chat_id and turn): call it arrival_ms or arrival_s"
        )
    raise ValueError("needs an object with the arrival_ms, arrival_s or timestamp of a request")


def _number(request: Mapping[str, object], name: str) -> int | Decimal:
    value = request[name]
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"{name} {reprlib.repr(value)} is not a number")
    return value


def _nanoseconds(value: str | int | Decimal, unit: int) -> int:
    """A time as the nearest whole nanosecond, ties to even.

    Args:
        value: As the file gives it.
        unit: Nanoseconds in one.

    Raises:
        ValueError: It is no number, or below 0, which often stands for a missing one.
    """
    # Decimal alone would take 1_000, and digits of other scripts.
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError(f"{reprlib.repr(value)} is not a number")
    time = Decimal(value)
    if not time.is_finite() or not 0 <= time < _MOST_TIME:
        raise ValueError(f"{reprlib.repr(str(value))} is not a time from 0 to {_MOST_TIME:.0e}")
    return int(_EXACT.to_integral_value(_EXACT.multiply(time, Decimal(unit))))
