"""What do the files of traces look like from inside? Each as blocks of texts by column.

CSV and JSON lines are read with the standard library, Parquet with pyarrow (extra: frames). A block
has some ten thousand lines, so a file of a million needs little more memory than its numbers.
"""

from __future__ import annotations

import csv
import json
import reprlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import TextIO

from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.files import as_given

_BLOCK = 65_536
_CELLS = 4_000_000  # of a block: fewer lines of very many columns


class BadLineError(ValueError):
    """A line is not what it should be.

    Attributes:
        line: Its number.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Block:
    """Some lines of a file.

    Attributes:
        lines: Number of each line (in Parquet: row) from 1, (n,).
        texts: Gives the texts of a column, (n,), by its name and whether numbers are asked for.
        shapes: The names of columns, in the file's order, and the first line that has just these:
            one entry but for JSON, whose objects may differ. Those of an earlier block are left
            out.
    """

    lines: Sequence[int]
    texts: Callable[[str, bool], Sequence[str]]
    shapes: Sequence[tuple[int, list[str]]] = field(default=())


def blocks(path: str) -> Iterator[Block]:
    """A file's lines, in its order; nothing of a file without any.

    Raises:
        ConfigError: It cannot be read, or its ending is none that is known.
        BadLineError: A line has too few fields, or is not JSON, say.
        MissingExtraError: It is Parquet, and pyarrow is not installed.
    """
    ending = Path(path).suffix.lower()
    if ending == ".parquet":
        yield from _parquet_blocks(path)
        return
    read = {".csv": _csv_blocks, ".jsonl": _json_blocks}.get(ending)
    if read is None:
        raise ConfigError(
            f"the name of a trace must end in .csv, .jsonl or .parquet, got {as_given(path)!r}"
        )
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as text:
            yield from read(text)
    except OSError as error:
        raise ConfigError(f"cannot read {as_given(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{as_given(path)!r} is not UTF-8 text") from error


# --- CSV -------------------------------------------------------------------------------------


def _csv_blocks(text: TextIO) -> Iterator[Block]:
    rows = csv.reader(text, skipinitialspace=True, strict=True)
    try:
        names = [name.strip() for name in next(filter(None, rows), [])]
        shapes = [(rows.line_num, names)]
        while names:
            found: list[list[str]] = []
            lines: list[int] = []
            for row in islice(filter(None, rows), min(_BLOCK, 1 + _CELLS // len(names))):
                if len(row) != len(names):
                    raise ValueError(f"{len(row)} fields under {len(names)} columns")
                found.append(row)
                lines.append(rows.line_num)
            if not found and not shapes:
                return
            yield Block(lines, _Columns(names, found), shapes)
            shapes = []
    except UnicodeDecodeError:
        raise
    except (ValueError, csv.Error) as error:
        raise BadLineError(rows.line_num, str(error)) from error


class _Columns:
    """The texts of rows by column."""

    def __init__(self, names: list[str], rows: list[list[str]]) -> None:
        self._names, self._rows = names, rows

    def __call__(self, name: str, is_number: bool) -> list[str]:
        """One column."""
        place = self._names.index(name)
        return [row[place].strip() for row in self._rows]


# --- JSON lines ------------------------------------------------------------------------------


def _json_blocks(text: TextIO) -> Iterator[Block]:
    known: set[tuple[str, ...]] = set()
    numbered = enumerate(text, start=1)
    while True:
        found: list[dict[str, object]] = []
        lines: list[int] = []
        shapes: list[tuple[int, list[str]]] = []
        for number, line in islice(((n, x) for n, x in numbered if not x.isspace()), _BLOCK):
            try:
                one = _object(line)
            except ValueError as error:
                raise BadLineError(number, str(error)) from error
            found.append(one)
            lines.append(number)
            shape = tuple(one)
            if shape not in known:
                known.add(shape)
                shapes.append((number, list(shape)))
        if not found:
            return
        yield Block(lines, _Members(found, lines), shapes)


class _Members:
    """The members of objects by name."""

    def __init__(self, found: list[dict[str, object]], lines: list[int]) -> None:
        self._found, self._lines = found, lines

    def __call__(self, name: str, is_number: bool) -> list[str]:
        """One member of each."""
        texts: list[str] = []
        for one, line in zip(self._found, self._lines, strict=True):
            value = one.get(name)
            fine = isinstance(value, int | Decimal) and not isinstance(value, bool)
            if not fine and (is_number or not isinstance(value, str)):
                what = "has no" if name not in one else f"{name} {reprlib.repr(value)} is not a"
                rest = name if name not in one else "number" if is_number else "text or number"
                raise BadLineError(line, f"{what} {rest}")
            texts.append(str(value))
        return texts


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


# --- Parquet ---------------------------------------------------------------------------------


def _parquet_blocks(path: str) -> Iterator[Block]:
    try:
        import pyarrow
        from pyarrow import compute, parquet
    except ImportError as error:
        raise MissingExtraError("a trace in Parquet", "pyarrow", "frames") from error

    def column(batch: object, name: str) -> list[str]:
        # Arrow writes the shortest text that is the number; so 0.1 s is a tenth, to the digit.
        texts = compute.cast(batch.column(name), pyarrow.string())  # type: ignore[attr-defined]
        return ["" if one is None else one.strip() for one in texts.to_pylist()]

    try:
        file = parquet.ParquetFile(path)
        shapes = [(1, list(file.schema_arrow.names))]
        row = 1
        for batch in file.iter_batches(_BLOCK):
            lines = range(row, row + batch.num_rows)
            yield Block(lines, lambda name, _, batch=batch: column(batch, name), shapes)  # type: ignore[misc]
            row, shapes = row + batch.num_rows, []
    except OSError as error:
        reason = error.strerror or _first_line(error)
        raise ConfigError(f"cannot read {as_given(path)!r}: {reason}") from error
    except pyarrow.ArrowException as error:
        raise ConfigError(
            f"cannot read {as_given(path)!r} as Parquet: {_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
