"""DREAM's MapScore on one NPU: urgency of the deadline plus starvation."""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen, time_left
from prema_gym.checks import declared, number
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import NEXT_LAYER_MS, REMAINING_MS, SINCE_RUN_MS


@inlined
def _map_score(row: Row, seen: Seen, numbers: Numbers) -> float:
    remaining, left = row[REMAINING_MS], time_left(row)
    # R/D where that is below 1; so D is never divided by unless it is above R >= 0.
    urgency = remaining / left if left > remaining else 1.0
    # Only who runs and is about to end has no next layer, and does not starve.
    layer = row[NEXT_LAYER_MS]
    starvation = row[SINCE_RUN_MS] / layer if layer > 0 else 0.0
    return -(urgency + numbers[0] * starvation)


@dataclass(frozen=True, kw_only=True)
class Dream(Ordering):
    """DREAM: highest min(R/D, 1) + α·L/ê, with D = d − t and ê the time of the next layer.

    Left out: the preference for one accelerator over others (here there is one), energy, dropping
    of frames and lighter sub-networks. Once late (D <= 0) a task has urgency 1, the most there is;
    the plain quotient would turn negative and put it behind everybody.

    One layer is short: within a few of them the second term outgrows the first, and the rule
    becomes round robin.

    Attributes:
        alpha: α, between 0 and 2 in the paper, which tunes it as it goes. Default 1, its middle.
    """

    alpha: float = declared(1.0, number(0.0), help="weight of starvation")

    sentence = (
        "Run the task with the highest urgency min(R/(d - t), 1), 1 once late, plus `alpha` times "
        "its time since it last ran over the estimated time of its next layer; one-NPU "
        "reduction of DREAM's MapScore"
    )
    source = "Kim et al., ASPLOS 2023 (arXiv 2212.03414)"
    rule = Rule(score=_map_score)

    @property
    def settles(self) -> bool:
        """No: who waits for long enough has the highest score."""
        return False
