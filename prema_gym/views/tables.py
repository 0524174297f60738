"""How do results reach people in a terminal? As tables of Rich."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from prema_gym.evaluation.claims import TOLERANCE, Reproduction
from prema_gym.evaluation.paper import Figure
from prema_gym.evaluation.results import Evaluation
from prema_gym.views.comparison import Cell, Section, sections
from prema_gym.views.fitting import Column, fits, fitted
from prema_gym.views.numbers import ABSENT, interval, number, times
from prema_gym.views.records import Record, strict


def to_tables(
    records: Sequence[Record], title: str = "", width: int | None = None, *, naming: int = 1
) -> list[Table]:
    """A listing as tables: numbers to the right, in three significant digits.

    Args:
        records: One a row.
        title: Above it.
        width: Columns of the terminal; None: as many as it takes.
        naming: How many of the first columns name a row, and stand in every table.
    """
    columns = []
    for name in records[0] if records else ():
        numeric = all(_is_number(record[name]) for record in records)
        cells = [_text(record[name]) for record in records]
        columns.append(Column(name, cells, wraps=not numeric, right=numeric))
    return fitted(title, columns, width, naming=naming)


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


TOO_FEW = "(too few)"
"""In place of an interval where there are too few workloads, or tasks, for one."""


def evaluation_tables(
    evaluation: Evaluation, *, width: int | None = None, by: Sequence[str] = ()
) -> list[Table]:
    """The sections of a comparison (:func:`prema_gym.views.comparison.sections`) as tables.

    Args:
        evaluation: What to show.
        width: Columns of the terminal; where they do not hold value, interval and ratio side by
            side, ratios get lines of their own, then intervals too. None: as many as it takes.
        by: Also a table for each of these: ``network``, ``priority``.
    """
    return [table for one in sections(evaluation, by) for table in section_tables(one, width)]


def section_tables(section: Section, width: int | None) -> list[Table]:
    """One section as tables; ``width`` as for :func:`evaluation_tables`."""
    # What is compared on one line, then on two, then on three.
    layouts: tuple[str, ...] = ("{}",)
    if section.compares:
        layouts = ("{} {} {}", "{} {}\n{}", "{}\n{}\n{}")
    elif section.intervals:
        # Where two tables are needed anyway, lines of their own for intervals would save nothing.
        layouts = ("{} {}", "{}\n{}", "{} {}")
    for layout in layouts:
        columns = _columns(section, layout)
        if fits(columns, width):
            break
    return fitted(section.title, columns, width)


def _columns(section: Section, layout: str) -> list[Column]:
    names = [row.name + (" !" if row.cut else "") for row in section.rows]
    others = [
        Column(heading, [_laid_out(row.cells[k], layout) for row in section.rows], right=True)
        for k, heading in enumerate(section.columns)
    ]
    return [Column("policy", names), *others]


def _laid_out(cell: Cell, layout: str) -> str:
    """Value, interval and ratio as the layout has them; marked where read from too few tasks."""
    shown = number(cell.value) + ("?" if cell.mark == "few tasks" else "")
    known = interval(*cell.ends) or (TOO_FEW if cell.mark.startswith("few") else "")
    lines = layout.format(shown, known, times(cell.ratio)).split("\n")
    # Only a ratio stands below a line that is empty.
    return "\n".join(" ".join(line.split()) for line in lines).rstrip("\n")


def reproduction_tables(reproduction: Reproduction, *, width: int | None = None) -> list[Table]:
    """Claims beside our figures, the commands that show one alone, and the conditions, if any.

    Args:
        reproduction: What to show.
        width: Columns of the terminal; None: as many as it takes.
    """
    title = (
        f"{reproduction.workloads} workloads of scenario {reproduction.scenario!r}, seed "
        f"{reproduction.seed}; × and % say how much better; ! marks a figure off by more than "
        f"{TOLERANCE:.0%}; weight preload {reproduction.weight_preload}, “other”: by the other rule"
    )
    rows = reproduction.claims
    claims = [
        Column("claim", [row.statement for row in rows], wraps=True),
        Column("paper", [f"{number(row.paper)} {row.unit}" for row in rows], right=True),
        Column("ours", [number(row.ours) for row in rows], right=True),
        Column("95 % interval", [interval(*row.ci95) or ABSENT for row in rows], right=True),
        Column("ours/paper", [number(row.ratio) for row in rows], right=True),
        Column("other", [number(row.other_preload) for row in rows], right=True),
        Column("", ["!" if row.off else "" for row in rows]),
    ]
    commands = Column("command", [row.command for row in rows], wraps=True)
    return [
        *fitted(title, claims, width),
        *fitted("Each claim alone", [commands], width),
        *to_tables(condition_records(reproduction), CONDITIONS_TITLE, width),
    ]


CONDITIONS_TITLE = "How much better CHECKPOINT is than KILL, by condition"


def condition_records(reproduction: Reproduction) -> list[dict[str, object]]:
    """One record a condition of CHECKPOINT over KILL, as it is printed."""
    return [
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


def _with_interval(figure: Figure) -> str:
    low, high = figure.ci95
    return f"{figure.value:.0f}" + (f" [{low:.0f}, {high:.0f}]" if math.isfinite(low) else "")


def reproduction_notes(reproduction: Reproduction) -> list[str]:
    """What a reader must know beside the claims; claims with one note share a line."""
    claims_of: dict[str, list[str]] = {}
    for row in reproduction.claims:
        if row.note:
            claims_of.setdefault(row.note, []).append(row.name)
    return [f"{', '.join(names)}: {note}" for note, names in claims_of.items()]
