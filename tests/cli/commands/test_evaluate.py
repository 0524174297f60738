"""`prema-gym evaluate`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.command_line import FAST, run

DUEL = """{"tasks": [
  {"network": "vgg-16", "batch": 16},
  {"network": "alexnet", "arrival_ms": 2.5, "priority": 9, "deadline_ms": 5.0}
]}"""


def test_evaluate_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *FAST, "--format", "json")
    assert status == 0
    report = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))
    assert (report["scenario"], report["seed"], report["workloads"]) == ("paper", 0, 3)
    assert report["relative_to"] == "np-fcfs"
    assert "numpy" in report["versions"]
    prema = report["policies"]["dynamic-prema"]
    for metric in ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high"):
        assert set(prema[metric]) == {"mean", "ci95", "ratio", "ratio_ci95", "mark"}
        assert prema[metric]["ratio"] > 1, "PREMA is better, and above 1 is better for all"
        assert report["policies"]["np-fcfs"][metric]["ratio"] == pytest.approx(1.0)
    assert set(prema["sla_curve"]) == {str(n) for n in range(2, 21)}


def test_per_workload_adds_one_value_a_workload(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *FAST, "--per-workload", "--format", "json")
    values = json.loads(out)["policies"]["dynamic-prema"]["per_workload"]["antt"]
    assert len(values) == 3
    _, out, _ = run(capsys, *FAST, "--per-workload", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(row["antt"]) for row in rows if row["policy"] == "dynamic-prema"] == values


def test_per_workload_with_bounds_has_each_optimum(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *FAST, "--per-workload", "--bounds", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    for row in rows:
        value, best = float(row["antt"]), float(row["optimum_antt"])
        assert value >= best
        assert float(row["regret_antt"]) == pytest.approx(value / best - 1)
        assert float(row["stp"]) <= float(row["optimum_stp"])
    _, out, _ = run(capsys, *FAST, "--per-workload", "--bounds", "--format", "json")
    optima = json.loads(out)["per_workload_optimum"]["antt"]
    assert [float(row["optimum_antt"]) for row in rows[:3]] == optima


def test_table_names_every_policy(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, *FAST)
    assert "np-fcfs" in out
    assert "dynamic-prema" in out
    assert [line.split(":")[0] for line in err.splitlines()] == [  # no progress bar in a pipe
        "3 workloads are too few for intervals",
        "p95 high, p95, p99, p95 latency, p99 latency",
    ]


def test_a_comparison_of_minutes_is_announced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    brief = tmp_path / "brief.toml"
    brief.write_text('networks = ["alexnet"]\nnum_tasks = 3\nquantum_ms = 5e-5\n')
    arguments = ("--scenario", str(brief), "--workloads", "1", "--max-decisions", "10")
    _, _, err = run(capsys, "evaluate", "--policies", "np-fcfs", *arguments)
    assert "quanta: expect minutes for each policy" in err


def test_decision_limit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, *FAST, "--max-decisions", "2")
    assert "cut off at 2 decisions" in err


def test_the_policy_compared_with_is_played_too(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("evaluate", "--policies", "static-prema", "--workloads", "2", "--format", "json")
    _, out, _ = run(capsys, *arguments, "--relative-to", "np-sjf")
    assert list(json.loads(out)["policies"]) == ["np-sjf", "static-prema"]


def test_output_folder_holds_the_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    status, _, err = run(capsys, *FAST, "--output", str(folder))
    assert status == 0
    assert {path.name for path in folder.iterdir()} == {"evaluation.json", "evaluation.csv"}
    assert json.loads((folder / "evaluation.json").read_text())["workloads"] == 3
    assert str(folder / "evaluation.json") in err


def test_per_task_writes_every_task(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = run(capsys, *FAST, "--per-task", "--per-workload", "--output", str(tmp_path))
    assert (status, str(tmp_path / "tasks.csv") in err) == (0, True)
    with (tmp_path / "tasks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3 * 8
    for row in rows:
        arrival, completion = float(row["arrival_ms"]), float(row["completion_ms"])
        assert arrival <= float(row["first_run_ms"]) < completion
        assert float(row["latency_ms"]) == pytest.approx(completion - arrival)
        assert float(row["ntt"]) >= 1
        assert (row["late"] == "True") == (completion > float(row["deadline_ms"]))
    report = json.loads((tmp_path / "evaluation.json").read_text())
    for policy, result in report["policies"].items():
        for seed in range(3):
            own = [r for r in rows if (r["policy"], r["seed"]) == (policy, str(seed))]
            values = result["per_workload"]
            assert sum(float(r["ntt"]) for r in own) / 8 == pytest.approx(values["antt"][seed])
            for column in ("checkpoints", "kills"):
                assert sum(int(r[column]) for r in own) == values[column][seed]


def test_parquet_holds_the_same_tasks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    run(capsys, *FAST, "--per-task", "--output", str(tmp_path))
    one, two = (
        pandas.read_csv(tmp_path / "tasks.csv"),
        pandas.read_parquet(tmp_path / "tasks.parquet"),
    )
    pandas.testing.assert_frame_equal(one, two, check_dtype=False)


def test_tasks_without_a_folder_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *FAST, "--per-task")
    assert (status, out) == (2, "")
    assert err.endswith("--per-task is written to a folder: add --output DIR\n")


def test_bounds_add_the_optimum_and_regrets(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("static-least-er", "dynamic-prema", "clairvoyant-antt", "clairvoyant-stp")
    arguments = ("evaluate", "--bounds", "--workloads", "30", "--policies", ",".join(names))
    _, out, _ = run(capsys, *arguments, "--format", "json")
    report = json.loads(out)
    best = report["optimum"]
    regrets = {name: row["regret"] for name, row in report["policies"].items()}
    for name, regret in regrets.items():
        assert set(regret) == set(best)
        for metric, value in regret.items():
            assert value is None or value >= -1e-9, f"{name} beats the optimum in {metric}"
        antt = report["policies"][name]["antt"]["mean"]
        assert regret["antt"] == pytest.approx(antt / best["antt"] - 1)
    # What is left for the schedule that is best in a metric is the price of switching.
    for metric in ("antt", "stp"):
        own = regrets[f"clairvoyant-{metric}"][metric]
        assert own == min(row[metric] for row in regrets.values())
        assert 0 < own < 0.02
    _, out, _ = run(capsys, *arguments, "--format", "csv")
    rows = {(row["policy"], row["metric"]): row["mean"] for row in csv.DictReader(io.StringIO(out))}
    assert float(rows["optimum", "antt"]) == best["antt"]
    assert float(rows["np-fcfs", "regret_antt"]) == regrets["np-fcfs"]["antt"]
    _, out, _ = run(capsys, *arguments)
    assert "optimum (value)" in out


def test_more_tasks_than_the_optimum_takes_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "many.toml"
    path.write_text("num_tasks = 21")
    status, _, err = run(capsys, *FAST, "--bounds", "--scenario", str(path))
    assert status == 2
    assert "20" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "needles"),
    [
        ("windw_ms = 3", ("'windw_ms'", "'window_ms'")),
        ("window_ms = -3", ("window_ms", "-3")),
        ("window_ms = ", ("TOML",)),
        ("[hardware]\nclock = 3", ("'clock'", "'clock_hz'")),
    ],
)
def test_a_bad_scenario_file_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, needles: tuple[str, ...]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    status, _, err = run(capsys, "evaluate", "--scenario", str(path))
    assert status == 2
    assert err.count("\n") == 1, err
    assert "mine.toml" in err
    for needle in needles:
        assert needle in err


def test_a_failed_run_leaves_no_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "evaluate", "--policies", "nobody", "--output", str(tmp_path / "report"))
    assert list(tmp_path.iterdir()) == []


def test_drains_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("evaluate", "--policies", "dynamic-prema,static-prema", "--workloads", "20")
    _, out, _ = run(capsys, *arguments, "--format", "json")
    policies = json.loads(out)["policies"]
    assert policies["dynamic-prema"]["drains"]["mean"] > 0
    assert policies["static-prema"]["drains"]["mean"] == 0
    _, out, _ = run(capsys, *arguments, "--sticky-drain", "--format", "json")
    sticky = json.loads(out)["policies"]
    assert sticky["dynamic-prema"]["antt"] != policies["dynamic-prema"]["antt"]
    assert sticky["static-prema"]["antt"] == policies["static-prema"]["antt"]


def test_learned_policies_are_compared_on_test_seeds_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned = "agents/pretrained/learned.npz"
    for policy in ("learned", f"path:{Path(__file__).parents[3] / learned}"):
        arguments = ("evaluate", "--policies", policy, "--workloads", "2", "--seed", "999999999")
        status, _, err = run(capsys, *arguments)
        assert status == 2
        assert "may be compared on seeds 0 to 999999999, got 999999999 to 1000000000" in err
    status, *_ = run(capsys, "evaluate", "--policies", "np-fcfs", *arguments[3:])
    assert status == 0


def test_all_may_stand_among_others(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(
        capsys, "evaluate", "--policies", "clairvoyant-antt,all,dysta:beta=0.05",
        "--workloads", "1", "--format", "json",
    )  # fmt: skip
    names = list(json.loads(out)["policies"])
    assert {"clairvoyant-antt", "learned", "dysta", "dysta:beta=0.05", "np-fcfs"} <= set(names)
    assert len(names) == len(set(names))


def test_workload_files_are_played_in_place_of_drawn_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "duel.json").write_text(DUEL)
    (tmp_path / "alone.json").write_text('{"tasks": [{"network": "alexnet"}]}')
    both = ["evaluate", "--policies", "dynamic-prema,learned"]
    both += ["--workload", str(tmp_path / "duel.json"), "--workload", str(tmp_path / "alone.json")]
    _, out, _ = run(capsys, *both, "--format", "json", "--per-workload")
    report = json.loads(out)
    assert (report["seed"], report["workloads"]) == (None, 2)
    # A task alone has NTT 1 under every policy.
    assert [row["per_workload"]["antt"][1] for row in report["policies"].values()] == [1.0] * 3
    assert report["policies"]["dynamic-prema"]["per_workload"]["antt"][0] < 2
    assert report["policies"]["np-fcfs"]["per_workload"]["antt"][0] > 2
    _, out, _ = run(capsys, *both)
    assert "2 workloads as given, scenario 'paper'" in out
    _, out, _ = run(capsys, *both, "--format", "csv", "--per-workload")
    assert [line.split(",")[:2] for line in out.splitlines()[:3]] == [
        ["policy", "workload"],
        ["np-fcfs", "0"],
        ["np-fcfs", "1"],
    ]


def test_workload_files_that_do_not_fit_get_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "duel.json"
    path.write_text(DUEL)
    for arguments, message in (
        (["--workload", str(path), "--workloads", "5"], "workloads is 5, but 1 are given"),
        (["--workload", str(tmp_path / "no.json")], "cannot read"),
    ):
        status, out, err = run(capsys, "evaluate", "--policies", "np-fcfs", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    path.write_text(DUEL.replace("alexnet", "alexnte"))
    _, _, err = run(capsys, "evaluate", "--policies", "np-fcfs", "--workload", str(path))
    assert "did you mean 'alexnet'" in err
