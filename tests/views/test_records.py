"""Records: strict JSON, CSV that reads back, one record a policy and metric."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from prema_gym.metrics import METRICS, SLA_TARGETS
from prema_gym.views.records import (
    evaluation_files,
    evaluation_records,
    per_workload_records,
    to_csv,
    to_json,
)
from tests.views.helpers import evaluation


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
        assert set(row[name]) == {"mean", "ci95", "ratio", "ratio_ci95", "mark"}
    assert row["antt"] == {
        "mean": 12.345, "ci95": [11.845, 12.845], "ratio": 7.8, "ratio_ci95": [1.0, 2.0],
        "mark": "",
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
        "mark": "",
    }  # fmt: skip
    assert records[-1]["metric"] == "sla_violation_at_20"
    assert per_workload_records(evaluation()) == []
    rows = per_workload_records(evaluation(per_workload=True))
    assert [row["seed"] for row in rows] == [5, 6, 5, 6]


@pytest.mark.small
def test_every_metric_is_defined() -> None:
    defined = json.loads(to_json(evaluation().to_dict()))["metrics"]
    assert list(defined) == [metric.name for metric in METRICS]
    assert defined["antt"]["better"] == "lower"
    assert all(entry["formula"] and entry["source"] for entry in defined.values())


@pytest.mark.small
def test_files_of_an_evaluation() -> None:
    assert list(evaluation_files(evaluation())) == ["evaluation.json", "evaluation.csv"]
    files = evaluation_files(evaluation(per_workload=True))
    assert files["evaluation.json"] == to_json(evaluation(per_workload=True).to_dict())
    assert files["evaluation.csv"].startswith("policy,metric,mean,ci95_low,")
    assert files["per_workload.csv"].startswith("policy,seed,antt\nnp-fcfs,5,1.0\nnp-fcfs,6,\n")
