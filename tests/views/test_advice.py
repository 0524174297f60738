"""Which policy is taken, and what is said where the loads tell nothing apart. Nothing is played."""

from __future__ import annotations

import math

import pytest

from prema_gym.evaluation.streams import StreamSettings
from prema_gym.evaluation.sweep import Breaking, Slo, Sweep, SweepPoint
from prema_gym.metrics.dependent import Estimate
from prema_gym.views.advice import advice
from prema_gym.workloads import Scenario

pytestmark = pytest.mark.small


def line(
    policy: str, load: float, low: float, high: float, latency_ms: float, *extra: float
) -> tuple[Breaking, list[SweepPoint]]:
    """A policy that keeps its promise up to ``load``, played there, at 0.2, 0.6, 1 and more."""
    breaking = Breaking(
        policy=policy, over={}, load=load, low=low, high=high, beyond=False, rate_per_s=100 * load
    )
    points = [
        SweepPoint(
            policy=policy,
            load=at,
            over={},
            rate_per_s=100 * at,
            worst="all",
            taken=Estimate(0.5 if at <= load else 2.0),
            keeps_up=True,
            could_per_s=math.inf,
            utilisation=at,
            overhead=0.01,
            row={
                "latency_ms": Estimate(latency_ms * at),
                "p999_latency_ms": Estimate(9 * latency_ms * at),
            },
        )
        for at in sorted({0.2, 0.6, 1.0, load, *extra} - {0.0})
    ]
    return breaking, points


def said(*lines: tuple[Breaking, list[SweepPoint]]) -> list[str]:
    sweep = Sweep(
        scenario=Scenario(requests=9),
        slo=Slo(),
        settings=StreamSettings(),
        points=[point for _, points in lines for point in points],
        breaking=[breaking for breaking, _ in lines],
    )
    return advice(sweep, "np-fcfs")


def test_a_tie_is_said_and_broken_by_the_latency_at_the_highest_load_that_all_keep() -> None:
    found = said(
        line("np-fcfs", 0.5, 0.3, 0.55, 9.0),
        line("np-sjf", 0.775, 0.7, 1.0, 2.0),
        line("static-srpt", 0.775, 0.7, math.nan, 1.0),
        line("static-hpf", 0.8, 0.75, 0.9, 3.0),
    )
    assert [text.split()[0] for text in found] == ["Take", "Tie:", "Gain:", "Cost"]
    assert found[0].startswith("Take static-srpt: ")
    assert "(95 %: load 0.700 to above the loads tried)" in found[0]
    assert "no difference shown between static-srpt, np-sjf, static-hpf: " in found[1]
    assert (
        "lowest mean latency at load 0.600, the highest that all of them keep: 0.600 ms"
        in (found[1])
    )
    assert "np-sjf 1.20, static-hpf 1.80" in found[1]
    assert "1.55 × the load of np-fcfs (0.500); next best is np-fcfs" in found[2]
    assert "Cost at load 0.200: " in found[3], "where both keep the promise"
    assert "mean latency 0.200 ms (with np-fcfs 1.80 ms)" in found[3]


def test_no_policy_is_compared_with_itself() -> None:
    alone = said(line("np-fcfs", 0.7, 0.6, 0.8, 1.0), line("static-hpf", 0.72, 0.7, 0.8, 2.0))
    assert alone[0].startswith("Take np-fcfs: ")
    assert "between np-fcfs, static-hpf" in alone[1]
    assert alone[2] == "Gain: np-fcfs is what the others are compared with."
    assert alone[3] == "Cost: none, it is np-fcfs itself."
    other = said(line("np-fcfs", 0.7, 0.6, 0.8, 2.0), line("static-hpf", 0.72, 0.7, 0.8, 1.0))
    assert other[2] == "Gain: in load none is shown over np-fcfs (0.700)."


def test_a_clear_lead_is_no_tie() -> None:
    found = said(line("np-fcfs", 0.0, 0.0, 0.1, 1.0), line("static-srpt", 0.7, 0.65, 0.8, 2.0))
    assert [text.split()[0] for text in found] == ["Take", "Gain:", "Cost"]
    assert found[1] == "Gain: np-fcfs keeps it at no load tried."
    none = said(line("np-fcfs", 0.0, 0.0, 0.1, 1.0))
    assert none[0] == "None of 1 policies keeps p99 within its deadline at any load tried."


def test_who_keeps_nothing_ties_with_nobody() -> None:
    found = said(line("np-fcfs", 0.0, 0.0, math.nan, 1.0), line("static-srpt", 0.6, 0.2, 0.8, 2.0))
    assert [text.split()[0] for text in found] == ["Take", "Gain:", "Cost"]


def test_where_they_keep_it_together_at_no_load_the_lightest_shared_one_decides() -> None:
    found = said(line("np-fcfs", 0.1, 0.1, 0.3, 1.0, 0.1), line("static-srpt", 0.15, 0.1, 0.3, 2.0))
    assert found[0].startswith("Take np-fcfs: ")
    assert "at load 0.200, the lightest that all of them were played at" in found[1]
