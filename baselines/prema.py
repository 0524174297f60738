"""Who has waited enough to be considered, and who of those runs? PREMA's Algorithm 2, and TOKEN.

The simulator keeps the tokens (``docs/simulator.md``, "Wake-ups"); the rules here only read them.
Where public accounts of the algorithm disagree, each reading is a parameter whose reason is beside
it. Source: Choi & Rhu, "PREMA", HPCA 2020, Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.table import Table
from prema_gym.checks import Constraint, declared, list_of, one_of, positive, truth
from prema_gym.simulator.observation import ESTIMATED_MS, ORDER, REMAINING_MS, TOKEN

# What "shortest" may be measured by, and the column that holds it.
SHORTEST_BY = {"remaining": REMAINING_MS, "estimate": ESTIMATED_MS}


def _rising(value: object) -> tuple[float, ...]:
    levels: tuple[float, ...] = list_of(positive()).accept(value)
    if any(a >= b for a, b in pairwise(levels)):
        raise ValueError
    return levels


_LEVELS = Constraint("rising numbers above 0", _rising)


@dataclass(frozen=True, kw_only=True)
class TokenOrdering(Ordering):
    """The candidates of Algorithm 2, shared by TOKEN and PREMA.

    Attributes:
        levels: Tokens a task can need. The threshold is the largest level not above the largest
            token present; where even the lowest is above it, the threshold is 0. Default: the
            paper's priority weights, which are also the initial tokens.
        strict: Whether a candidate must exceed the threshold. Default no: with ``>``, fresh tasks
            of one priority, whose tokens all equal the threshold, would leave no candidate.
        runner_is_candidate: Whether the running task competes with its token, which is frozen
            while it runs. Default yes: without it every wake-up asks for a switch.
    """

    levels: tuple[float, ...] = declared((1.0, 3.0, 9.0), _LEVELS, help="tokens a task can need")
    strict: bool = declared(False, truth(), help="a candidate must exceed the threshold")
    runner_is_candidate: bool = declared(True, truth(), help="the running task competes")

    def candidates(self, table: Table) -> NDArray[np.bool_]:
        """Slots whose task has enough tokens, bool (slots, envs).

        Where nobody qualifies (possible only with one of the two flags changed) a free machine
        considers every task, and a busy one none, so that the running task goes on.
        """
        token = table.column(TOKEN)
        # In the table's own precision, so that a token equal to a level compares equal.
        thresholds = np.array((0.0, *self.levels), dtype=np.float32)
        # Over all that are present: newcomers and the running task raise the bar as well.
        highest = np.where(table.present, token, np.float32(0)).max(axis=0)
        threshold = thresholds[np.searchsorted(thresholds, highest, side="right") - 1]
        enough = token > threshold if self.strict else token >= threshold
        chosen: NDArray[np.bool_] = enough & (
            table.present if self.runner_is_candidate else table.waiting
        )
        if self.strict or not self.runner_is_candidate:
            chosen |= table.present & ~(table.busy | chosen.any(axis=0))
        return chosen

    @property
    def settles(self) -> bool:
        """Yes, since tokens cross each level once; no where the running task has no say."""
        return self.runner_is_candidate


@dataclass(frozen=True, kw_only=True)
class Token(TokenOrdering):
    """TOKEN: first come first served among the candidates."""

    sentence = "Run the candidate (token at or above the threshold) that arrived first"
    source = "in the PREMA paper's comparison (Choi & Rhu, HPCA 2020, Algorithm 2 without lengths)"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the candidate that arrived first."""
        return table.least(table.column(ORDER), among=self.candidates(table))


@dataclass(frozen=True, kw_only=True)
class Prema(TokenOrdering):
    """PREMA: the shortest of the candidates.

    Attributes:
        shortest_by: ``remaining`` (default: what is left is what the others would wait for) or
            ``estimate``, the whole estimated time.
    """

    shortest_by: str = declared(
        "remaining", one_of("shortest_by", SHORTEST_BY), help="what the shortest is measured by"
    )

    sentence = "Run the candidate (token at or above the threshold) with the least time remaining"
    source = "Choi & Rhu, HPCA 2020, Algorithm 2"

    def choose(self, table: Table) -> NDArray[np.int64]:
        """Slot of the shortest candidate."""
        length = table.column(SHORTEST_BY[self.shortest_by])
        return table.least(length, among=self.candidates(table))
