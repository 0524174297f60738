"""Dysta on one dense NPU: shortest remaining, with small terms for deadline room and switching."""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen
from prema_gym.checks import declared, number
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import ESTIMATED_MS, REMAINING_MS, SINCE_RUN_MS, SLACK_MS


@inlined
def _score(row: Row, seen: Seen, numbers: Numbers) -> float:
    off = row[SINCE_RUN_MS] / (row[ESTIMATED_MS] * seen.num_tasks)
    room = max(row[SLACK_MS], 0.0)
    return row[REMAINING_MS] + numbers[0] * (room + numbers[1] * off)


@dataclass(frozen=True, kw_only=True)
class Dysta(Ordering):
    """Dysta: least R + β·(max(0, slack) + u·L/(E·Q)), with Q tasks in the table.

    Left out: the correction of R by measured sparsity (this NPU skips no zeros), and deciding after
    every layer (here: at every wake-up). R and the room before the deadline are times, L/(E·Q) a
    pure ratio, so their sum depends on the unit of time u that the ratio counts as. The authors'
    simulator works in seconds (requests arrive at tasks/s). The ratio has a plus sign in a score
    that is minimised: whoever has not run for long is passed over, which saves switches. A late
    task has no room left, so its second term is 0, not negative.

    Attributes:
        beta: β. Default 0.01, as published.
        unit_ms: u in milliseconds. Default 1000, seconds, as published.
    """

    beta: float = declared(0.01, number(0.0), help="weight of room and of time without running")
    unit_ms: float = declared(
        1000.0, number(0.0), unit="ms", help="what a ratio of 1 counts as when times are added"
    )

    sentence = (
        "Run the task with the least R + `beta`·(max(0, slack) + `unit_ms`·L/(E·Q)), where L is "
        "its time since it last ran and Q the number of tasks; one-NPU reduction of Dysta without "
        "sparsity"
    )
    source = "Fan et al., MICRO 2023 (arXiv 2310.11096)"
    rule = Rule(score=_score)
