"""The rules beyond PREMA's own set, in exact fractions, as their texts say. No shared code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.baselines.tables import Row

Score = Fraction | tuple[Fraction, ...]


def wanted(rule: str, rows: list[Row], runner: Row | None) -> Row:
    """Whom the rule with default parameters and nothing remembered would run."""
    if rule == "lst":
        return _least_slack(rows, runner)
    if rule in ("mlfq", "stride") and runner is not None and runner["quantum_left_ms"] > 0:
        return runner
    if rule == "mlfq":
        return _feedback(rows, runner)
    if rule == "cfs":
        return _completely_fair(rows, runner)
    if rule in ("edf-admission", "aurora"):
        rows = [row for row in rows if row["slack_ms"] >= 0] or rows
    if rule == "planaria":
        return _planaria(rows)
    return _best(rows, lambda row: SCORES[rule](row, len(rows)))


def _best(rows: Sequence[Row], score: Callable[[Row], Score]) -> Row:
    return min(rows, key=lambda row: (score(row), -row["running"], row["order"]))


def _of(row: Row, column: str) -> Fraction:
    return Fraction(row[column])  # exact: a float is a fraction


def _left(row: Row) -> Fraction:
    """Time to the deadline."""
    return _of(row, "slack_ms") + _of(row, "remaining_ms")


def _waited(row: Row) -> Fraction:
    return _of(row, "waited_ms") / _of(row, "estimated_ms")


def _srpt(row: Row, count: int) -> Fraction:
    late = row["remaining_ms"] == 0
    return _of(row, "estimated_ms" if late else "remaining_ms")


def _dysta(row: Row, count: int) -> Fraction:
    off = _of(row, "since_run_ms") / (_of(row, "estimated_ms") * count)
    room = max(Fraction(0), _of(row, "slack_ms"))
    return _of(row, "remaining_ms") + Fraction(1, 100) * (room + 1000 * off)  # in seconds


def _dream(row: Row, count: int) -> Fraction:
    late = _left(row) <= 0
    urgency = Fraction(1) if late else min(_of(row, "remaining_ms") / _left(row), Fraction(1))
    if _of(row, "next_layer_ms") == 0:  # about to end, so it runs
        return -urgency
    return -(urgency + _of(row, "since_run_ms") / _of(row, "next_layer_ms"))


SCORES: dict[str, Callable[[Row, int], Fraction]] = {
    "edf": lambda row, count: _left(row),
    "edf-admission": lambda row, count: _left(row),
    "spt": lambda row, count: _of(row, "estimated_ms"),
    "srpt": _srpt,
    "least-er": lambda row, count: _of(row, "estimated_ms") * _of(row, "remaining_ms"),
    "wspt": lambda row, count: _of(row, "estimated_ms") / _of(row, "priority"),
    "wsrpt": lambda row, count: _of(row, "remaining_ms") / _of(row, "priority"),
    "hrrn": lambda row, count: -(1 + _waited(row)),
    "stride": lambda row, count: Fraction(0),
    "dysta": _dysta,
    "dream": _dream,
    "moca": lambda row, count: -(_of(row, "priority") + _waited(row)),
    "aurora": lambda row, count: -_waited(row),
}


def _planaria(rows: list[Row]) -> Row:
    in_time = [row for row in rows if _left(row) >= _of(row, "remaining_ms")]
    if in_time:
        return _best(in_time, lambda row: _left(row) / _of(row, "priority"))
    return _best(rows, lambda row: _of(row, "remaining_ms") / _of(row, "priority"))


def _least_slack(rows: list[Row], runner: Row | None) -> Row:
    best = _best(rows, lambda row: _of(row, "slack_ms"))
    if runner is None:
        return best
    gain = _of(runner, "slack_ms") - _of(best, "slack_ms")
    cost = _of(runner, "preempt_ms") + _of(best, "restore_ms")
    return best if gain > 2 * cost else runner


def _feedback(rows: list[Row], runner: Row | None) -> Row:
    """Levels of 0.25, 0.5, … ms; the eighth has no end."""

    def level(row: Row) -> int:
        if row["since_run_ms"] >= 12.5:
            return 0
        left, reached, length = row["executed_ms"], 0, 0.25
        while reached < 7 and left >= length:
            left, reached, length = left - length, reached + 1, 2 * length
        return reached

    waiting = [row for row in rows if row is not runner]
    if runner is not None and all(level(runner) < level(row) for row in waiting):
        return runner
    return _best(waiting, lambda row: (Fraction(level(row)), -_of(row, "since_run_ms")))


def _completely_fair(rows: list[Row], runner: Row | None) -> Row:
    """At a first sight: who has not run is half a latency behind the others."""
    best = _best(rows, lambda row: Fraction(0 if row["executed_ms"] else -1, 8))
    if runner is not None:
        return runner  # at most 0.125 ahead, which is within the granularity
    return best
