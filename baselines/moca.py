"""MoCA's queue on one NPU: priority plus slowdown suffered."""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen, wait_ratio
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import PRIORITY


@inlined
def _lack(row: Row, seen: Seen, numbers: Numbers) -> float:
    return -(row[PRIORITY] + wait_ratio(row))


@dataclass(frozen=True, kw_only=True)
class Moca(Ordering):
    """MoCA: highest π + W/E, when the NPU is free.

    Left out: what makes MoCA itself, the pairing of memory-bound with compute-bound tasks on
    several tiles and the division of bandwidth between them. No deadline enters the queue. Its
    priorities run from 0 to 11, ours are the scenario's weights.
    """

    sentence = (
        "Run the task with the highest priority + waited/estimated; one-NPU reduction of MoCA's "
        "queue"
    )
    source = "Kim et al., HPCA 2023 (arXiv 2305.05843)"
    rule = Rule(score=_lack)

    @property
    def settles(self) -> bool:
        """No: who waits for long enough has the highest score."""
        return False
