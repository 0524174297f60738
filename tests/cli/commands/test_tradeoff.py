"""`prema-gym tradeoff`: its rows against `evaluate` and the bounds, its answer, its picture."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from prema_gym.bounds import fronts, mean_front
from prema_gym.workloads import compile_scenario, sample_batch, scenarios
from tests.cli.command_line import run

FEW = ["--policies", "static-sjf,dynamic-prema", "--workloads", "3", "--seed", "7"]


def test_points_are_those_of_evaluate_and_the_front_that_of_the_bounds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, _ = run(capsys, "tradeoff", *FEW, "--format", "json")
    assert status == 0
    rows = json.loads(out)
    _, out, _ = run(capsys, "evaluate", *FEW, "--format", "json", "--relative-to", "static-sjf")
    for name, metrics in json.loads(out)["policies"].items():
        row = next(row for row in rows if row["policy"] == name)
        assert row["antt"] == pytest.approx(metrics["antt"]["mean"])
        assert row["fairness"] == pytest.approx(metrics["fairness"]["mean"])
        assert row["least_antt"] <= row["antt"]
        assert row["most_fairness"] >= row["fairness"]
        assert row["most_fairness"] >= row["most_fairness_plain"], "holding only adds"
    batch = sample_batch(compile_scenario(scenarios.get("paper")), range(7, 10))
    tasks = (batch.arrival_cycles, batch.isolated_cycles, batch.num_tasks, batch.priority)
    front = mean_front(fronts(*tasks, holding=True))
    shown = [row for row in rows if row["policy"] == "front"]
    assert [row["antt"] for row in shown] == pytest.approx(front.antt.tolist())
    assert [row["fairness"] for row in shown] == pytest.approx(front.fairness.tolist())


def test_the_question_is_answered_beside_the_table_and_apart_from_csv(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, err = run(capsys, "tradeoff", *FEW, "--antt", "4")
    assert "ANTT at most 4: fairness " in out
    assert " comes nearest, " in out
    _, out, err = run(capsys, "tradeoff", *FEW, "--antt", "1", "--format", "csv")
    assert "ANTT at most 1: no schedule; the optimum is " in err
    names = [row["policy"] for row in csv.DictReader(io.StringIO(out))]
    assert names[:2] == ["static-sjf", "dynamic-prema"]
    assert set(names[2:]) == {"front", "front without holding"}


def test_the_picture_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "front.svg"
    _, _, err = run(capsys, "tradeoff", *FEW, "--picture", str(picture))
    assert f"wrote {picture}" in err
    assert "dynamic-prema" in picture.read_text()


def test_too_many_tasks_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scenario = tmp_path / "many.toml"
    scenario.write_text('name = "many"\nnum_tasks = 13\n')
    status, _, err = run(capsys, "tradeoff", *FEW, "--scenario", str(scenario))
    assert status != 0
    assert "12" in err
    assert len(err.strip().splitlines()) == 1, err
