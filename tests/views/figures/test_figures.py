"""Every figure is drawn from records, and these are what the study says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from prema_gym import baselines
from prema_gym.cli.commands.evaluate import DEFAULT_POLICIES
from prema_gym.cli.commands.sweep import SWEPT
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.results import Evaluation
from prema_gym.hardware.config import NPUConfig
from prema_gym.simulator import MECHANISMS
from prema_gym.views.colours import KNOWN, look, looks
from prema_gym.views.figures import CHARTS, Study, draw_chart
from prema_gym.views.figures.chart import point, round_ticks
from prema_gym.views.figures.points import front
from prema_gym.views.gantt import to_image
from prema_gym.views.listings import preemption_rows
from prema_gym.views.web.charts import _MARKS
from tests.evaluation.helpers import TINY
from tests.views.episodes import WILD

NAMES = ("np-fcfs", "static-prema", "kill-prema", "static-sjf")


def compared(seed: int = 0) -> Evaluation:
    policies = {name: baselines.make(name, mechanisms=MECHANISMS) for name in NAMES}
    policies[WILD] = baselines.make("dynamic-prema", mechanisms=MECHANISMS)
    return evaluate(
        TINY, policies, workloads=6, seed=seed, per_workload=True, per_task=True, bounds=True
    )


@pytest.fixture(scope="module")
def study() -> Study:
    rows = [{"timesteps": str(t), "geometric_mean_ratio": str(1 + t / 1e6)} for t in range(3)]
    return Study(
        main=compared(),
        sweep={0.5: compared(1), 2.0: compared(2)},
        preemption=preemption_rows(NPUConfig(), ["alexnet"]),
        runs={("es", "one"): rows, ("es", "two"): rows, ("ppo", "three"): rows},
    )


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("wide", [True, False])
def test_every_figure_is_drawn(name: str, wide: bool, study: Study) -> None:
    chart = CHARTS[name]
    records = chart.records(study)
    assert records

    figure = draw_chart(chart, records, wide=wide)
    assert to_image(figure).std() > 5
    width, _ = figure.get_size_inches()
    assert width == pytest.approx(chart.size_inches[0] * (1.6 if wide else 1.0))
    texts = [
        text.get_text().replace(r"\$", "$")
        for text in figure.findobj(Text)
        if isinstance(text, Text)
    ]
    if any(record.get("policy") == WILD for record in records):
        assert any(WILD in text for text in texts)


def test_what_a_study_does_not_have_gives_no_records(study: Study) -> None:
    bare = Study(main=evaluate(TINY, {"np-fcfs": baselines.make("np-fcfs")}, workloads=2))
    without = {name for name, chart in CHARTS.items() if not chart.records(bare)}
    assert without == {
        "tail-by-priority", "checkpoint-against-kill", "regret", "preemption-cost",
        "ntt-distribution", "performance-profile", "load-sweep", "learning-curves",
        "estimate-against-truth",
    }  # fmt: skip


def test_records_are_the_studys_numbers(study: Study) -> None:
    tail = CHARTS["tail-by-priority"].records(study)
    outcomes = study.main.policies["np-fcfs"].outcomes
    assert outcomes is not None
    (high,) = [r for r in tail if (r["policy"], r["priority"]) == ("np-fcfs", 9)]
    own = np.sort(outcomes.ntt[outcomes.priority == 9])
    assert high["p50_ntt"] == own[(len(own) - 1) // 2]
    profile = CHARTS["performance-profile"].records(study)
    assert all(r["share"] <= 1 for r in profile)
    best = sum(r["share"] for r in profile if r["factor"] == 1.0)
    assert best >= 1.0  # on every workload somebody is the best
    ntt = [r for r in CHARTS["ntt-distribution"].records(study) if r["policy"] == "np-fcfs"]
    assert ntt[0]["ntt"] == outcomes.ntt.min()
    assert ntt[-1]["ntt"] == outcomes.ntt.max()


def test_the_front_is_who_is_not_beaten() -> None:
    points = [(1.0, 1.0), (2.0, 0.0), (0.5, 0.5), (2.0, -1.0), (1.0, 1.0)]
    assert front(points) == [True, True, False, False, True]


def test_a_policy_looks_the_same_everywhere() -> None:
    assert look("dynamic-prema") == KNOWN["dynamic-prema"]
    assert look("mine.py:Mine") == look("mine.py:Mine")
    assert len({one.colour for one in KNOWN.values()}) == len(KNOWN)


@pytest.mark.parametrize("policies", [DEFAULT_POLICIES, SWEPT, ",".join(map(str, range(24)))])
def test_no_two_points_of_a_chart_look_the_same(policies: str) -> None:
    """Points have no dashes: mark and filling alone tell them apart in grey."""
    names = policies.split(",")
    found = looks(names)
    assert list(found) == names
    assert len({(one.mark, one.filled) for one in found.values()}) == len(names)
    assert looks(reversed(names)) == found  # whatever the order
    assert all(found[name] == KNOWN[name] for name in names if name in KNOWN)
    assert {one.mark for one in found.values()} <= set(_MARKS)
    axes = Figure().subplots()
    drawn = []
    for name in names:
        point(axes, name, found[name], 1.0, 1.0)
        drawn.append((axes.lines[-1].get_marker(), axes.lines[-1].get_markerfacecolor() == "white"))
    assert len(set(drawn)) == len(names)


def test_the_figure_says_why_an_interval_is_missing(study: Study) -> None:
    """Six workloads have none; with more, the 95th percentile of few tasks has none."""
    chart = CHARTS["metrics"]
    axes = draw_chart(chart, chart.records(study)).axes
    labels = [one.get_xlabel().splitlines() for one in axes]
    workloads, tasks = ["no interval: too few workloads"], ["no interval: too few tasks"]
    assert [label[1:] for label in labels] == [*[workloads] * 4, tasks]
    some = [{**r, "mark": "", "ci95_low": 1.0, "ci95_high": 2.0} for r in chart.records(study)]
    for record in some:
        if (record["metric"], record["policy"]) == ("p95_ntt_high", "np-fcfs"):
            record |= {"mark": "few tasks", "ci95_low": np.nan, "ci95_high": np.nan}
    said = [one.get_xlabel().splitlines()[1:] for one in draw_chart(chart, some).axes]
    assert said == [[], [], [], [], ["1 with no interval: too few tasks"]]


@pytest.mark.parametrize("ends", [(1.8, 28.0), (2.2, 140.0), (0.011, 0.25), (1.5, 9.5)])
def test_an_axis_of_ratios_has_several_labels(ends: tuple[float, float]) -> None:
    axes = Figure().subplots()
    axes.set_xscale("log")
    axes.set_xlim(*ends)
    round_ticks(axes.xaxis)
    shown = [tick for tick in axes.get_xticks() if ends[0] <= tick <= ends[1]]
    assert 2 <= len(shown) <= 6
