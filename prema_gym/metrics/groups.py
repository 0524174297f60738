"""How do the requests of one network, one priority or one stream fare? A row of columns each.

A mean over everything hides whoever it goes badly for. The columns are the same for workloads
played as a batch and for long runs (`prema_gym.metrics.tally`), where an interval stands beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prema_gym.metrics.formulas import (
    UNFINISHED,
    Better,
    BoolArray,
    mean_of_finished,
    missed_deadlines,
    percentile,
)
from prema_gym.metrics.outcomes import Outcomes


@dataclass(frozen=True, kw_only=True)
class GroupColumn:
    """One column.

    Attributes:
        name: Key in every report.
        title: Column heading.
        better: Which direction is better; None for a plain description.
        formula: Definition in one line.
        unit: Unit, empty for a pure number.
        percent: If given, it is this percentile of the latency.
    """

    name: str
    title: str
    better: Better
    formula: str
    unit: str = ""
    percent: float | None = None


def _latency(name: str, title: str, percent: float) -> GroupColumn:
    return GroupColumn(
        name=name,
        title=title,
        unit="ms",
        better="lower",
        formula=f"{percent:g}th percentile of the time from arrival to completion",
        percent=percent,
    )


GROUP_COLUMNS: tuple[GroupColumn, ...] = (
    GroupColumn(name="requests", title="requests", better=None, formula="requests that arrived"),
    GroupColumn(
        name="latency_ms",
        title="mean",
        unit="ms",
        better="lower",
        formula="mean time from arrival to completion, over finished requests",
    ),
    _latency("p50_latency_ms", "p50", 50.0),
    _latency("p95_latency_ms", "p95", 95.0),
    _latency("p99_latency_ms", "p99", 99.0),
    _latency("p999_latency_ms", "p99.9", 99.9),
    GroupColumn(
        name="antt",
        title="ANTT",
        better="lower",
        formula="mean of turnaround / isolated time, over finished requests",
    ),
    GroupColumn(
        name="deadline_miss",
        title="missed",
        better="lower",
        formula="share of requests whose deadline passed before they finished, of those that "
        "arrived; dropped and rejected ones too",
    ),
    GroupColumn(
        name="goodput_per_s",
        title="goodput",
        unit="/s",
        better="higher",
        formula="requests finished by their deadline, a second",
    ),
    GroupColumn(
        name="throughput_per_s",
        title="throughput",
        unit="/s",
        better="higher",
        formula="requests finished, a second",
    ),
)

STREAM_COLUMNS: tuple[GroupColumn, ...] = (
    *GROUP_COLUMNS,
    GroupColumn(
        name="dropped", title="dropped", better="lower", formula="share that left unserved, late"
    ),
    GroupColumn(
        name="rejected", title="rejected", better="lower", formula="share that found the queue full"
    ),
    GroupColumn(
        name="left",
        title="left",
        better="lower",
        formula="share that was still in the system at the end; whether it misses its deadline is "
        "not known unless that has passed",
    ),
)
"""Columns of a long run's rows."""

GroupRow = dict[str, float]
"""Values by the names of :data:`GROUP_COLUMNS`."""
Groups = dict[str, dict[str, GroupRow]]
"""Rows by what is grouped (network, priority, stream), then by the group's name."""


def groups_of(outcomes: Outcomes, networks: Sequence[str], priorities: Sequence[int]) -> Groups:
    """A row for each network and each priority of played workloads, all of them together.

    Args:
        outcomes: What became of them.
        networks: Names of the scenario's networks.
        priorities: Its priority weights.
    """
    members: Mapping[str, Mapping[str, BoolArray]] = {
        "network": {name: outcomes.network == i for i, name in enumerate(networks)},
        "priority": {str(weight): outcomes.priority == weight for weight in priorities},
    }
    return {
        kind: {
            name: _row(outcomes, outcomes.present & chosen)
            for name, chosen in of_kind.items()
            if np.any(outcomes.present & chosen)
        }
        for kind, of_kind in members.items()
    }


def _row(outcomes: Outcomes, chosen: BoolArray) -> GroupRow:
    latency = outcomes.latency_ms[chosen]
    finished = chosen & (outcomes.completion_cycles != UNFINISHED)
    in_time = finished & (outcomes.completion_cycles <= outcomes.deadline_cycles)
    seconds = float(outcomes.elapsed_cycles.sum()) / outcomes.cycles_per_ms / 1e3
    requests = int(chosen.sum())
    arrived = chosen & outcomes.arrived
    missed = missed_deadlines(outcomes.end_cycles, outcomes.deadline_cycles, arrived).sum()
    values = {
        "requests": float(requests),
        "latency_ms": float(mean_of_finished(latency)),
        "antt": float(mean_of_finished(outcomes.ntt[chosen])),
        "deadline_miss": float(missed) / arrived.sum() if arrived.any() else float("nan"),
        "goodput_per_s": float(in_time.sum()) / seconds,
        "throughput_per_s": float(finished.sum()) / seconds,
    }
    for column in GROUP_COLUMNS:
        if column.percent is not None:
            values[column.name] = float(percentile(latency, column.percent))
    return {column.name: values[column.name] for column in GROUP_COLUMNS}
