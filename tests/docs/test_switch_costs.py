"""The latency at which preemption stops paying, by hand."""

from __future__ import annotations

import math

import pytest

from docs.generate.switch_costs import stops_paying_us


@pytest.mark.parametrize(
    ("own", "latency_us"),
    [([2.0, 3.0, 5.0], 75.0), ([4.5, 5.0, 6.0], 0.0), ([2.0, 2.0, 2.0], math.inf)],
)
def test_where_the_curve_meets_never_preempting(own: list[float], latency_us: float) -> None:
    assert stops_paying_us([0.0, 50.0, 100.0], own, 4.0) == latency_us
