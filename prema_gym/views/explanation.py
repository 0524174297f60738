"""What is there to see where two policies part? Stretches of disagreement, and why; as plain data.

Partings that follow one another and are about the same two tasks are one stretch: a policy that
lets a task run on says so anew at every quantum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from prema_gym.evaluation.partings import Parting, Partings, decided_by, moved_most
from prema_gym.metrics import FloatArray
from prema_gym.simulator import COLUMNS, MECHANISMS, NONE
from prema_gym.simulator import observation as col
from prema_gym.views.episode import view_recorded
from prema_gym.views.numbers import number
from prema_gym.views.tables import to_tables

SHOWN = (
    col.PRIORITY, col.TOKEN, col.ESTIMATED_MS, col.REMAINING_MS, col.WAITED_MS, col.SLACK_MS,
    col.CONTEXT_BYTES, col.PREEMPTIONS,
)  # fmt: skip
"""Columns of the table that fit a terminal; data and files hold them all."""
_MOST_MOVED = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Stretch:
    """Partings that follow one another, about the same two tasks.

    Attributes:
        partings: In order of time.
        won: How much better the metric is for all of the first policy's choices here.
    """

    partings: tuple[Parting, ...]
    won: float

    @property
    def opening(self) -> Parting:
        """The first of them."""
        return self.partings[0]


def stretches(found: Partings) -> list[Stretch]:
    """All stretches in order of time."""
    groups: list[list[Parting]] = []
    for parting in found.partings:
        if groups and _choices(groups[-1][-1]) == _choices(parting):
            groups[-1].append(parting)
        else:
            groups.append([parting])
    return [Stretch(partings=tuple(one), won=sum(p.won for p in one)) for one in groups]


def _choices(parting: Parting) -> tuple[int, int]:
    """The two tasks."""
    slots = len(parting.occupants)
    first, second = parting.first % slots, parting.second % slots
    return int(parting.occupants[first]), int(parting.occupants[second])


def explanation(found: Partings, policies: Sequence[Any], most: int) -> dict[str, Any]:
    """Plain data: who parts from whom, where first, and where most is won or lost.

    Args:
        found: The partings.
        policies: Both, as they were asked.
        most: How many stretches to tell in full, beside the first.
    """
    names = (found.first.policy, found.second.policy)
    labels = [task.label for task in view_recorded(found.first).tasks]
    all_of_them = stretches(found)
    by_weight = sorted(all_of_them, key=lambda one: -abs(one.won))
    told = [one for one in all_of_them if one in [*all_of_them[:1], *by_weight[:most]]]
    hz = found.first.simulator.catalog.hardware.clock_hz
    return {
        "metric": found.metric.name,
        "title": found.metric.title,
        "better": found.metric.better,
        "policies": [
            {"name": name, "rule": getattr(policy, "rule", ""), found.metric.name: value}
            for name, policy, value in zip(names, policies, found.values, strict=True)
        ],
        "decisions": len(found.first.decisions),
        "partings": len(found.partings),
        "stretches": len(all_of_them),
        "told": [_told(one, names, policies, labels, 1e3 / hz) for one in told],
        "left_out": len(all_of_them) - len(told),
        "ntt": _ntt_rows(labels, names, found.first.outcomes.ntt[0], found.second.outcomes.ntt[0]),
    }


def _told(
    stretch: Stretch,
    names: tuple[str, str],
    policies: Sequence[Any],
    labels: Sequence[str],
    ms: float,
) -> dict[str, Any]:
    opening, last = stretch.opening, stretch.partings[-1]
    chosen = (opening.first, opening.second)
    return {
        "from_ms": opening.cycles * ms,
        "to_ms": last.cycles * ms,
        "decisions": len(stretch.partings),
        "won": stretch.won,
        "choices": [
            {
                "policy": name,
                "does": _does(action, opening, labels),
                **_why(policy, opening),
            }
            for name, action, policy in zip(names, chosen, policies, strict=True)
        ],
        "table": _table_rows(opening, names, labels),
        "ntt": _ntt_rows(labels, names, last.ntt_first, opening.ntt_second),
    }


def _does(action: int, parting: Parting, labels: Sequence[str]) -> str:
    index, slot = divmod(action, len(parting.occupants))
    named = labels[parting.occupants[slot]]
    running = parting.table[:, col.RUNNING] > 0
    if not running.any():
        return f"runs {named}"
    if running[slot]:
        return f"goes on with {named}"
    runner = labels[parting.occupants[int(running.argmax())]]
    return f"lets {named} take over from {runner} ({MECHANISMS[index]})"


def _why(policy: Any, parting: Parting) -> dict[str, Any]:  # noqa: ANN401 - any policy
    why: dict[str, Any] = {"decided_by": decided_by(policy, parting)}
    if hasattr(policy, "scores"):
        scores = policy.scores(parting.table)[0]
        slots = len(parting.table)
        why["scores"] = {
            "first": float(scores[parting.first % slots]),
            "second": float(scores[parting.second % slots]),
        }
        why["moved_most"] = moved_most(policy, parting)[:_MOST_MOVED]
    return why


def _table_rows(
    parting: Parting, names: tuple[str, str], labels: Sequence[str]
) -> list[dict[str, object]]:
    slots = len(parting.occupants)
    chosen = dict(zip(names, (parting.first % slots, parting.second % slots), strict=True))
    rows: list[dict[str, object]] = []
    for slot, task in enumerate(parting.occupants.tolist()):
        if task == NONE:
            continue
        values = {c.name: float(v) for c, v in zip(COLUMNS, parting.table[slot], strict=True)}
        by = ", ".join(name for name, at in chosen.items() if at == slot)
        rows.append({"task": labels[task], "chosen_by": by, **values})
    return rows


def _ntt_rows(
    labels: Sequence[str], names: tuple[str, str], first: FloatArray, second: FloatArray
) -> list[dict[str, object]]:
    return [
        {"task": label, names[0]: float(one), names[1]: float(two)}
        for label, one, two in zip(labels, first, second, strict=False)
    ]


def told_lines(data: Mapping[str, Any]) -> list[str]:
    """The explanation's sentences, before its tables."""
    one, two = data["policies"]
    lines = [
        f"{p['name']}: {data['title']} {number(p[data['metric']])}. {p['rule']}".strip()
        for p in (one, two)
    ]
    if not data["partings"]:
        return [*lines, f"They choose alike in all of {data['decisions']} decisions."]
    lines.append(
        f"Along {one['name']}'s {data['decisions']} decisions, {two['name']} would choose "
        f"otherwise in {data['partings']}: {data['stretches']} stretches, each about two tasks."
    )
    if data["left_out"]:
        lines.append(f"Told are the first and the weightiest; {data['left_out']} are left out.")
    return lines


def explanation_tables(data: Mapping[str, Any]) -> list[Table | str]:
    """The explanation as texts (Rich markup) and tables."""
    parts: list[Table | str] = [escape(line) for line in told_lines(data)]
    names = [policy["name"] for policy in data["policies"]]
    for at, told in enumerate(data["told"], 1):
        parts += _told_parts(at, told, data["title"], names)
    return [*parts, "", "In the end: each task's NTT under either policy", *to_tables(data["ntt"])]


def _told_parts(
    at: int, told: Mapping[str, Any], metric: str, names: Sequence[str]
) -> list[Table | str]:
    what = "wins" if told["won"] >= 0 else "loses"
    span = f"at {told['from_ms']:.3f} ms"
    if told["decisions"] > 1:
        span += f" and up to {told['to_ms']:.3f} ms, {told['decisions']} decisions"
    head = f"{at}. {span}: {names[0]} {what} {number(abs(told['won']))} in {metric}"
    parts: list[Table | str] = ["", f"[bold]{escape(head)}[/bold]"]
    parts += [escape(f"   {c['policy']} {c['does']}: {_reason(c)}") for c in told["choices"]]
    rows = [{k: v for k, v in row.items() if k not in _HIDDEN} for row in told["table"]]
    parts += ["   What both saw:", *to_tables(rows)]
    changed = [row for row in told["ntt"] if len({number(row[name]) for name in names}) > 1]
    if changed:
        line = f"   NTT of the tasks that feel it, by whose choice; later {names[1]} decides:"
        parts += [escape(line), *to_tables(changed)]
    return parts


_HIDDEN = {column.name for index, column in enumerate(COLUMNS) if index not in SHOWN}


def _reason(choice: Mapping[str, Any]) -> str:
    """Why a policy chose as it did, in a few words."""
    columns = choice["decided_by"]
    if columns is None:
        text = "by what it remembers or foresees, not by this table alone"
    elif columns:
        text = (
            f"would choose the other task if these were exchanged, one alone: {', '.join(columns)}"
        )
    else:
        text = "no single column decides"
    if "scores" in choice:
        scores = choice["scores"]
        moved = ", ".join(f"{name} {value:+.2f}" for name, value in choice["moved_most"])
        text += f"; scores {scores['first']:.2f} and {scores['second']:.2f}, moved most by {moved}"
    return text
