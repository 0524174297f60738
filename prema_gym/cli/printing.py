"""How is a result shown? As a table that fits the terminal, as JSON or as CSV."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from prema_gym.evaluation.concurrent import Progress

PIPE_WIDTH = 132
"""Columns of a table that is not printed on a terminal, unless COLUMNS says otherwise."""


class Format(str, Enum):
    """How a result is printed."""

    table = "table"
    json = "json"
    csv = "csv"


def print_result(
    format: Format,
    *,
    tables: Callable[[], Iterable[Table | str]],
    data: Callable[[], object],
    rows: Callable[[], Sequence[dict[str, object]]],
) -> None:
    """Print a result as its tables, its data as JSON, or its rows as CSV; only that is made."""
    from prema_gym.views import records

    if format is Format.table:
        output = console()
        for table in tables():
            output.print(table)
    elif format is Format.json:
        sys.stdout.write(records.to_json(data()))
    else:
        sys.stdout.write(records.to_csv(rows()))


def print_rows(
    rows: Sequence[dict[str, object]], format: Format, leave_out: Sequence[str] = ()
) -> None:
    """Print a listing; a table leaves out some columns."""
    from prema_gym.views.tables import to_tables

    kept = [{k: v for k, v in row.items() if k not in leave_out} for row in rows]
    print_result(
        format,
        tables=lambda: to_tables(kept, width=console().width),
        data=lambda: rows,
        rows=lambda: rows,
    )


def console() -> Console:
    """Standard output as Rich sees it: as wide as the terminal, or as COLUMNS says."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise

    fixed = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Output(width=fixed, emoji=False)  # a name may hold ":x:"


@contextmanager
def progress(what: str = "workloads played") -> Iterator[Progress | None]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, todo: bar.update(task, completed=done, total=todo)
