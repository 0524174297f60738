"""AuRORA's choice of the next task on one NPU: most slowdown suffered, unless it is lost."""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen, hopeful, wait_ratio
from prema_gym.compiled.jit import inlined


@inlined
def _suffered(row: Row, seen: Seen, numbers: Numbers) -> float:
    return -wait_ratio(row)


@dataclass(frozen=True, kw_only=True)
class Aurora(Ordering):
    """AuRORA: highest W/E of the tasks that can still meet their deadlines, when the NPU is free.

    Left out: how many accelerators a task asks for, and taking and giving them back between blocks
    of layers, which is its only preemption. Priorities play no part. When no task can meet its
    deadline any more the same order holds among all.
    """

    sentence = (
        "Run the task with the highest waited/estimated of those that can still meet their "
        "deadline (slack >= 0), and when none can, of all; one-NPU reduction of AuRORA"
    )
    source = "Kim et al., MICRO 2023"
    rule = Rule(score=_suffered, among=hopeful)

    @property
    def settles(self) -> bool:
        """No: who waits for long enough has the highest score."""
        return False
