"""What does a SCALE-Sim table say? One layer a row: convolutions, or matrix products.

The header tells which. A convolution's columns are read by position, as SCALE-Sim does::

    Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
    Layer, M, N, K,

A product is (M × K)·(K × N). Sizes include any padding; there are no biases. Source: SCALE-Sim's
topology files. We depart from its reader where that one loses or miscounts something:

- The final comma may be missing; the mode is taken from the header, never from the caller.
- The size of an output is rounded down, as a convolution's is; SCALE-Sim rounds up.
- Rows marked as depthwise (``_dw`` in the name, a field ``#dw``, or ``DP`` in the name as in
  SCALE-Sim) are one layer with a group per channel.
"""  # noqa: E501 - a header is one line

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prema_gym.errors import ConfigError, located
from prema_gym.networks.convolution import Conv2d
from prema_gym.networks.importers.naming import UniqueNames
from prema_gym.networks.layers import Layer, Linear
from prema_gym.networks.network import Phase
from prema_gym.networks.tensor import Tensor

_CONVOLUTION = (
    "IFMAP Height",
    "IFMAP Width",
    "Filter Height",
    "Filter Width",
    "Channels",
    "Num Filter",
    "Strides",
)
_PRODUCT = ("M", "N", "K")
# What each heading of a convolution must contain: their spelling varies from file to file.
_KEYWORDS = ("ifmap", "ifmap", "filter", "filter", "channel", "filter", "stride")

_DEPTHWISE_FIELD = "#dw"
_SIZE = re.compile(r"0*[1-9][0-9]{0,8}")
_RATIO = re.compile(r"[0-9]+:[0-9]+")


@dataclass(frozen=True)
class _Line:
    """A line that is not empty.

    Attributes:
        where: File and line number, for messages.
        fields: Its fields without blanks around them; empty ones at the end are dropped.
    """

    where: str
    fields: tuple[str, ...]

    def field(self, index: int) -> str:
        """A field, empty if the line ends before it."""
        return self.fields[index] if index < len(self.fields) else ""


@dataclass(frozen=True)
class _Header:
    """What the columns mean.

    Attributes:
        sizes: The sizes that follow a layer's name.
        extra: Names of further columns by position, empty ones left out.
        width: Number of columns.
    """

    sizes: tuple[str, ...]
    extra: dict[int, str]
    width: int

    def column(self, name: str) -> int | None:
        """Position of the further column whose heading begins with ``name``, if there is one."""
        found = (at for at, heading in self.extra.items() if _letters(heading).startswith(name))
        return next(found, None)


@dataclass(frozen=True)
class _Row:
    """One layer as written."""

    where: str
    name: str
    sizes: tuple[int, ...]
    depthwise: bool

    def has_lone_filter(self) -> bool:
        """Whether it looks like a depthwise layer, but is not marked as one."""
        if len(self.sizes) == len(_PRODUCT) or self.depthwise:
            return False
        _, _, height, width, channels, filters, _ = self.sizes
        return filters == 1 < channels and height * width > 1


def read(path: str, *, lenient: bool = False) -> tuple[tuple[Phase, ...], list[str]]:
    """The layers of a table as one phase, and notes on how it was read.

    Args:
        path: The file.
        lenient: Skip rows that are wrong, and list them.

    Raises:
        ConfigError: The file cannot be read, has no known header or no layer, or a row has a value
            that is not allowed; the message names the file and the line.
    """
    lines = _lines(path)
    if not lines:
        raise ConfigError(f"{path}: is empty; {_ALLOWED}")
    header = _header(lines[0])
    titles = [line for line in lines[1:] if len(line.fields) == 1]
    given = [line for line in lines[1:] if len(line.fields) > 1]
    rows = []
    for line in given:
        with located(line.where):
            rows.append(_row(line, header))
    if not rows:
        raise ConfigError(f"{path}: has a header but no layer below it")
    names = UniqueNames()
    layers = tuple(_layer(row, names.give(row.name)) for row in rows)
    return (Phase(layers),), _notes(header, given, rows, titles)


def _lines(path: str) -> list[_Line]:
    """The lines that hold anything, split into fields."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # leaves a byte order mark out
    except OSError as error:
        raise ConfigError(f"cannot read {path!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path!r} is not UTF-8 text") from error
    separator = "," if "," in text else "\t"
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):
        fields = [field.strip() for field in line.split(separator)]
        while fields and not fields[-1]:
            fields.pop()
        if fields:
            lines.append(_Line(f"{path}, line {number}", tuple(fields)))
    return lines


def _letters(heading: str) -> str:
    """A heading without case, blanks and signs, so that spellings compare."""
    return "".join(c for c in heading.lower() if c.isalnum())


_ALLOWED = (
    f"the first line must be 'Layer, {', '.join(_PRODUCT)}' or "
    f"'Layer name, {', '.join(_CONVOLUTION)}'"
)


def _header(line: _Line) -> _Header:
    """What the columns are, read off the first line."""
    headings = [_letters(field) for field in line.fields]
    if tuple(headings[1:4]) == ("m", "n", "k"):
        sizes: tuple[str, ...] = _PRODUCT
    elif len(headings) > len(_KEYWORDS) and all(map(str.__contains__, headings[1:], _KEYWORDS)):
        sizes = _CONVOLUTION
    else:
        raise ConfigError(f"{line.where}: {_ALLOWED}, got {', '.join(line.fields)!r}")
    first = 1 + len(sizes)
    extra = {at: name for at, name in enumerate(line.fields) if at >= first and name}
    return _Header(sizes, extra, len(line.fields))


def _row(line: _Line, header: _Header) -> _Row:
    """A row's sizes, each checked; never more or fewer than the header names."""
    name = line.field(0)
    if not name:
        raise ConfigError(f"the layer has no name, got {', '.join(line.fields)!r}")
    sizes = tuple(
        _size(line, field, line.field(at)) for at, field in enumerate(header.sizes, start=1)
    )
    further = {at: line.field(at) for at in range(1 + len(sizes), len(line.fields))}
    marked = _DEPTHWISE_FIELD in map(str.lower, further.values())
    for at, value in further.items():
        if at >= header.width and value and value.lower() != _DEPTHWISE_FIELD:
            raise ConfigError(
                f"{value!r} stands beyond the {header.width} columns that the "
                "header names: is it the header of another kind of table?"
            )
    _check_batch(line, header.column("batch"))
    _check_sparsity(line, header.column("sparsity"))
    is_depthwise = marked or "_dw" in name.lower() or "DP" in name
    return _Row(line.where, name, sizes, is_depthwise and header.sizes == _CONVOLUTION)


def _size(line: _Line, field: str, text: str) -> int:
    """A positive number of at most nine digits; a symbol, a gap or ``1 2`` is an error."""
    if not _SIZE.fullmatch(text):
        raise ConfigError(
            f"{field} must be a whole number from 1 to 999999999, got {text!r} "
            f"in {', '.join(line.fields)!r}"
        )
    return int(text)


def _check_batch(line: _Line, column: int | None) -> None:
    """Only a batch of 1: how many inputs a task has is the scenario's to say."""
    if column is not None and line.field(column) not in ("", "1"):
        raise ConfigError(
            f"Batch Size must be 1 or empty, got {line.field(column)!r}: "
            "a scenario's batch_sizes say how many inputs a task has"
        )


def _check_sparsity(line: _Line, column: int | None) -> None:
    text = "" if column is None else line.field(column)
    if text and not _RATIO.fullmatch(text):
        raise ConfigError(f"Sparsity must be N:M, such as 2:4, got {text!r}")


def _layer(row: _Row, name: str) -> Layer:
    """A row as a layer of ours."""
    with located(row.where):
        if len(row.sizes) == len(_PRODUCT):
            m, n, k = row.sizes
            return Linear(name, Tensor((m, k)), out_features=n, bias=False)
        height, width, kernel_h, kernel_w, channels, filters, stride = row.sizes
        return Conv2d(
            name,
            Tensor((channels, height, width)),
            out_channels=_out_channels(row, channels, filters),
            kernel=(kernel_h, kernel_w),
            stride=stride,
            groups=channels if row.depthwise else 1,
            bias=False,
        )


def _out_channels(row: _Row, channels: int, filters: int) -> int:
    """Channels of the result.

    A row named ``DP`` gives the filters of each channel, as in SCALE-Sim. The other two marks have
    no definition: one filter means one a channel, and more are the channels of the result.
    """
    if row.depthwise and ("DP" in row.name or filters == 1):
        return channels * filters
    return filters


def _notes(
    header: _Header, given: Sequence[_Line], rows: Sequence[_Row], titles: Sequence[_Line]
) -> list[str]:
    """What a reader of the numbers should know."""
    notes = []
    if titles:
        numbers = ", ".join(line.where.rsplit(" ", 1)[1] for line in titles)
        notes.append(f"{_count(len(titles), 'row')} with a name only skipped (line {numbers})")
    unknown = [
        name for name in header.extra.values() if not _letters(name).startswith(("batch", "spars"))
    ]
    if unknown:
        notes.append(f"columns ignored: {', '.join(unknown)}")
    sparsity = header.column("sparsity")
    sparse = 0 if sparsity is None else sum(_is_sparse(line.field(sparsity)) for line in given)
    if sparse:
        notes.append(f"Sparsity ignored: {_count(sparse, 'layer')} taken as dense")
    literal = sum(row.depthwise and row.sizes[4] == 1 for row in rows)
    if literal:
        notes.append(
            f"{_count(literal, 'row')} marked depthwise with Channels 1 taken as written: "
            "write the number of channels for a whole depthwise layer"
        )
    lone = sum(row.has_lone_filter() for row in rows)
    if lone:
        notes.append(
            f"{_count(lone, 'row')} with 1 filter over several channels taken as written: "
            "put _dw into the name of a depthwise layer"
        )
    return notes


def _is_sparse(ratio: str) -> bool:
    kept, _, of = ratio.partition(":")
    return kept != of


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
