"""Every policy again, one table at a time, written as the text of the rule says. No shared code."""

from __future__ import annotations

from prema_gym import baselines
from tests.baselines import rival_twin
from tests.baselines.tables import Row

LEVELS = (1, 3, 9)
BY_CHANCE = ("random", "static-lottery")  # whose choice no text of a rule foretells
SEARCHED = ("replan",)  # whose choice takes a search: test_replan.py
PUBLISHED = (
    {"replan": "static"}
    | {"dysta": "static", "dream": "static", "planaria": "static"}
    | {
        "moca": "np",
        "aurora": "np",
    }
)


def split(name: str) -> tuple[str, str]:
    """A policy's name as its way of preempting and its rule."""
    if name in PUBLISHED:
        return PUBLISHED[name], name
    prefix, _, rule = name.partition("-")
    return prefix, rule


PREMA_SET = [
    name
    for name in baselines.names()
    if split(name)[1] in ("fcfs", "rrb", "hpf", "sjf", "token", "prema")
]
"""The policies of PREMA's own comparison."""


def slow_action(name: str, rows: list[Row], slots: int, mechanisms: tuple[str, ...]) -> int:
    """The action of a policy with default parameters on the present ``rows``."""
    if not rows:
        return 0
    prefix, rule = split(name)
    runner = next((row for row in rows if row["running"]), None)
    if prefix == "np" and runner is not None:
        return int(runner["slot"])
    wanted = _wanted(rule, rows, runner)
    if runner is None or wanted is runner:
        return int(wanted["slot"])
    # D_cur > D_cand, multiplied out since a late task's remaining time is 0.
    if prefix == "dynamic" and (
        wanted["remaining_ms"] * wanted["estimated_ms"]
        > runner["remaining_ms"] * runner["estimated_ms"]
    ):
        if "drain" not in mechanisms:
            return int(runner["slot"])
        return int(mechanisms.index("drain") * slots + wanted["slot"])
    mechanism = "kill" if prefix == "kill" else "checkpoint"
    return int(mechanisms.index(mechanism) * slots + wanted["slot"])


def _wanted(rule: str, rows: list[Row], runner: Row | None) -> Row:
    def least(candidates: list[Row], column: str, sign: int = 1) -> Row:
        return min(candidates, key=lambda r: (sign * r[column], -r["running"], r["order"]))

    if rule == "fcfs":
        return least(rows, "order")
    if rule == "hpf":
        return least(rows, "priority", -1)
    if rule == "sjf":
        return least(rows, "remaining_ms")
    if rule == "rrb":
        waiting = [row for row in rows if row is not runner]
        if runner is not None and (runner["quantum_left_ms"] > 0 or not waiting):
            return runner
        return least(waiting, "since_run_ms", -1)
    if rule not in ("token", "prema"):
        return rival_twin.wanted(rule, rows, runner)
    most = max(row["token"] for row in rows)
    threshold = max([level for level in LEVELS if level <= most], default=0)
    candidates = [row for row in rows if row["token"] >= threshold]
    return least(candidates, {"token": "order", "prema": "remaining_ms"}[rule])
