"""Reports: strict JSON, CSV that reads back, tables, files whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from prema_gym.errors import ConfigError
from prema_gym.evaluation.results import Estimate, Evaluation, PolicyResult
from prema_gym.files import write_files
from prema_gym.metrics import METRICS, SLA_TARGETS
from prema_gym.views.records import (
    evaluation_files,
    evaluation_records,
    per_workload_records,
    to_csv,
    to_json,
)
from prema_gym.views.tables import evaluation_notes, evaluation_tables, number, to_table


def estimate(mean: float, ratio: float) -> Estimate:
    return Estimate(mean=mean, ci95=(mean - 0.5, mean + 0.5), ratio=ratio, ratio_ci95=(1.0, 2.0))


def evaluation(
    *, illegal: float = 0.0, unfinished: int = 0, per_workload: bool = False
) -> Evaluation:
    def result(ratio: float) -> PolicyResult:
        metrics = {m.name: estimate(12.345, ratio) for m in METRICS}
        metrics["energy_mj"] = estimate(math.nan, math.nan)
        metrics["illegal_actions"] = estimate(illegal, math.nan)
        return PolicyResult(
            metrics=metrics,
            sla_curve={n: estimate(1 / n, ratio) for n in SLA_TARGETS},
            mechanisms=("checkpoint",),
            tasks=16,
            unfinished=unfinished,
            truncated=min(unfinished, 1),
            per_workload={"antt": np.array([1.0, math.nan])} if per_workload else {},
        )

    return Evaluation(
        scenario="paper",
        seed=5,
        workloads=2,
        most_tasks=8,
        relative_to="np-fcfs",
        versions={"prema-gym": "0.1.0"},
        workload_digest="0" * 64,
        settings={"max_decisions": 50, "slots": 16},
        policies={"np-fcfs": result(1.0), "dynamic-prema": result(7.8)},
    )


def shown(*tables: Table, width: int = 160) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    for table in tables:
        console.print(table)
    return console.export_text()


@pytest.mark.small
def test_json_is_strict_and_plain() -> None:
    data = {
        1: np.float32(math.nan),
        "inf": math.inf,
        "a": np.array([1, 2]),
        "t": (np.int64(3), True),
    }
    text = to_json(data)
    assert json.loads(text) == {"1": None, "inf": None, "a": [1, 2], "t": [3, True]}
    assert "NaN" not in text
    assert "Infinity" not in text
    assert text.endswith("}\n")


@pytest.mark.small
def test_json_of_an_evaluation_has_the_promised_keys() -> None:
    data = json.loads(to_json(evaluation(per_workload=True).to_dict()))
    for key in ("scenario", "seed", "workloads", "relative_to", "versions", "settings", "policies"):
        assert key in data
    row = data["policies"]["dynamic-prema"]
    for name in ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high"):
        assert set(row[name]) == {"mean", "ci95", "ratio", "ratio_ci95"}
    assert row["antt"] == {
        "mean": 12.345, "ci95": [11.845, 12.845], "ratio": 7.8, "ratio_ci95": [1.0, 2.0],
    }  # fmt: skip
    assert row["energy_mj"]["mean"] is None
    assert row["sla_curve"]["4"]["mean"] == 0.25
    assert row["per_workload"]["antt"] == [1.0, None]
    assert set(data["metrics"]) == {metric.name for metric in METRICS}
    assert data["metrics"]["stp"]["better"] == "higher"


@pytest.mark.small
def test_csv_reads_back() -> None:
    rows = [
        {"name": "a, b", "x": 0.1, "y": math.nan, "z": (1, 4)},
        {"name": "c", "x": 2, "y": None, "z": ()},
    ]
    back = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert back == [
        {"name": "a, b", "x": "0.1", "y": "", "z": "1/4"},
        {"name": "c", "x": "2", "y": "", "z": ""},
    ]
    assert to_csv([]) == ""


@pytest.mark.small
def test_records_of_an_evaluation() -> None:
    records = evaluation_records(evaluation())
    assert len(records) == 2 * (len(METRICS) + len(SLA_TARGETS))
    assert records[0] == {
        "policy": "np-fcfs", "metric": "antt", "mean": 12.345, "ci95_low": 11.845,
        "ci95_high": 12.845, "ratio": 1.0, "ratio_ci95_low": 1.0, "ratio_ci95_high": 2.0,
    }  # fmt: skip
    assert records[-1]["metric"] == "sla_violation_at_20"
    assert per_workload_records(evaluation()) == []
    rows = per_workload_records(evaluation(per_workload=True))
    assert [row["seed"] for row in rows] == [5, 6, 5, 6]


@pytest.mark.small
def test_tables_show_value_interval_and_ratio() -> None:
    main, latency, detail = evaluation_tables(evaluation())
    assert "p99 latency (ms) ↓" in shown(latency)
    assert "missed ↓" in shown(latency)
    text = shown(main)
    assert "12.3±0.5 7.80×" in text
    assert "ANTT ↓" in text
    assert "STP ↑" in text
    assert "95 %" in text
    assert "np-fcfs" in text
    assert "energy (mJ) ↓" in shown(detail)
    assert "–" in shown(detail)
    # On 80 columns a cell may break between value and ratio, never inside either.
    narrow = shown(main, width=80)
    assert narrow.count("12.3±0.5") == 10
    assert narrow.count("7.80×") == 5
    assert "dynamic-prema" in narrow
    # Narrower terminals get value, interval and ratio below each other.
    for width in (60, 70, 79):
        text = shown(evaluation_tables(evaluation(), width=width)[0], width=width)
        assert [text.count(part) for part in ("12.3", "±0.5", "7.80×")] == [10, 10, 5]
        assert "…" not in text


@pytest.mark.small
def test_a_listing_aligns_numbers_and_names() -> None:
    text = shown(to_table([{"name": "vgg-16 [a]", "MACs": 15.47, "batches": (1, 4)}], "Networks"))
    assert "vgg-16 [a]" in text  # brackets are text, not markup
    assert "Networks" in text
    assert "15.5" in text
    assert "1, 4" in text
    assert shown(to_table([])).strip() == ""


@pytest.mark.small
@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (0.01234, "0.0123"), (1.0, "1.00"), (99.95, "100.0"), (1234.5, "1234"),
     (-0.5, "-0.500"), (math.nan, "–"), (math.inf, "–")],
)  # fmt: skip
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.small
def test_every_metric_is_defined() -> None:
    defined = json.loads(to_json(evaluation().to_dict()))["metrics"]
    assert list(defined) == [metric.name for metric in METRICS]
    assert defined["antt"]["better"] == "lower"
    assert all(entry["formula"] and entry["source"] for entry in defined.values())


@pytest.mark.small
def test_notes_say_what_flatters() -> None:
    assert evaluation_notes(evaluation()) == []
    notes = evaluation_notes(evaluation(unfinished=3, illegal=2.0))
    assert len(notes) == 4
    assert "13 tasks finished, 3 unfinished" in notes[0]
    assert "cut off at 50 decisions" in notes[0]
    assert "not legal, 2 a workload" in notes[1]
    (note,) = evaluation_notes(replace(evaluation(), most_tasks=17))
    assert "up to 17 tasks and the table 16 slots" in note


def test_files_are_written_whole(tmp_path: Path) -> None:
    files = evaluation_files(evaluation(per_workload=True))
    paths = write_files(tmp_path / "new" / "folder", files)
    assert sorted(p.name for p in paths) == [
        "evaluation.csv",
        "evaluation.json",
        "per_workload.csv",
    ]
    for path in paths:
        assert path.read_text(encoding="utf-8") == files[path.name]
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 3
    write_files(tmp_path / "new" / "folder", {"evaluation.csv": "second\n"})
    assert (tmp_path / "new" / "folder" / "evaluation.csv").read_text() == "second\n"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()  # a folder where a file should go: the rename fails
    with pytest.raises(ConfigError, match="cannot write to"):
        write_files(tmp_path, {"taken": "text"})
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="cannot write to"):
        write_files(tmp_path / "file" / "below", {"a": "text"})


def test_a_failure_on_the_way_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_files(tmp_path, {"good": "text", "bad": b"bytes"})  # type: ignore[dict-item]
    assert list(tmp_path.iterdir()) == []
