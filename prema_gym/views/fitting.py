"""How does a table fit a terminal? Numbers and names stay whole; what has no room goes below.

Text wraps between words. Where the columns do not fit side by side, those that are left stand in
further tables below, each of which begins again with the columns that name the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

GAP = 2
"""Columns between two columns of a table; one where that lets them stand side by side."""


class Column(NamedTuple):
    """One column.

    Attributes:
        heading: What stands above it.
        cells: One a row; a cell of several lines keeps them.
        wraps: Whether its cells may break between words; numbers and names may not.
        right: Whether it is aligned to the right.
    """

    heading: str
    cells: Sequence[str]
    wraps: bool = False
    right: bool = False

    @property
    def widest(self) -> int:
        """Columns it takes with each line of a cell, and its heading, on one line."""
        return max(map(cell_len, (self.heading, *self._lines())))

    @property
    def narrowest(self) -> int:
        """Columns it needs at least."""
        whole = [word for line in self._lines() for word in line.split()]
        kept = whole if self.wraps else self._lines()
        return max(map(cell_len, (*self.heading.split(), *kept)), default=0)

    def _lines(self) -> list[str]:
        return [line for cell in self.cells for line in cell.split("\n")]


def fitted(
    title: str, columns: Sequence[Column], width: int | None = None, *, naming: int = 1
) -> list[Table]:
    """Lay columns out as tables.

    Args:
        title: Above the first.
        columns: The first ones name the rows.
        width: Columns of the terminal; None: as many as it takes.
        naming: How many of them name the rows.
    """
    if not columns:
        return [_table(title, GAP)]
    groups = [list(columns)] if width is None else list(_groups(columns, width, naming))
    return [_drawn(title if i == 0 else "", group, width) for i, group in enumerate(groups)]


def fits(columns: Sequence[Column], width: int | None) -> bool:
    """Whether the columns fit side by side."""
    return width is None or _needed(columns, gap=1) <= width


def _needed(columns: Sequence[Column], gap: int) -> int:
    return sum(column.narrowest for column in columns) + gap * (len(columns) - 1)


def _groups(columns: Sequence[Column], width: int, naming: int) -> Iterator[list[Column]]:
    """As many columns at a time as fit, those that name the rows always among them."""
    first = list(columns[:naming])
    group = list(first)
    for column in columns[naming:]:
        if len(group) > naming and not fits([*group, column], width):
            yield group
            group = list(first)
        group.append(column)
    yield group


def _drawn(title: str, columns: Sequence[Column], width: int | None) -> Table:
    gap = GAP if width is None or _needed(columns, GAP) <= width else 1
    table = _table(title, gap)
    for column, wide in zip(columns, _widths(columns, gap, width), strict=True):
        justify = "right" if column.right else "left"
        table.add_column(escape(column.heading), justify=justify, width=wide)  # type: ignore[arg-type]
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(escape, cells))
    return table


def _widths(columns: Sequence[Column], gap: int, width: int | None) -> list[int]:
    """Each column's width: what it needs, and of what is left as much as it can use."""
    if width is None:
        return [column.widest for column in columns]
    widths = [column.narrowest for column in columns]
    left = width - _needed(columns, gap)
    # The least hungry first, so that one long text does not take what many could use.
    hungry = sorted(range(len(columns)), key=lambda i: columns[i].widest - widths[i])
    for done, i in enumerate(hungry):
        more = min(columns[i].widest - widths[i], max(left, 0) // (len(columns) - done))
        widths[i] += more
        left -= more
    return widths


def _table(title: str, gap: int) -> Table:
    return Table(
        title=escape(title) or None,
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, gap, 0, 0),
    )
