"""How good was a schedule? Every metric, by the same code for every policy.

Formulas are in ``formulas.py``, what they are applied to in ``outcomes.py``, the list of what is
reported in ``listing.py``.
"""

from prema_gym.metrics.formulas import (
    SLA_TARGETS,
    UNFINISHED,
    Better,
    BoolArray,
    FloatArray,
    IntArray,
    antt,
    fairness,
    interpolate,
    mean_of_known,
    missed_deadlines,
    ntt,
    percentile,
    priority_antt,
    sla_curve,
    sla_violation,
    stp,
    sum_in_order,
    times_better,
)
from prema_gym.metrics.listing import METRICS, Metric, values_of
from prema_gym.metrics.outcomes import Outcomes

__all__ = [
    "METRICS",
    "SLA_TARGETS",
    "UNFINISHED",
    "Better",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Metric",
    "Outcomes",
    "antt",
    "fairness",
    "interpolate",
    "mean_of_known",
    "missed_deadlines",
    "ntt",
    "percentile",
    "priority_antt",
    "sla_curve",
    "sla_violation",
    "stp",
    "sum_in_order",
    "times_better",
    "values_of",
]
