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
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen
from prema_gym.checks import Constraint, declared, list_of, one_of, positive, truth
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import ESTIMATED_MS, ORDER, REMAINING_MS, RUNNING, TOKEN

SHORTEST_BY = ("remaining", "estimate")
"""What "shortest" may be measured by."""


def _rising(value: object) -> tuple[float, ...]:
    levels: tuple[float, ...] = list_of(positive()).accept(value)
    if any(a >= b for a, b in pairwise(levels)):
        raise ValueError
    return levels


_LEVELS = Constraint("rising numbers above 0", _rising)

# Of an ordering's numbers.
_STRICT, _RUNNER_COMPETES, _BY_ESTIMATE, _FIRST_LEVEL = range(4)


@inlined
def _fewness(row: Row, seen: Seen, numbers: Numbers) -> float:
    # Of all that are present: newcomers and the running task raise the bar as well.
    return -row[TOKEN]


@inlined
def is_candidate(row: Row, seen: Seen, numbers: Numbers) -> bool:
    """Whether a task has enough tokens."""
    threshold = 0.0
    for level in range(_FIRST_LEVEL, numbers.shape[0]):
        if numbers[level] <= -seen.least:
            threshold = numbers[level]
    enough = row[TOKEN] > threshold or (numbers[_STRICT] == 0 and row[TOKEN] == threshold)
    return enough and (numbers[_RUNNER_COMPETES] > 0 or row[RUNNING] == 0)


@inlined
def _arrival(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[ORDER]


@inlined
def _length(row: Row, seen: Seen, numbers: Numbers) -> float:
    return row[ESTIMATED_MS] if numbers[_BY_ESTIMATE] > 0 else row[REMAINING_MS]


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

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The flags, then the levels in the table's precision, so that tokens compare equal."""
        levels = np.array(self.levels, np.float32)
        return np.array([self.strict, self.runner_is_candidate, False, *levels], float)

    @property
    def settles(self) -> bool:
        """Yes, since tokens cross each level once; no where the running task has no say."""
        return self.runner_is_candidate


@dataclass(frozen=True, kw_only=True)
class Token(TokenOrdering):
    """TOKEN: first come first served among the candidates."""

    sentence = "Run the candidate (token at or above the threshold) that arrived first"
    source = "in the PREMA paper's comparison (Choi & Rhu, HPCA 2020, Algorithm 2 without lengths)"
    rule = Rule(score=_arrival, among=is_candidate, measure=_fewness)


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
    rule = Rule(score=_length, among=is_candidate, measure=_fewness)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """As its parent's, with what the shortest is measured by."""
        numbers = super().numbers
        numbers[_BY_ESTIMATE] = self.shortest_by == "estimate"
        return numbers
