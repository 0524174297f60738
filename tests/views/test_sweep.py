"""The picture of a sweep: the promised percentile, each policy as everywhere, breaks once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prema_gym.evaluation.streams import StreamSettings
from prema_gym.evaluation.sweep import Breaking, Slo, Sweep, SweepPoint
from prema_gym.metrics.dependent import Estimate
from prema_gym.metrics.groups import STREAM_COLUMNS
from prema_gym.views.colours import looks
from prema_gym.views.sweep import picture
from prema_gym.workloads import scenarios

NAMES = ("np-fcfs", "dynamic-prema", "static-prema", "mine.py:Mine")
LOADS = (0.2, 0.6, 1.0)


def made_up(slo: Slo, over: dict[str, object] | None = None) -> Sweep:
    """The first policy is slower; the others have the same curve, and break at the same load."""

    def point(name: str, load: float) -> SweepPoint:
        row = {column.name: Estimate(1.0, 1.0, 1.0) for column in STREAM_COLUMNS}
        slow = 2.0 if name == "np-fcfs" else 1.0
        for at, percentile in enumerate(("p50", "p95", "p99", "p999")):
            row[f"{percentile}_latency_ms"] = Estimate(*3 * [slow * 10.0**at * (1 + load)])
        return SweepPoint(
            policy=name, load=load, over=over or {}, rate_per_s=1.0, worst="x",
            taken=Estimate(1.0, 1.0, 1.0), keeps_up=True, could_per_s=2.0, utilisation=load,
            overhead=0.0, row=row,
        )  # fmt: skip

    def breaking(name: str) -> Breaking:
        load = 0.4 if name == "np-fcfs" else 0.8
        return Breaking(policy=name, over=over or {}, load=load, low=load, high=load,
                        beyond=False, rate_per_s=1.0)  # fmt: skip

    return Sweep(
        scenario=scenarios.get("poisson-70"), slo=slo, settings=StreamSettings(),
        points=[point(name, load) for name in NAMES for load in LOADS],
        breaking=[breaking(name) for name in NAMES],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("slo", "said", "first"),
    [
        (Slo(percent=95.0), "p95 within its deadline", 10.0),
        (Slo(percent=99.9, limit_ms=50.0), "p99.9 within 50 ms", 1000.0),
    ],
)
def test_title_axis_and_curves_are_of_what_is_promised(slo: Slo, said: str, first: float) -> None:
    figure = picture(made_up(slo))
    assert figure.get_suptitle() == f"poisson-70; promised: {said}"
    assert figure.axes[0].get_ylabel() == f"p{slo.percent:g} latency of all requests [ms]"
    curves = {str(line.get_label()): line for line in figure.axes[0].lines}
    assert np.asarray(curves["dynamic-prema"].get_ydata())[0] == pytest.approx(first * 1.2)


def test_a_policy_looks_as_everywhere_and_shows_under_another() -> None:
    axes = picture(made_up(Slo())).axes[0]
    curves = {str(line.get_label()): line for line in axes.lines}
    for name, own in looks(NAMES).items():
        line = curves[name]
        assert (line.get_color(), line.get_marker()) == (own.colour, own.mark)
        assert (line.get_markerfacecolor() != "white") == own.filled
        assert line.is_dashed() == bool(own.dashes)
    same = [curves[name] for name in NAMES[1:]]
    by_depth = sorted(same, key=lambda line: line.get_zorder())
    widths = [line.get_linewidth() for line in by_depth]
    assert len(set(widths)) == 3
    assert widths == sorted(widths, reverse=True)
    assert curves["np-fcfs"].get_linewidth() == widths[-1]  # alone: as thin as the top one
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert [np.asarray(line.get_xdata())[0] for line in dotted] == [
        0.4,
        0.8,
    ]  # one for three policies


def test_other_keys_have_panels_of_their_own() -> None:
    one, two = made_up(Slo(), {"slots": 4}), made_up(Slo(), {"slots": 8})
    figure = picture(
        replace(one, points=one.points + two.points, breaking=one.breaking + two.breaking)
    )
    assert [axes.get_title() for axes in figure.axes] == ["slots=4", "slots=8"]
    assert [len(axes.lines) for axes in figure.axes] == [4 + 2, 4 + 2]
