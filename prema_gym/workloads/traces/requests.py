"""Which requests does a recorded trace hold? `read_requests`: all that its file says, in order.

Times are nanoseconds since the first request. What a scenario makes of them is in
`prema_gym.workloads.traces.replay`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prema_gym.errors import ConfigError
from prema_gym.files import as_given
from prema_gym.workloads.fields import IntArray
from prema_gym.workloads.traces.counted import LAST_MINUTE, counts_of, in_minutes, in_windows
from prema_gym.workloads.traces.files import BadLineError, Block, blocks
from prema_gym.workloads.traces.formats import (
    COUNTS,
    FIELDS,
    FORMATS,
    WINDOWS,
    Column,
    TraceFormat,
    find_format,
    is_minute,
)
from prema_gym.workloads.traces.log import TraceLog
from prema_gym.workloads.traces.values import (
    DATE,
    BadValueError,
    Nanoseconds,
    times,
    whole_numbers,
)


@dataclass(frozen=True, eq=False)
class Requests:
    """What a file says of its requests, in order of arrival; equal ones keep the file's order.

    Attributes:
        times: Arrivals since the first [ns], int64 (n,), increasing.
        asked: What else it says of each, int64 (n,): ``network`` (position in ``names``),
            ``batch`` [inputs], ``priority``, ``allowance`` (from arrival to deadline, ns),
            ``input_length``, ``output_length``.
        names: What the file calls its networks.
        lines: Line of the file, or row, (n,).
        passed_over: Names of the columns that say something else.
        format: What the file is.
    """

    times: IntArray
    asked: Mapping[str, IntArray]
    names: tuple[str, ...]
    lines: IntArray
    passed_over: tuple[str, ...]
    format: str

    def taken(self, which: slice | IntArray) -> Requests:
        """Some of them, on a clock that starts with the first."""
        arrivals = self.times[which]
        return Requests(
            times=arrivals - arrivals[:1],
            asked={name: values[which] for name, values in self.asked.items()},
            names=self.names,
            lines=self.lines[which],
            passed_over=self.passed_over,
            format=self.format,
        )


def read_requests(log: TraceLog) -> Requests:
    """Read a trace; a file that has not changed since is not read again.

    Raises:
        ConfigError: The file cannot be read, holds no requests, or a line is wrong; the message
            names the file and the line.
    """
    return _read(log, file_state(log.file))


def file_state(path: str) -> tuple[int, ...]:
    """What tells a changed file from an unchanged one; empty where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=4)
def _read(log: TraceLog, state: tuple[int, ...]) -> Requests:
    del state  # which only tells one reading from another
    line = "row" if log.file.lower().endswith(".parquet") else "line"
    try:
        given = blocks(log.file)
        first = next(given, None)
        if first is None:
            raise ConfigError(f"{as_given(log.file)!r} has no requests")
        known = _format_of(log, first)
        take = {COUNTS: _from_counts, WINDOWS: _from_windows}.get(known.lines, _from_rows)
        found = _sorted(log, known, take(log, known, chain([first], given)))
    except BadLineError as error:
        raise ConfigError(f"{as_given(log.file)!r}, {line} {error.line}: {error}") from error
    for array in (found.times, found.lines, *found.asked.values()):
        array.flags.writeable = False
    return found


def _format_of(log: TraceLog, first: Block) -> TraceFormat:
    """The format of a file, by its first names; without the columns that are not read."""
    line, names = first.shapes[0]
    try:
        return find_format(
            Path(log.file).suffix.lower(),
            names,
            log.columns.columns,
            with_networks=log.maps_networks,
        )
    except ValueError as error:
        raise BadLineError(line, str(error)) from error


class _Found(NamedTuple):
    """What lines say, in the file's order."""

    times: Nanoseconds
    asked: Mapping[str, IntArray]
    lines: IntArray
    networks: Sequence[str]
    columns: Sequence[str]  # all that there are


def _sorted(log: TraceLog, known: TraceFormat, found: _Found) -> Requests:
    """Requests in order of arrival.

    Raises:
        BadLineError: They stand in another order where they should not.
        ConfigError: There are none (a file may count none), or their times span more than 64 bits
            of nanoseconds.
    """
    if not len(found.times):
        raise ConfigError(f"{as_given(log.file)!r} has no requests")
    back = np.flatnonzero(found.times[1:] < found.times[:-1])
    if len(back) and known.is_sorted and not log.sort:
        raise BadLineError(
            int(found.lines[back[0] + 1]),
            "arrives before the request in front of it: sort the file by arrival, or give "
            "sort = true in [trace]",
        )
    order: slice | IntArray = slice(None)
    if len(back):
        order = np.argsort(found.times, kind="stable")
    arrival = found.times[order]
    if int(arrival[-1]) - int(arrival[0]) >= 2**63:
        raise ConfigError(
            f"{as_given(log.file)!r} lasts longer than 2⁶³ nanoseconds, some 292 years"
        )
    read = {column.name for column in known.columns.values()}
    if known.lines == COUNTS:
        read |= set(filter(is_minute, found.columns))
    return Requests(
        times=np.asarray(arrival - arrival[0], dtype=np.int64),
        asked={name: values[order] for name, values in found.asked.items()},
        names=tuple(found.networks),
        lines=found.lines[order],
        passed_over=tuple(name for name in found.columns if name and name not in read),
        format=known.name,
    )


def _from_rows(log: TraceLog, known: TraceFormat, given: Iterable[Block]) -> _Found:
    """A request a line."""
    codes: dict[str, int] = {}
    parts: list[dict[str, Nanoseconds]] = []
    lines: list[IntArray] = []
    columns: dict[str, None] = {}
    for block in given:
        for line, names in block.shapes:
            columns |= dict.fromkeys(names)
            _hold_to(log, known, line, names)
        if block.lines:
            parts.append(_asked(known.columns, block, codes))
            lines.append(np.array(block.lines, dtype=np.int64))
    if not parts:
        raise ConfigError(f"{as_given(log.file)!r} has no requests")
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    arrival = joined.pop("arrival")
    return _Found(arrival, joined, np.concatenate(lines), list(codes), list(columns))


def _hold_to(log: TraceLog, known: TraceFormat, line: int, names: list[str]) -> None:
    """Refuse an object of another format than the first one.

    Raises:
        BadLineError: It is.
    """
    if "arrival" in log.columns.columns or not log.file.lower().endswith(".jsonl"):
        return
    own = [name for name in names if name in ("arrival_ms", "arrival_s")]
    if len(own) > 1:
        raise BadLineError(line, "gives exactly one of arrival_ms and arrival_s")
    other = next((one for one in FORMATS if one.fits(".jsonl", names)), None)
    if (other is not None and other.name != known.name) or (
        own and own[0] != known.columns["arrival"].name
    ):
        raise BadLineError(line, f"is of another format than the first line, {known.name} as it is")


def _asked(
    columns: Mapping[str, Column], block: Block, codes: dict[str, int]
) -> dict[str, Nanoseconds]:
    """What the lines of a block say, by field; ``codes`` numbers the networks' names."""
    found = {name: _values(name, column, block, codes) for name, column in columns.items()}
    if "end" in found:  # a call that was under way at the beginning may have arrived before 0
        found["arrival"] = found.pop("end") - found.pop("duration")
    if "deadline" in found:
        allowance = found.pop("deadline") - found["arrival"]
        if (allowance < 0).any():
            line = block.lines[int((allowance < 0).argmax())]
            raise BadLineError(line, "its deadline is before its arrival")
        found["slo"] = allowance
    if "slo" in found:
        found["allowance"] = found.pop("slo")
    return found


def _values(name: str, column: Column, block: Block, codes: dict[str, int]) -> Nanoseconds:
    """The values of one field.

    Raises:
        BadLineError: One is not what it should be.
    """
    of = FIELDS[name]
    texts = block.texts(column.name, name != "network" and column.unit != DATE)
    try:
        if of.is_time:
            return times(texts, column.unit)
        if of.most is not None:
            # A failed call of BurstGPT has an answer of no tokens; it is played with one.
            least = 0 if name in ("input_length", "output_length") else 1
            return whole_numbers(texts, least, of.most)
    except BadValueError as error:
        raise BadLineError(block.lines[error.index], f"{column.name}: {error}") from error
    return np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.int64)


def _from_counts(log: TraceLog, known: TraceFormat, given: Iterable[Block]) -> _Found:
    """A function a line, and how often it is called in each minute."""
    counts: list[npt.NDArray[np.int32]] = []
    functions: list[str] = []
    lines: list[int] = []
    names: list[str] = []
    for block in given:
        names = names or block.shapes[0][1]
        minutes = [name for name in names if is_minute(name)]
        if not block.lines:
            continue
        with _at_lines(block.lines):
            counts.append(counts_of([block.texts(name, True) for name in minutes]))
        functions += block.texts("HashFunction", False)
        lines += block.lines
    if not lines:
        raise ConfigError(f"{as_given(log.file)!r} has no requests")
    numbers = _minutes(log, minutes)
    with _at_lines(lines):
        found = in_minutes(numbers, np.concatenate(counts), log.seed)
    asked = {"network": found.places} if "network" in known.columns else {}
    return _Found(found.times, asked, np.array(lines)[found.places], functions, names)


def _minutes(log: TraceLog, names: list[str]) -> IntArray:
    """The numbers of minutes, each there once."""
    try:
        numbers = whole_numbers(names, 0, LAST_MINUTE)
    except BadValueError as error:
        raise ConfigError(f"{as_given(log.file)!r}: the minute {error}") from error
    if len(np.unique(numbers)) < len(numbers):
        raise ConfigError(f"{as_given(log.file)!r} has two columns of the same minute")
    return numbers


def _from_windows(log: TraceLog, known: TraceFormat, given: Iterable[Block]) -> _Found:
    """A window a line, without a header."""
    rows: list[Sequence[str]] = []
    lines: list[int] = []
    for block in given:
        for line, names in block.shapes:
            rows.append(names)
            lines.append(line)
        rows += list(zip(*(block.texts(name, False) for name in rows[0]), strict=True))
        lines += block.lines
    with _at_lines(lines):
        found = in_windows(rows, log.seed)
    return _Found(found.times, {}, np.array(lines)[found.places], (), ())


@contextmanager
def _at_lines(lines: Sequence[int]) -> Iterator[None]:
    """Say of a bad value in which line it stands."""
    try:
        yield
    except BadValueError as error:
        raise BadLineError(lines[error.index], str(error)) from error
