from __future__ import annotations

import math
from dataclasses import replace

import pytest

from prema_gym.metrics import METRICS
from prema_gym.views.comparison import Cell, legend, notes, sections
from tests.views.helpers import evaluation

pytestmark = pytest.mark.small


def test_sections_hold_every_shown_metric_of_every_policy() -> None:
    found = sections(evaluation(unfinished=1))
    assert [section.compares for section in found] == [True, False, False]
    for section, table in zip(found, ("main", "latency", "detail"), strict=True):
        titles = [metric.title for metric in METRICS if metric.table == table]
        assert [heading.split(" (")[0].rstrip(" ↓↑") for heading in section.columns] == titles
        assert [(row.name, row.cut) for row in section.rows] == [
            ("np-fcfs", True),
            ("dynamic-prema", True),
        ]
        assert all(len(row.cells) == len(titles) for row in section.rows)
    main = found[0]
    assert main.title.startswith("2 workloads of scenario 'paper', seed 5: value, ends of its 95 %")
    assert main.title.endswith("better it is than np-fcfs")
    assert "ANTT ↓" in main.columns
    cell = main.rows[1].cells[main.columns.index("ANTT ↓")]
    assert cell.value == 12.345
    assert cell.ends == pytest.approx((11.845, 12.845))
    assert cell.ratio == 7.8


def test_given_workloads_are_said_to_be_given() -> None:
    given = replace(evaluation(), seed=None, workloads=1)
    assert sections(given)[0].title.startswith("1 workload as given, scenario 'paper': value")


def test_regrets_are_percents_below_the_optimum() -> None:
    plain = evaluation()
    regrets = {"np-fcfs": {"antt": 0.25}, "dynamic-prema": {"antt": -1e-12}}
    behind = replace(
        plain,
        optimum={"antt": 2.5},
        policies={n: replace(p, regret=regrets[n]) for n, p in plain.policies.items()},
    )
    assert len(sections(plain)) == 3
    section = sections(behind)[3]
    assert section.columns == ("ANTT",)
    assert [row.name for row in section.rows] == ["optimum (value)", "np-fcfs", "dynamic-prema"]
    assert [row.cells[0].value for row in section.rows] == [2.5, 25.0, 0.0]
    assert math.copysign(1.0, section.rows[2].cells[0].value) == 1.0  # never "-0"
    assert math.isnan(Cell(1.0).ends[0])


def test_notes_say_what_flatters() -> None:
    assert notes(evaluation()) == []
    found = notes(evaluation(unfinished=3, illegal=2.0))
    assert len(found) == 4
    assert "nothing of this policy is compared" in found[0]
    assert "13 tasks finished, 3 unfinished" in found[0]
    assert "cut off at 50 decisions" in found[0]
    assert "not legal, 2 a workload" in found[1]
    (note,) = notes(replace(evaluation(), most_tasks=17))
    assert "up to 17 tasks and the table 16 slots" in note
    few, less = legend(evaluation(marks={"antt": "few workloads", "p99_ntt": "few tasks"}))
    assert few == "2 workloads are too few for intervals: it takes 10, and more are better"
    assert less.startswith("p99: read from fewer than 10 tasks beyond, so little more than the la")
    machine: dict[str, object] = {"array_rows": 32, "array_cols": 32, "element_bytes": 1}
    power, width = notes(evaluation(hardware=machine))
    assert "15.9 W of static power, scaled from the paper's machine" in power
    assert "one of 16 bits does, also with 1-byte operands" in width
    assert notes(evaluation(hardware={"array_rows": 32, "static_watts": 1.0})) == []
