"""How do results reach people in a terminal? As tables of Rich."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.markup import escape
from rich.table import Table

from prema_gym.evaluation.claims import TOLERANCE, Reproduction
from prema_gym.evaluation.paper import Figure
from prema_gym.evaluation.results import Evaluation
from prema_gym.views.comparison import Cell, Section, sections
from prema_gym.views.numbers import ABSENT, number, plus_minus, times
from prema_gym.views.records import Record, strict


def to_table(records: Sequence[Record], title: str = "") -> Table:
    """A listing as a table: numbers to the right, in three significant digits."""
    table = _table(title)
    for name in records[0] if records else ():
        numeric = all(_is_number(record[name]) for record in records)
        # Too narrow a terminal folds what does not fit; nothing is cut off.
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for record in records:
        table.add_row(*(escape(_text(value)) for value in record.values()))
    return table


def _table(title: str) -> Table:
    return Table(title=escape(title) or None, title_justify="left", box=None, pad_edge=False)


def _is_number(value: object) -> bool:
    return value is None or (
        isinstance(value, int | float | np.number) and not isinstance(value, bool)
    )


def _text(value: object) -> str:
    plain = strict(value)
    if plain is None:
        return ABSENT
    if isinstance(plain, float):
        return number(plain)
    if isinstance(plain, list):
        return ", ".join(map(_text, plain))
    return str(plain)


# What a comparison needs to show all of a cell on one line, and value and interval on one.
_FULL_WIDTH, _MEDIUM_WIDTH = 110, 80
_MANY_COLUMNS = 6  # so many fit a terminal of 60 when they stand close


def evaluation_tables(evaluation: Evaluation, *, width: int | None = None) -> list[Table]:
    """The sections of a comparison (:func:`prema_gym.views.comparison.sections`) as tables.

    Args:
        evaluation: What to show.
        width: Columns of the terminal; where they do not hold value, interval and ratio side by
            side, ratios get lines of their own, then intervals too. None: as many as it takes.
    """
    return [_section_table(section, width) for section in sections(evaluation)]


def _section_table(section: Section, width: int | None) -> Table:
    table = _table(section.title)
    if len(section.columns) >= _MANY_COLUMNS:
        table.padding = (0, 1, 0, 0)
    table.add_column("policy", no_wrap=True)
    for heading in section.columns:
        table.add_column(heading, justify="right", overflow="fold")
    for row in section.rows:
        texts = [
            _compared(cell, width) if section.compares else number(cell.value) for cell in row.cells
        ]
        table.add_row(escape(row.name) + (" !" if row.cut else ""), *texts)
    return table


def _compared(cell: Cell, width: int | None) -> str:
    """Value, interval and ratio, on as many lines as the terminal needs."""
    before_interval = "\n" if width is not None and width < _MEDIUM_WIDTH else ""
    before_ratio = "\n" if width is not None and width < _FULL_WIDTH else " "
    interval = plus_minus(cell.half_width, cell.value)
    shown = number(cell.value) + (before_interval + interval if interval else "")
    return f"{shown}{before_ratio}{times(cell.ratio)}"


def reproduction_tables(reproduction: Reproduction) -> list[Table]:
    """Claims beside our figures, the commands that show one alone, and the conditions, if any."""
    claims = _table(
        f"{reproduction.workloads} workloads of scenario {reproduction.scenario!r}, seed "
        f"{reproduction.seed}; × and % say how much better; ! marks a figure off by more than "
        f"{TOLERANCE:.0%}; weight preload {reproduction.weight_preload}, “other”: by the other rule"
    )
    for heading in ("claim", "paper", "ours", "95 % interval", "ours/paper", "other", ""):
        claims.add_column(heading, justify="left" if heading in ("claim", "") else "right")
    for row in reproduction.claims:
        low, high = row.ci95
        claims.add_row(
            row.statement,
            f"{number(row.paper)} {row.unit}",
            number(row.ours),
            f"{number(low)} … {number(high)}" if math.isfinite(low) else ABSENT,
            number(row.ratio),
            number(row.other_preload),
            "!" if row.off else "",
        )
    commands = _table("Each claim alone")
    commands.add_column("command", overflow="fold")
    for row in reproduction.claims:
        commands.add_row(row.command)
    return [claims, commands, *_condition_tables(reproduction)]


def _condition_tables(reproduction: Reproduction) -> list[Table]:
    records = [
        {
            "scenario": row.scenario,
            "tasks": row.tasks,
            "window_ms": row.window_ms,
            "ordering": row.ordering,
            "kills/task": row.kills_per_task,
            "ANTT %": _with_interval(row.antt),
            "STP %": _with_interval(row.stp),
            "fairness %": _with_interval(row.fairness),
        }
        for row in reproduction.conditions
    ]
    title = "How much better CHECKPOINT is than KILL, by condition"
    return [to_table(records, title)] if records else []


def _with_interval(figure: Figure) -> str:
    half = (figure.ci95[1] - figure.ci95[0]) / 2
    return f"{figure.value:.0f}±{half:.0f}" if math.isfinite(half) else f"{figure.value:.0f}"


def reproduction_notes(reproduction: Reproduction) -> list[str]:
    """What a reader must know beside the claims; claims with one note share a line."""
    claims_of: dict[str, list[str]] = {}
    for row in reproduction.claims:
        if row.note:
            claims_of.setdefault(row.note, []).append(row.name)
    return [f"{', '.join(names)}: {note}" for note, names in claims_of.items()]
