"""What is there to see of a comparison? Sections of rows and columns, and notes beside them.

Whoever shows a comparison to people, as tables of a terminal or of a page, draws these sections;
programs read the records of :mod:`prema_gym.views.records`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from prema_gym.evaluation.intervals import LEAST_BEYOND, LEAST_WORKLOADS
from prema_gym.evaluation.results import Evaluation, Mark, MetricValue, PolicyResult
from prema_gym.files import infinity_from_text
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.energy import assumptions
from prema_gym.metrics import METRICS, Metric
from prema_gym.metrics.groups import GROUP_COLUMNS, GroupColumn, Groups


class Cell(NamedTuple):
    """One value as it is shown.

    Attributes:
        value: The value; NaN: none.
        ends: Ends of its 95 % interval; NaN: none.
        ratio: How many times better it is than that of the policy compared with; NaN: none.
        mark: What a reader must know of it.
    """

    value: float
    ends: tuple[float, float] = (math.nan, math.nan)
    ratio: float = math.nan
    mark: Mark = ""


class Row(NamedTuple):
    """One line.

    Attributes:
        name: The policy's name, or what else stands there.
        cells: One a column.
        cut: Whether some of its workloads were cut off; a note says so too.
    """

    name: str
    cells: tuple[Cell, ...]
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """One table of a comparison.

    Attributes:
        title: What it shows.
        columns: Headings, with unit and an arrow to where better lies.
        rows: The lines.
        compares: Whether its cells have intervals and ratios.
        intervals: Whether they have intervals alone.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    compares: bool = False
    intervals: bool = False


def sections(evaluation: Evaluation, by: Sequence[str] = ()) -> list[Section]:
    """The main section (value, interval, ratio), latencies, details, and regrets if there are any.

    Args:
        evaluation: The comparison.
        by: Also a section for each of these: ``network``, ``priority``.
    """
    shown = [
        _of_metrics(
            evaluation,
            "main",
            f"{_what_was_played(evaluation)}: value, ends of its 95 % interval, and how many times "
            f"better it is than {evaluation.relative_to}",
        ),
        _of_metrics(
            evaluation,
            "latency",
            "Percentiles of NTT over all tasks, latency from arrival to completion, and the share "
            "of tasks past their deadline",
        ),
        _of_metrics(evaluation, "detail", "Details per workload"),
    ]
    shown += [
        group_section(kind, {name: result.groups for name, result in evaluation.policies.items()})
        for kind in by
    ]
    return [*shown, _of_regrets(evaluation)] if evaluation.optimum else shown


def group_section(kind: str, groups: Mapping[str, Groups]) -> Section:
    """A line for each group and policy: the policies of one group stand together.

    Args:
        kind: What is grouped.
        groups: By policy.
    """
    names = dict.fromkeys(name for found in groups.values() for name in found[kind])
    rows = tuple(
        Row(f"{name} · {policy}", tuple(map(Cell, found[kind][name].values())))
        for name in names
        for policy, found in groups.items()
        if name in found[kind]
    )
    return Section(
        title=f"By {kind}: latency from arrival to completion",
        columns=tuple(map(group_heading, GROUP_COLUMNS)),
        rows=rows,
    )


def group_heading(column: GroupColumn) -> str:
    """Heading of a group's column."""
    unit = f" ({column.unit})" if column.unit else ""
    return f"{column.title}{unit}" + {"lower": " ↓", "higher": " ↑", None: ""}[column.better]


def _of_metrics(evaluation: Evaluation, table: str, title: str) -> Section:
    shown = [metric for metric in METRICS if metric.table == table]
    rows = tuple(
        Row(name, tuple(_cell(result.metrics[m.name]) for m in shown), result.truncated > 0)
        for name, result in evaluation.policies.items()
    )
    columns = tuple(map(heading, shown))
    return Section(title=title, columns=columns, rows=rows, compares=table == "main")


def _cell(found: MetricValue) -> Cell:
    return Cell(found.mean, found.ci95, found.ratio, found.mark)


def heading(metric: Metric) -> str:
    """A column's heading: title, unit, and an arrow to where better lies."""
    unit = f" ({metric.unit})" if metric.unit and metric.unit != "per workload" else ""
    return f"{metric.title}{unit}" + {"lower": " ↓", "higher": " ↑", None: ""}[metric.better]


def _of_regrets(evaluation: Evaluation) -> Section:
    """The clairvoyant optimum, and how far every policy stays behind it."""
    titles = {metric.name: metric.title for metric in METRICS}
    optimum = Row("optimum (value)", tuple(map(Cell, evaluation.optimum.values())))
    behind = [
        # Adding 0 turns the -0 of a policy that attains the optimum into 0.
        Row(name, tuple(Cell(round(100.0 * v, 6) + 0.0) for v in result.regret.values()))
        for name, result in evaluation.policies.items()
    ]
    return Section(
        title="Regret: how far behind the best schedule there is (true times, all arrivals known, "
        "free switches), in percent of it",
        columns=tuple(titles[name] for name in evaluation.optimum),
        rows=(optimum, *behind),
    )


def _what_was_played(evaluation: Evaluation) -> str:
    some = "1 workload" if evaluation.workloads == 1 else f"{evaluation.workloads} workloads"
    if evaluation.seed is None:
        return f"{some} as given, scenario {evaluation.scenario!r}"
    return f"{some} of scenario {evaluation.scenario!r}, seed {evaluation.seed}"


def notes(evaluation: Evaluation) -> list[str]:
    """What a reader must know beside it: cut-off workloads, illegal answers, guesses."""
    found = []
    slots, most = evaluation.settings["slots"], evaluation.most_tasks
    if most > slots:
        found.append(
            f"workloads have up to {most} tasks and the table {slots} slots: what does not fit "
            "waits unseen, in order of arrival (--slots)"
        )
    for name, result in evaluation.policies.items():
        if result.truncated or result.unfinished:
            found.append(f"{name}: {_left_undone(evaluation, result)}")
        illegal = result.metrics["illegal_actions"].mean
        if illegal > 0:
            found.append(
                f"{name}: chose actions that were not legal, {illegal:.3g} a workload; each was "
                "played as going on"
            )
    machine = evaluation.settings["scenario"]["hardware"]
    return found + assumptions(NPUConfig.from_dict(infinity_from_text(machine)))


def _left_undone(evaluation: Evaluation, result: PolicyResult) -> str:
    return (
        f"{result.truncated} of {evaluation.workloads} workloads cut off at "
        f"{evaluation.settings['max_decisions']} decisions; {result.tasks - result.unfinished} "
        f"tasks finished, {result.unfinished} unfinished (mean NTT and latency are over the "
        "finished tasks; nothing of this policy is compared)"
    )


def legend(evaluation: Evaluation) -> list[str]:
    """What the marks in tables mean: too few workloads, or tasks. Records have them in words."""
    marked: dict[str, list[str]] = {}
    for metric in METRICS:
        for mark in {result.metrics[metric.name].mark for result in evaluation.policies.values()}:
            marked.setdefault(mark, []).append(metric.title)
    found = []
    if "few workloads" in marked:
        found.append(
            f"{evaluation.workloads} workloads are too few for intervals: it takes "
            f"{LEAST_WORKLOADS}, and more are better"
        )
    if "few tasks" in marked:
        found.append(
            f"{', '.join(marked['few tasks'])}: read from fewer than {LEAST_BEYOND} tasks beyond, "
            "so little more than the largest value; marked ?"
        )
    return found
