"""What is to be best? The objectives that have an exact optimum, and how far a value is from it.

Each objective is a sum (or the maximum) of one cost a task, and no cost falls when the task
completes later. That, and nothing else, is what the subset recursion needs. Times are cycles.
Formulas: ANTT, STP, NTT and SLA violation as in PREMA (HPCA 2020); the others are textbook.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds.inputs import array_of
from prema_gym.compiled.jit import kernel
from prema_gym.errors import UnknownNameError, WorkloadError

# PREMA reports SLA violations at the targets n = 2 … 20 times the isolated time.
FIRST_SLA_TARGET = 2
LAST_SLA_TARGET = 20
NUM_SLA_TARGETS = LAST_SLA_TARGET - FIRST_SLA_TARGET + 1


class Cost(IntEnum):
    """What a task completing at C costs (r arrival, p isolated time, w weight, d deadline)."""

    NTT = 0  # (C − r)/p
    SPEED = 1  # −p/(C − r): a cost, so that less is better
    COMPLETION = 2  # w·C
    MISS = 3  # w if C > d, else 0
    TARDINESS = 4  # w·max(0, C − d)
    SLA_CURVE = 5  # how many of the targets n = 2 … 20 have (C − r)/p > n


@dataclass(frozen=True, kw_only=True)
class Objective:
    """One objective: value = (sum or maximum of the costs), scaled and signed for the reader.

    Attributes:
        name: What a caller asks for.
        cost: Cost of one task.
        maximum: True for the largest cost, False for the sum.
        maximise: True if more is better; the costs are then the negated gains.
        mean: True if the value is divided by the number of tasks.
        divisor: The value is divided by this as well.
        uses: Optional arguments of ``optimum`` the objective takes.
        requires: Those of them it cannot do without (a weight left out is 1).
        unit: Unit of the value, weights taken as plain numbers.
    """

    name: str
    cost: Cost
    maximum: bool = False
    maximise: bool = False
    mean: bool = False
    divisor: int = 1
    uses: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    unit: str = "1"


_DUE = ("weight", "deadline")
OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        Objective(name="antt", cost=Cost.NTT, mean=True),
        Objective(name="stp", cost=Cost.SPEED, maximise=True),
        Objective(
            name="weighted_completion", cost=Cost.COMPLETION, uses=("weight",), unit="cycles"
        ),
        Objective(
            name="sla_violation", cost=Cost.MISS, mean=True, uses=("target",), requires=("target",)
        ),
        Objective(name="sla_curve", cost=Cost.SLA_CURVE, mean=True, divisor=NUM_SLA_TARGETS),
        Objective(name="deadline_misses", cost=Cost.MISS, uses=_DUE, requires=("deadline",)),
        Objective(
            name="tardiness", cost=Cost.TARDINESS, uses=_DUE, requires=("deadline",), unit="cycles"
        ),
        Objective(name="worst_ntt", cost=Cost.NTT, maximum=True),
    )
}


def get_objective(name: str) -> Objective:
    """Return the objective called ``name``.

    Raises:
        UnknownNameError: if there is none; the message holds the nearest name.
    """
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise UnknownNameError("objective", str(name), OBJECTIVES)
    return OBJECTIVES[name]


@kernel
def task_cost(
    cost: int, arrival: int, isolated: int, weight: float, deadline: int, completion: int
) -> float:
    """Cost of one task; see :class:`Cost`. Times are int64 cycles, completion > arrival."""
    if cost == Cost.NTT:
        return (completion - arrival) / isolated
    if cost == Cost.SPEED:
        return -isolated / (completion - arrival)
    if cost == Cost.COMPLETION:
        return weight * completion
    if cost == Cost.MISS:
        return weight if completion > deadline else 0.0
    if cost == Cost.TARDINESS:
        return weight * max(0, completion - deadline)
    # NTT > n for an integer n exactly when n <= ceil(NTT) − 1.
    largest_missed = -((arrival - completion) // isolated) - 1
    return float(max(0, min(largest_missed, LAST_SLA_TARGET) - FIRST_SLA_TARGET + 1))


def regret(objective: str, value: ArrayLike, optimum: ArrayLike) -> NDArray[np.float64]:
    """How much worse than the optimum a value is, as a share of the optimum.

    (value − optimum)/optimum, or (optimum − value)/optimum where more is better; 0 is optimal.
    Where the optimum is 0 (no misses, no tardiness), 0 has regret 0 and more has infinite regret.
    Values computed by another order of additions can lie one rounding (about 1e-16) below 0.

    Args:
        objective: A name in ``OBJECTIVES``.
        value: The values to judge, any shape, in the objective's unit.
        optimum: The optima, of a shape that broadcasts with ``value``.

    Returns:
        float64 of the common shape.

    Raises:
        UnknownNameError: There is no such objective.
        WorkloadError: These are no numbers, or their shapes do not go together.
    """
    values, optima = array_of("value", value), array_of("optimum", optimum)
    try:
        excess = np.subtract(values, optima, dtype=np.float64)
    except ValueError:
        raise WorkloadError(
            f"value and optimum must have shapes that go together, got {values.shape} and "
            f"{optima.shape}"
        ) from None
    if get_objective(objective).maximise:
        excess = -excess
    best = np.broadcast_to(np.asarray(optima, dtype=np.float64), np.shape(excess))
    result = np.where(excess == 0, 0.0, np.copysign(np.inf, excess))
    np.divide(excess, best, out=result, where=best != 0)
    return result
