"""How do results reach people? As tables of Rich, with what must be known beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.markup import escape
from rich.table import Table

from prema_gym.evaluation.claims import TOLERANCE, Figure, Reproduction
from prema_gym.evaluation.results import Estimate, Evaluation
from prema_gym.metrics import METRICS, Metric
from prema_gym.views.records import Record, strict

_ABSENT = "–"
_DIGITS = 3  # significant digits of a printed number; JSON and CSV hold them all


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
        return _ABSENT
    if isinstance(plain, float):
        return number(plain)
    if isinstance(plain, list):
        return ", ".join(map(_text, plain))
    return str(plain)


def number(value: float, like: float | None = None) -> str:
    """A number in three significant digits (as many decimals as ``like`` has, if given)."""
    if not math.isfinite(value):
        return _ABSENT
    scale = abs(value if like is None else like)
    whole_digits = math.floor(math.log10(scale)) + 1 if scale > 0 else 1
    return f"{value:.{max(0, _DIGITS - whole_digits)}f}"


# What the comparison needs to show all of a cell on one line, and value and interval on one.
_FULL_WIDTH, _MEDIUM_WIDTH = 110, 80


def evaluation_tables(evaluation: Evaluation, *, width: int | None = None) -> list[Table]:
    """The main table (value ± interval, ratio), latencies and details (values), and any regrets.

    Args:
        evaluation: What to show.
        width: Columns of the terminal; where they do not hold value, interval and ratio side by
            side, ratios get lines of their own, then intervals too. None: as many as it takes.
    """
    before_interval = "\n" if width is not None and width < _MEDIUM_WIDTH else ""
    before_ratio = "\n" if width is not None and width < _FULL_WIDTH else " "
    main = _table(
        f"{_what_was_played(evaluation)}: value ± half the width of its 95 % interval, and how "
        f"many times better it is than {evaluation.relative_to}"
    )
    latency = _table(
        "Percentiles of NTT over all tasks, latency from arrival to completion, and the share of "
        "tasks past their deadline"
    )
    detail = _table("Details per workload")
    for table in (latency, detail):
        table.padding = (0, 1, 0, 0)  # six columns fit a terminal of 60
    for table, which in ((main, "main"), (latency, "latency"), (detail, "detail")):
        shown = [metric for metric in METRICS if metric.table == which]
        table.add_column("policy", no_wrap=True)
        for metric in shown:
            table.add_column(_heading(metric), justify="right", overflow="fold")
        for name, result in evaluation.policies.items():
            cells = [result.metrics[metric.name] for metric in shown]
            if which == "main":
                texts = [_main_cell(cell, before_interval, before_ratio) for cell in cells]
            else:
                texts = [_detail_cell(cell) for cell in cells]
            cut = " !" if result.truncated else ""  # a note says what was cut off
            table.add_row(escape(name) + cut, *texts)
    return [main, latency, detail, *([_regret_table(evaluation)] if evaluation.optimum else [])]


def _regret_table(evaluation: Evaluation) -> Table:
    """The clairvoyant optimum, and how far every policy stays behind it."""
    table = _table(
        "Regret: how far behind the best schedule there is (true times, all arrivals known, free "
        "switches), in percent of it"
    )
    table.add_column("policy", no_wrap=True)
    titles = {metric.name: metric.title for metric in METRICS}
    for name in evaluation.optimum:
        table.add_column(titles[name], justify="right")
    table.add_row("optimum (value)", *map(number, evaluation.optimum.values()))
    for policy, result in evaluation.policies.items():
        # Adding 0 turns the -0 of a policy that attains the optimum into 0.
        texts = [number(round(100.0 * value, 6) + 0.0) for value in result.regret.values()]
        table.add_row(escape(policy), *texts)
    return table


def _heading(metric: Metric) -> str:
    unit = f" ({metric.unit})" if metric.unit and metric.unit != "per workload" else ""
    return f"{metric.title}{unit}" + {"lower": " ↓", "higher": " ↑", None: ""}[metric.better]


def _main_cell(estimate: Estimate, before_interval: str, before_ratio: str) -> str:
    half_width = _half_width(estimate)
    interval = before_interval + half_width if half_width else ""
    return f"{_detail_cell(estimate)}{interval}{before_ratio}{_times(estimate.ratio)}"


def _half_width(estimate: Estimate) -> str:
    low, high = estimate.ci95
    width = (high - low) / 2
    return f"±{number(width, like=estimate.mean)}" if math.isfinite(width) else ""


def _detail_cell(estimate: Estimate) -> str:
    return number(estimate.mean)


def _times(ratio: float) -> str:
    return f"{number(ratio)}×" if math.isfinite(ratio) else _ABSENT


def evaluation_notes(evaluation: Evaluation) -> list[str]:
    """What a reader must know beside the table: runs cut off, tasks unfinished, illegal answers."""
    notes = []
    slots, most = evaluation.settings["slots"], evaluation.most_tasks
    if most > slots:
        notes.append(
            f"workloads have up to {most} tasks and the table {slots} slots: what does not fit "
            "waits unseen, in order of arrival (--slots)"
        )
    limit = evaluation.settings["max_decisions"]
    for name, result in evaluation.policies.items():
        if result.truncated or result.unfinished:
            notes.append(
                f"{name}: {result.truncated} of {evaluation.workloads} workloads cut off at "
                f"{limit} decisions; {result.tasks - result.unfinished} tasks finished, "
                f"{result.unfinished} unfinished (they count as SLA violations and missed "
                "deadlines; mean NTT and latency are over the finished tasks)"
            )
        illegal = result.metrics["illegal_actions"].mean
        if illegal > 0:
            notes.append(
                f"{name}: chose actions that were not legal, {illegal:.3g} a workload; each was "
                "played as going on"
            )
    return notes


def _what_was_played(evaluation: Evaluation) -> str:
    some = "1 workload" if evaluation.workloads == 1 else f"{evaluation.workloads} workloads"
    if evaluation.seed is None:
        return f"{some} as given, scenario {evaluation.scenario!r}"
    return f"{some} of scenario {evaluation.scenario!r}, seed {evaluation.seed}"


def reproduction_tables(reproduction: Reproduction) -> list[Table]:
    """Claims beside our figures, the commands that show one alone, and the conditions, if any."""
    claims = _table(
        f"{reproduction.workloads} workloads of scenario {reproduction.scenario!r}, seed "
        f"{reproduction.seed}; × and % say how much better; ! marks a figure off by more than "
        f"{TOLERANCE:.0%}"
    )
    for heading in ("claim", "paper", "ours", "95 % interval", "ours/paper", ""):
        claims.add_column(heading, justify="left" if heading in ("claim", "") else "right")
    for row in reproduction.claims:
        low, high = row.ci95
        claims.add_row(
            row.statement,
            f"{number(row.paper)} {row.unit}",
            number(row.ours),
            f"{number(low)} … {number(high)}" if math.isfinite(low) else _ABSENT,
            number(row.ratio),
            "!" if row.off else "",
        )
    commands = _table("Each claim alone")
    commands.add_column("command", overflow="fold")
    for row in reproduction.claims:
        commands.add_row(row.command)
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
    conditions = to_table(records, "How much better CHECKPOINT is than KILL, by condition")
    return [claims, commands, *([conditions] if records else [])]


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
