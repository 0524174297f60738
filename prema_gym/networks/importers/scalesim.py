"""What does a SCALE-Sim table say? One layer a row: convolutions, or matrix products.

The header tells which. A convolution's columns are read by position, as SCALE-Sim does::

    Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
    Layer, M, N, K,

A product is (M × K)·(K × N). Sizes include any padding; there are no biases. Source: SCALE-Sim's
topology files. We depart from its reader where that one loses or miscounts something:

- The final comma may be missing; the mode is taken from the header, never from the caller.
- The size of an output is rounded down, as a convolution's is; SCALE-Sim rounds up.
- Rows marked as depthwise are one layer with a group per channel. A mark is a field ``#dw``, or in
  the name the word ``dw``, or SCALE-Sim's own ``DP`` as a word or at the end (there: anywhere).
- Further columns are read by their heading: see ``scalesim_header``.
"""  # noqa: E501 - a header is one line

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prema_gym.errors import ConfigError, located
from prema_gym.networks.convolution import Conv2d
from prema_gym.networks.importers.naming import UniqueNames
from prema_gym.networks.importers.scalesim_header import (
    ALLOWED,
    DEPTHWISE,
    Header,
    Line,
    read_header,
)
from prema_gym.networks.layers import Layer, Linear
from prema_gym.networks.network import Phase
from prema_gym.networks.tensor import Tensor

_WORD = re.compile(r"(?<![a-z0-9])dw(?![a-z])", re.IGNORECASE)
# SCALE-Sim's mark, which it finds in ADPool too.
_PER_CHANNEL = re.compile(r"(?<![A-Z])DP(?![A-Za-z])")

_SIZE = re.compile(r"0*[1-9][0-9]{0,8}")
_RATIO = re.compile(r"[0-9]+:[0-9]+")
_MOST_REPEATS = 10_000
_MOST_LAYERS = 100_000
_MOST_LISTED = 5

Pair = tuple[int, int]


@dataclass(frozen=True)
class _Row:
    """One layer as written.

    Attributes:
        line: Its line.
        name: Its name.
        sizes: Those of the header.
        stride: Step along both directions, as are the others.
        dilation: Distance of taps.
        padding: Zeros at both ends.
        groups: Groups of channels.
        repeat: How many such layers there are.
        is_depthwise: Whether it is marked as that.
    """

    line: Line
    name: str
    sizes: tuple[int, ...]
    stride: Pair
    dilation: Pair
    padding: Pair
    groups: int
    repeat: int
    is_depthwise: bool

    @property
    def is_product(self) -> bool:
        """Whether it is no convolution."""
        return len(self.sizes) == 3

    def has_lone_filter(self) -> bool:
        """Whether it looks like a depthwise layer, but is not marked as one."""
        if self.is_product or self.is_depthwise or self.groups > 1:
            return False
        _, _, height, width, channels, filters, _ = self.sizes
        return filters == 1 < channels and height * width > 1

    def is_rounded(self) -> bool:
        """Whether its output has other sizes rounded up than rounded down."""
        if self.is_product:
            return False
        rooms = (
            size + 2 * pad - step * (kernel - 1) - 1
            for size, kernel, pad, step in zip(
                self.sizes[:2], self.sizes[2:4], self.padding, self.dilation, strict=True
            )
        )
        return any(room % stride for room, stride in zip(rooms, self.stride, strict=True))


def read(path: str, *, lenient: bool = False) -> tuple[tuple[Phase, ...], list[str]]:
    """The layers of a table as one phase, and notes on how it was read.

    Args:
        path: The file.
        lenient: Skip rows that are wrong, and list them; pass over columns that may say more.

    Raises:
        ConfigError: The file cannot be read, has no known header or no layer, or a row has a value
            that is not allowed; the message names the file and the line.
    """
    wrong: list[str] = []
    lines = _lines(path, wrong if lenient else None)
    if not lines:
        raise ConfigError(f"{path}: is empty; {ALLOWED}")
    with located(lines[0].where):
        header = read_header(lines[0])
    titles = [line for line in lines[1:] if len(line.fields) == 1]
    given = [line for line in lines[1:] if len(line.fields) > 1]
    names = UniqueNames()
    rows: list[_Row] = []
    layers: list[Layer] = []
    for line in given:
        try:
            with located(line.where):
                row = _row(line, header)
                if not lenient:
                    header.check_ignored(line)
                layers += [_layer(row, names.give(row.name)) for _ in range(row.repeat)]
                rows.append(row)
        except ConfigError as error:
            if not lenient:
                raise
            wrong.append(str(error).removeprefix(f"{path}, "))
        if len(layers) > _MOST_LAYERS:
            raise ConfigError(f"{line.where}: a table may hold {_MOST_LAYERS} layers at most")
    if not rows:
        why = f" that can be read ({'; '.join(wrong)})" if wrong else ""
        raise ConfigError(f"{path}: has a header but no layer below it{why}")
    skipped = [f"{_count(len(wrong), 'row')} skipped: {'; '.join(wrong)}"] if wrong else []
    return (Phase(tuple(layers)),), [*skipped, *_notes(header, rows, titles)]


def _lines(path: str, wrong: list[str] | None) -> list[Line]:
    """The lines that hold anything, split into fields; those that cannot be are put to wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # leaves a byte order mark out
    except OSError as error:
        raise ConfigError(f"cannot read {path!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path!r} is not UTF-8 text") from error
    separator = "," if "," in text else "\t"
    lines: list[Line] = []
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{path}, line {number}"
        try:
            fields = _fields(line.strip("\r"), separator, where)
        except ConfigError as error:
            if wrong is None or not lines:
                raise
            wrong.append(str(error).removeprefix(f"{path}, "))
            continue
        while fields and not fields[-1]:
            fields.pop()
        if fields:
            lines.append(Line(where, number, tuple(fields)))
    return lines


def _fields(line: str, separator: str, where: str) -> list[str]:
    """A line's fields, without blanks and quotes around them."""
    if line.count('"') % 2:  # else the rest of the line would be part of a name
        raise ConfigError(f"{where}: a quote is not closed in {line!r}")
    rows = csv.reader([line], delimiter=separator, skipinitialspace=True)
    try:
        return [_unquoted(field.strip().strip('"').strip()) for field in next(rows, [])]
    except csv.Error as error:
        raise ConfigError(f"{where}: {error}") from error


def _unquoted(field: str) -> str:
    """A field without the single quotes that some writers put around each."""
    quoted = len(field) > 1 and field[0] == field[-1] == "'"
    return field[1:-1].strip() if quoted else field


def _row(line: Line, header: Header) -> _Row:
    """A row's sizes, each checked; never more or fewer than the header names."""
    name = line.field(0)
    if not name:
        raise ConfigError(f"the layer has no name, got {', '.join(line.fields)!r}")
    sizes = tuple(
        _size(line, field, line.field(at)) for at, field in enumerate(header.sizes, start=1)
    )
    further = {at: line.field(at) for at in range(1 + len(sizes), len(line.fields))}
    for at, value in further.items():
        if at >= header.width and value and value.lower() != DEPTHWISE:
            raise ConfigError(
                f"{value!r} stands beyond the {header.width} columns that the "
                "header names: is it the header of another kind of table?"
            )
    _check_batch(line, header.column("batch"))
    _check_sparsity(line, header.column("sparsity"))
    marked = DEPTHWISE in map(str.lower, further.values())
    is_depthwise = marked or bool(_WORD.search(name) or _PER_CHANNEL.search(name))
    return _Row(
        line=line,
        name=name,
        sizes=sizes,
        stride=_pair(line, header, "stride"),
        dilation=_pair(line, header, "dilation"),
        padding=_pair(line, header, "padding", missing=0),
        groups=_further(line, header, "groups"),
        repeat=_further(line, header, "repeat", most=_MOST_REPEATS),
        is_depthwise=is_depthwise and not header.is_product,
    )


def _pair(line: Line, header: Header, name: str, missing: int = 1) -> Pair:
    """What further columns say of both directions."""
    columns = [header.column(name, axis) for axis in ("height", "width")]
    if None not in columns and len({line.field(column) == "" for column in columns}) > 1:
        raise ConfigError(f"{name} must be given for both directions, or for none")
    height, width = (
        _further(line, header, name, axis=axis, missing=missing) for axis in ("height", "width")
    )
    return height, width


def _further(
    line: Line,
    header: Header,
    name: str,
    *,
    axis: str = "",
    missing: int = 1,
    most: int = 999_999_999,
) -> int:
    """What a further column says; ``missing``, and the least allowed, where it says nothing."""
    text = line.field(header.column(name, axis)) or str(missing)
    if text.lower() == DEPTHWISE:
        return missing
    if text.strip("0") == "" and missing == 0:
        return 0
    return _size(line, name, text, least=missing, most=most)


def _size(line: Line, field: str, text: str, *, least: int = 1, most: int = 999_999_999) -> int:
    """A positive number of at most nine digits; a symbol, a gap or ``1 2`` is an error."""
    if not _SIZE.fullmatch(text) or int(text) > most:
        raise ConfigError(
            f"{field} must be a whole number from {least} to {most}, got {text!r} "
            f"in {', '.join(line.fields)!r}"
        )
    return int(text)


def _check_batch(line: Line, column: int | None) -> None:
    """Only a batch of 1: how many inputs a task has is the scenario's to say."""
    if column is not None and line.field(column) not in ("", "1"):
        raise ConfigError(
            f"Batch Size must be 1 or empty, got {line.field(column)!r}: "
            "a scenario's batch_sizes say how many inputs a task has"
        )


def _check_sparsity(line: Line, column: int | None) -> None:
    text = line.field(column)
    if text and not _RATIO.fullmatch(text):
        raise ConfigError(f"Sparsity must be N:M, such as 2:4, got {text!r}")


def _layer(row: _Row, name: str) -> Layer:
    """A row as a layer of ours."""
    if row.is_product:
        m, n, k = row.sizes
        return Linear(name, Tensor((m, k)), out_features=n, bias=False)
    height, width, kernel_h, kernel_w, channels, filters, _ = row.sizes
    if row.is_depthwise and row.groups not in (1, channels):
        raise ConfigError(f"marked depthwise, but in {row.groups} groups of {channels} channels")
    return Conv2d(
        name,
        Tensor((channels, height, width)),
        out_channels=_out_channels(row, channels, filters),
        kernel=(kernel_h, kernel_w),
        stride=row.stride,
        padding=row.padding,
        dilation=row.dilation,
        groups=channels if row.is_depthwise else row.groups,
        bias=False,
    )


def _out_channels(row: _Row, channels: int, filters: int) -> int:
    """Channels of the result.

    A row named ``DP`` gives the filters of each channel, as in SCALE-Sim. The other two marks have
    no definition: one filter means one a channel, and more are the channels of the result.
    """
    if row.is_depthwise and (_PER_CHANNEL.search(row.name) or filters == 1):
        return channels * filters
    return filters


def _notes(header: Header, rows: Sequence[_Row], titles: Sequence[Line]) -> list[str]:
    """What a reader of the numbers should know."""
    column = header.column("sparsity")
    groups = (
        ("taken as depthwise", [row for row in rows if row.is_depthwise]),
        (
            "whose output is rounded down, as SCALE-Sim does not",
            [row for row in rows if row.is_rounded()],
        ),
        (
            "marked depthwise with Channels 1 taken as written: "
            "write the number of channels for a whole depthwise layer",
            [row for row in rows if row.is_depthwise and row.sizes[4] == 1],
        ),
        (
            "with 1 filter over several channels taken as written: "
            "put _dw into the name of a depthwise layer",
            [row for row in rows if row.has_lone_filter()],
        ),
    )
    notes = []
    if titles:
        notes.append(f"{_count(len(titles), 'row')} with a name only skipped ({_places(titles)})")
    if ignored := list(filter(None, header.ignored.values())):
        notes.append(f"columns ignored: {', '.join(ignored)}")
    sparse = sum(_is_sparse(row.line.field(column)) for row in rows) if column else 0
    if sparse:
        notes.append(f"Sparsity ignored: {_count(sparse, 'layer')} taken as dense")
    for what, found in groups:
        if found:
            places = _places([row.line for row in found])
            notes.append(f"{_count(len(found), 'row')} ({places}) {what}")
    return notes


def _places(lines: Sequence[Line]) -> str:
    """Where lines are, the first few of many."""
    numbers = [str(line.number) for line in lines]
    more = ["…"] if len(numbers) > _MOST_LISTED else []
    return f"line {', '.join([*numbers[:_MOST_LISTED], *more])}"


def _is_sparse(ratio: str) -> bool:
    kept, _, of = ratio.partition(":")
    return kept != of


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
