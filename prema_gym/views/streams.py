"""What is there to see of long runs? Sections of rows, flat records, and notes beside them."""

from __future__ import annotations

from collections.abc import Sequence

from prema_gym.evaluation.stream_results import StreamResult, StreamRow
from prema_gym.evaluation.streams import StreamEvaluation
from prema_gym.metrics.dependent import Estimate
from prema_gym.metrics.groups import GROUP_COLUMNS, STREAM_COLUMNS
from prema_gym.views.comparison import Cell, Row, Section, group_heading
from prema_gym.views.records import to_csv, to_json

_WITH_INTERVAL = ("latency_ms", "p99_latency_ms", "deadline_miss")
_DETAILS = {
    "load": "load",
    "utilisation": "util. ↑",
    "overhead": "overhead ↓",
    "in_system": "in system ↓",
    "arrival_latency": "rate × latency",
    "could_per_s": "could serve (/s) ↑",
    "left": "left ↓",
    "oldest_ms": "oldest (ms) ↓",
    "decisions": "decisions/request",
}


_LOOP = {
    "clients": "clients",
    "think_ms": "think (ms)",
    "requests_per_s": "requests/s ↑",
    "latency_ms": "mean ↓",
    "response_law_ms": "clients / rate - think (ms)",
}


def sections(evaluation: StreamEvaluation, by: Sequence[str] = ("stream",)) -> list[Section]:
    """All requests, a section for each kind of group, and what the machine did.

    Args:
        evaluation: The comparison.
        by: Kinds of groups (``KINDS`` of `prema_gym.evaluation.stream_results`).
    """
    policies, scenario = evaluation.policies, evaluation.scenario
    runs = evaluation.settings.runs
    some = "one run" if runs == 1 else f"{runs} runs"
    title = (
        f"{some} of {scenario.num_requests} requests after {scenario.num_warmup}, scenario "
        f"{scenario.name!r}, seed {evaluation.settings.seed}: latency from arrival to completion, "
        "with the ends of the 95 % interval (batch means)"
    )
    shown = [_section(title, {name: result.everything for name, result in policies.items()})]
    for kind in by:
        rows = {
            f"{group} · {name}": result.groups[kind][group]
            for group in dict.fromkeys(g for r in policies.values() for g in r.groups[kind])
            for name, result in policies.items()
            if group in result.groups[kind]
        }
        shown.append(_section(f"By {kind}", rows))
    details = tuple(
        Row(name, tuple(Cell(float(getattr(result, key))) for key in _DETAILS), not result.keeps_up)
        for name, result in policies.items()
    )
    shown.append(Section(title="The machine", columns=(*_DETAILS.values(),), rows=details))
    loops = tuple(
        Row(f"{stream} · {name}", tuple(Cell(float(getattr(loop, key))) for key in _LOOP))
        for stream in dict.fromkeys(s for r in policies.values() for s in r.loops)
        for name, result in policies.items()
        for loop in (result.loops[stream],)
    )
    if loops:
        shown.append(Section(title="Closed loops", columns=(*_LOOP.values(),), rows=loops))
    return shown


def _section(title: str, rows: dict[str, StreamRow]) -> Section:
    extra = tuple(
        column
        for column in STREAM_COLUMNS[len(GROUP_COLUMNS) :]
        if column.name != "left" and any(row[column.name].value > 0 for row in rows.values())
    )
    columns = (*GROUP_COLUMNS, *extra)
    return Section(
        title=title,
        columns=tuple(map(group_heading, columns)),
        rows=tuple(
            Row(name, tuple(_cell(column.name, row[column.name]) for column in columns))
            for name, row in rows.items()
        ),
        intervals=True,
    )


def _cell(name: str, found: Estimate) -> Cell:
    return (
        Cell(found.value, (found.low, found.high)) if name in _WITH_INTERVAL else Cell(found.value)
    )


def notes(evaluation: StreamEvaluation) -> list[str]:
    """What a reader must know beside it: who does not keep up, and who is left."""
    return [
        note
        for name, result in evaluation.policies.items()
        for note in _notes(name, result, evaluation.scenario.num_requests)
    ]


def _notes(name: str, result: StreamResult, requests: int) -> list[str]:
    found = []
    if not result.keeps_up:
        found.append(
            f"{name}: cannot keep up with {result.rate_per_s:.4g} requests/s (load "
            f"{result.load:.3g}); it could serve {result.could_per_s:.4g}/s. Latencies grow with "
            "the length of the run"
        )
    if result.left:
        one = result.left == 1
        found.append(
            f"{name}: {result.left:.4g} {'request' if one else 'requests'} a run "
            f"({result.left / requests:.2%}) {'was' if one else 'were'} in the system at the end, "
            f"{'for' if one else 'the oldest for'} {result.oldest_ms:.4g} ms; "
            f"{'it is' if one else 'they are'} in no latency"
        )
    return found


def records(evaluation: StreamEvaluation) -> list[dict[str, object]]:
    """One record a policy, group and column, with its interval."""
    of_groups = [
        _record(policy, kind, group, name, found)
        for policy, result in evaluation.policies.items()
        for kind, rows in (("all", {"all": result.everything}), *result.groups.items())
        for group, row in rows.items()
        for name, found in row.items()
    ]
    return (
        of_groups
        + [
            _record(policy, "machine", "machine", name, Estimate(float(getattr(result, name))))
            for policy, result in evaluation.policies.items()
            for name in (*_DETAILS, "rate_per_s", "keeps_up")
        ]
        + [
            _record(policy, "loop", stream, name, Estimate(float(getattr(loop, name))))
            for policy, result in evaluation.policies.items()
            for stream, loop in result.loops.items()
            for name in _LOOP
        ]
    )


def _record(policy: str, kind: str, group: str, name: str, found: Estimate) -> dict[str, object]:
    return {
        "policy": policy,
        "kind": kind,
        "group": group,
        "metric": name,
        "value": found.value,
        "ci95_low": found.low,
        "ci95_high": found.high,
    }


def files(evaluation: StreamEvaluation) -> dict[str, str]:
    """Files of a comparison: name → text."""
    return {
        "streams.json": to_json(evaluation.to_dict()),
        "streams.csv": to_csv(records(evaluation)),
    }
