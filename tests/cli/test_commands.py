"""The command line: results on stdout; for a mistake one plain line, status 2, no files."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prema_gym import baselines, cli
from prema_gym.cli import naming

COMMAND = (sys.executable, "-c", "from prema_gym.cli import main; main()")
FAST = ["evaluate", "--policies", "np-fcfs,dynamic-prema", "--workloads", "3"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of ``prema-gym ARGUMENTS``."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_evaluate_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *FAST, "--format", "json")
    assert status == 0
    report = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))
    assert (report["scenario"], report["seed"], report["workloads"]) == ("paper", 0, 3)
    assert report["relative_to"] == "np-fcfs"
    assert "numpy" in report["versions"]
    prema = report["policies"]["dynamic-prema"]
    for metric in ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high"):
        assert set(prema[metric]) == {"mean", "ci95", "ratio", "ratio_ci95"}
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


def test_table_names_every_policy(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, *FAST)
    assert "np-fcfs" in out
    assert "dynamic-prema" in out
    assert err == "", "no progress bar in a pipe"


def test_eighty_columns_lose_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (FAST, ["networks"], ["scenarios"], ["preemption", "mobilenet-v1"]):
        _, out, _ = run(capsys, *arguments)
        assert max(len(line) for line in out.splitlines()) <= 80
        assert "…" not in out
    _, out, _ = run(capsys, "networks")
    assert "mobilenet-v1" in out


def test_decision_limit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, *FAST, "--max-decisions", "2")
    assert "cut off at 2 decisions" in err


def test_a_disk_that_is_full_is_one_line() -> None:
    code = "from prema_gym.cli import main; main(['scenarios'])"
    with Path("/dev/full").open("wb", buffering=0) as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("prema-gym: cannot write the result")
    assert done.stderr.count("\n") == 1


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
    ("arguments", "needles"),
    [
        (
            ("evaluate", "--policies", "clairvoyant-ant"),
            ("'clairvoyant-ant'", "did you mean 'clairvoyant-antt'", "`prema-gym policies`"),
        ),
        (("evaluate", "--policies", "path:nowhere"), ("nowhere", "no file or folder")),
        (("evaluate", "--policies", "path:"), ("no file or folder",)),
        (("evaluate", "--policies", "learnd"), ("'learnd'", "did you mean 'learned'")),
        (("evaluate", "--policies", "learned:x=1"), ("'learned'", "takes no parameters")),
        (("evaluate", "--policies", "np-fcfs:levels=1"), ("'np-fcfs'", "takes no parameters")),
        (("evaluate", "--per-workload"), ("--per-workload", "--format")),
        (("evaluate", "--output", __file__), ("not a folder",)),
        (("evaluate", "--slots", "1000000000000"), ("slots", "4096")),
        (("evaluate", "--workloads", "1000000000000"), ("workloads", "100000")),
        (("evaluate", "--policies", "dynamic-perma"), ("'dynamic-perma'", "'dynamic-prema'")),
        (("evaluate", "--policies", ""), ("policies",)),
        (("evaluate", "--policies", "np-fcfs,np-fcfs"), ("np-fcfs", "twice")),
        (("evaluate", "--policies", "static-prema:strikt=true"), ("'strikt'", "'strict'")),
        (("evaluate", "--scenario", "papers"), ("'papers'", "'paper'")),
        (("evaluate", "--scenario", "absent.toml"), ("absent.toml",)),
        (("evaluate", "--workloads", "0"), ("--workloads", "1")),
        (("evaluate", "--workloads", "many"), ("--workloads", "many")),
        (("evaluate", "--token-wait", "never"), ("'never'", "since_wakeup")),
        (("evaluate", "--slots", "-1"), ("--slots",)),
        (("evaluate", "--fromat", "json"), ("--fromat",)),
        (("evaluate", "--format", "xml"), ("xml", "json")),
        (("reproduce", "--only", "annt"), ("'annt'", "'antt'")),
        (("preemption", "alexnett"), ("'alexnett'", "'alexnet'")),
        (("networks", "--hardware", "absent.toml"), ("absent.toml",)),
        (("evalute",), ("evalute",)),
    ],
)
def test_a_mistake_gets_one_plain_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], needles: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("prema-gym: ")
    assert err.count("\n") == 1, err
    for needle in needles:
        assert needle in err


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


@pytest.mark.parametrize(
    ("arguments", "column", "values"),
    [
        (("networks",), "network", {"alexnet", "resnet-50", "rnn-mt2"}),
        (("policies",), "policy", {"np-fcfs", "dynamic-prema", "kill-prema"}),
        (("scenarios",), "scenario", {"paper", "light", "heavy"}),
        (("preemption", "alexnet", "rnn-sa"), "network", {"alexnet", "rnn-sa"}),
    ],
)
def test_listings_in_every_format(
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    column: str,
    values: set[str],
) -> None:
    _, out, _ = run(capsys, *arguments, "--format", "json")
    from_json = {row[column] for row in json.loads(out)}
    assert values <= from_json
    _, out, _ = run(capsys, *arguments, "--format", "csv")
    assert {row[column] for row in csv.DictReader(io.StringIO(out))} == from_json
    _, out, _ = run(capsys, *arguments)
    for value in values:
        assert value in out


def test_error_of_the_estimate_is_of_the_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "networks", "--format", "json")
    for row in json.loads(out):
        for batch in (1, 4, 16):
            true, guess = row[f"ms b{batch}"], row[f"est b{batch}"]
            assert row[f"err% b{batch}"] == pytest.approx(100 * (guess / true - 1))
    assert {r["network"]: r["err% b1"] for r in json.loads(out)}["mobilenet-v1"] < -40


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_export_writes_a_program_and_says_how_quick_it_decides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "learned.pt"
    arguments = ("export", "learned", "--format", "torchscript", "--output", str(path))
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert path.stat().st_size > 0
    assert "one decision of learned" in out
    assert "one decision of dynamic-prema" in out
    status, _, err = run(capsys, "export", "learned", "--format", "pickle")
    assert status == 2
    assert "torchscript" in err
    status, _, err = run(capsys, "export", "nobody")
    assert status == 2
    assert "learned" in err


def test_every_policy_listed_says_rule_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "policies", "--format", "json")
    for row in json.loads(out):
        assert row["rule"].endswith("."), row["policy"]
        assert row["source"], row["policy"]


def test_parameters_stay_with_their_policy() -> None:
    assert naming.split_names("static-prema:strict=true,levels=1/3/9, np-fcfs") == [
        "static-prema:strict=true,levels=1/3/9",
        "np-fcfs",
    ]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--version")
    assert status == 0
    assert out.startswith("prema-gym ")
    status, out, _ = run(capsys)
    assert status == 0
    assert "evaluate" in out


def test_warmup_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "warmup")
    assert (status, out) == (0, "")
    assert "compiled" in err


def test_learned_policies_are_compared_on_test_seeds_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned = "agents/pretrained/learned.npz"
    for policy in ("learned", f"path:{Path(__file__).parents[2] / learned}"):
        arguments = ("evaluate", "--policies", policy, "--workloads", "2", "--seed", "999999999")
        status, _, err = run(capsys, *arguments)
        assert status == 2
        assert "may be compared on seeds 0 to 999999999, given 999999999 to 1000000000" in err
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


def test_parameters_are_listed_as_one_types_them(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "policies", "--format", "json")
    listed = {row["policy"]: row["parameters"] for row in json.loads(out)}
    assert "levels=1/3/9" in listed["np-prema"]
    for name in baselines.names():
        written = ",".join(listed[name])
        assert baselines.make(f"{name}:{written}" if written else name).name == name
    assert baselines.make("np-prema:strict=TRUE").parameters["strict"] is True


def test_a_reader_that_goes_away_is_no_failure() -> None:
    command = shlex.join([*COMMAND, "evaluate", "--policies", "np-fcfs", "--workloads", "2"])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_says_that_it_stopped() -> None:
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "--workloads", "50000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (130, "stopped")


def test_an_encoding_without_the_signs_is_no_failure() -> None:
    done = subprocess.run(
        [*COMMAND, "evaluate", "--policies", "np-fcfs", "--workloads", "2"],
        capture_output=True, cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"np-fcfs" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (("--output", "net.txt"), "does not say its format"),
        (("--output", "net.pt", "--format", "onnx"), "disagree"),
        (("--format", "tflite"), "unknown format 'tflite'"),
    ],
)
def test_a_file_to_export_to_says_its_format(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], needle: str
) -> None:
    status, _, err = run(capsys, "export", "learned", *arguments)
    assert status == 2
    assert needle in err


DUEL = """{"tasks": [
  {"network": "vgg-16", "batch": 16},
  {"network": "alexnet", "arrival_ms": 2.5, "priority": 9, "deadline_ms": 5.0}
]}"""


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


@pytest.mark.usefixtures("own_networks")
def test_files_of_networks_are_listed_and_played(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sparse.csv").write_text("Layer,M,N,K,Sparsity,\na,400,500,600,2:4,\n")
    Path("dense.csv").write_text("Layer,M,N,K,\na,400,500,600,\n")
    note = "sparse.csv: Sparsity ignored: 1 layer taken as dense\n"
    _, out, err = run(capsys, "networks", "dense.csv", "sparse.csv", "--format", "json")
    assert [row["network"] for row in json.loads(out)] == ["dense.csv", "sparse.csv"]
    assert [row["GMACs"] for row in json.loads(out)] == [0.12, 0.12]
    assert err == note
    _, out, err = run(capsys, "networks", "dense.csv", "alexnet")
    assert "dense.csv" in out
    assert (err, "googlenet" in out) == ("", False)
    _, out, err = run(capsys, "preemption", "sparse.csv", "--format", "csv")
    assert ("sparse.csv,16" in out, err) == (True, note)

    Path("mine.toml").write_text('networks = ["sparse.csv", "alexnet"]\nnum_tasks = 4\n')
    mine = ("--scenario", "mine.toml", "--policies", "np-fcfs", "--workloads", "3")
    status, out, err = run(capsys, "evaluate", *mine, "--format", "json")
    assert (status, err) == (0, note)
    assert list(json.loads(out)["policies"]) == ["np-fcfs"]


def test_a_bad_network_file_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("Layer,M,N,K\na,4,5\n")
    for name, needle in (("bad.csv", "bad.csv, line 2: K must be"), ("no.onnx", "'no.onnx'")):
        status, out, err = run(capsys, "networks", name)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert needle in err
