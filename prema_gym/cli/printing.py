"""How is a result shown? As a table that fits the terminal, as JSON or as CSV."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from prema_gym.evaluation.compare import Progress

# Columns of a table that is not printed on a terminal, unless COLUMNS says otherwise.
PIPE_WIDTH = 132
# What a listing of networks needs to show every column.
FULL_WIDTH = 110


class Format(str, Enum):
    """How a result is printed."""

    table = "table"
    json = "json"
    csv = "csv"


def show(
    rows: Sequence[dict[str, object]],
    format: Format,
    leave_out: Sequence[str] = (),
) -> None:
    """Print records; a table leaves out the columns that would not fit a terminal."""
    from prema_gym.views import records, tables

    if format is Format.table:
        kept = [{k: v for k, v in row.items() if k not in leave_out} for row in rows]
        print_tables([tables.to_table(kept)])
    elif format is Format.json:
        sys.stdout.write(records.to_json(rows))
    else:
        sys.stdout.write(records.to_csv(rows))


def print_tables(tables: Sequence[Any]) -> None:
    """Print tables of Rich."""
    output = console()
    for table in tables:
        output.print(table)


def console() -> Console:
    """Standard output as Rich sees it: as wide as the terminal, or as COLUMNS says."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise

    fixed = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Output(width=fixed)


@contextmanager
def progress() -> Iterator[Progress | None]:
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
        TextColumn("workloads played"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, todo: bar.update(task, completed=done, total=todo)
