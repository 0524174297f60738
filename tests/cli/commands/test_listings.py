"""The commands that list networks, policies, scenarios and costs of switching."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from prema_gym import baselines
from tests.cli.command_line import run


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


def test_every_policy_listed_says_rule_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "policies", "--format", "json")
    for row in json.loads(out):
        assert row["rule"].endswith("."), row["policy"]
        assert row["source"], row["policy"]


def test_parameters_are_listed_as_one_types_them(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "policies", "--format", "json")
    listed = {row["policy"]: row["parameters"] for row in json.loads(out)}
    assert "levels=1/3/9" in listed["np-prema"]
    for name in baselines.names():
        written = ",".join(listed[name])
        assert baselines.make(f"{name}:{written}" if written else name).name == name
    assert baselines.make("np-prema:strict=TRUE").parameters["strict"] is True


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
    report = json.loads(out)
    assert list(report["policies"]) == ["np-fcfs"]
    # Shown as it was given; what repeats the comparison knows where it lies.
    assert "sparse.csv" in report["policies"]["np-fcfs"]["by"]["network"]
    assert report["settings"]["scenario"]["networks"][0] == str(tmp_path / "sparse.csv")
    for command in (("workload", "--scenario", "mine.toml"), ("profile", "sparse.csv")):
        _, out, _ = run(capsys, *command)
        assert ("sparse.csv" in out, str(tmp_path) in out) == (True, False)


def test_preemption_prices_every_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "preemption", "alexnet", "--batch", "2,8", "--format", "json")
    rows = json.loads(out)
    assert ([row["batch"] for row in rows], err) == ([2, 8], "")
    for row in rows:
        # Who is killed waits for the tile in flight; who is saved waits for the save too.
        assert 0 < row["kill mean us"] < row["checkpoint mean us"] < row["drain mean us"]
        assert row["lost mean us"] == pytest.approx(row["drain mean us"], rel=0.01)
        assert row["restore mean us"] <= row["restore p95 us"] <= row["restore max us"]
    _, out, err = run(capsys, "preemption", "alexnet", "--batch", "2")
    assert "min" not in out
    assert "lost: work that a kill throws away" in err
    status, out, err = run(capsys, "preemption", "alexnet", "--batch", "0")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--batch must be whole numbers from 1" in err


def test_a_bad_network_file_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("Layer,M,N,K\na,4,5\n")
    for name, needle in (("bad.csv", "bad.csv, line 2: K must be"), ("no.onnx", "'no.onnx'")):
        status, out, err = run(capsys, "networks", name)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert needle in err


@pytest.mark.usefixtures("own_networks")
def test_a_file_that_cannot_be_read_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text("Layer,M,N,K\na,4,5,6\n")
    Path("bad.csv").write_text("Layer,M,N,K\na,4,5\n")
    Path("dir.csv").mkdir()
    bad = ("bad.csv", "dir.csv", "none.csv", "good.csv?what", "good.csv?t=3", "resnet-5")
    status, out, err = run(capsys, "networks", "good.csv", *bad, "--format", "json")
    assert status == 2
    assert [row["network"] for row in json.loads(out)] == ["good.csv"]
    assert err.count("\n") == len(bad)
    assert "known" not in err.splitlines()[-1] or str(tmp_path) not in err.splitlines()[-1]


def test_machines_are_listed_and_printed_as_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, _ = run(capsys, "hardware", "--format", "json")
    listed = {row["machine"]: row for row in json.loads(out)}
    assert listed["prema"]["array"] == "128×128"
    assert all(row["source"] and row["ours"] for row in listed.values())
    _, out, _ = run(capsys, "hardware", "edge-32")
    assert out.startswith("# edge-32")
    file = tmp_path / "mine.toml"
    file.write_text(out)
    by_file = run(capsys, "networks", "resnet-50", "--hardware", str(file), "--format", "json")
    by_name = run(capsys, "networks", "resnet-50", "--hardware", "edge-32", "--format", "json")
    assert by_file == by_name
    assert by_name != run(capsys, "networks", "resnet-50", "--format", "json")


@pytest.mark.parametrize("columns", [80, 132])
@pytest.mark.parametrize("command", ["networks", "hardware"])
def test_listings_fit_a_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    columns: int,
) -> None:
    """One line a row: no name is folded."""
    _, out, _ = run(capsys, command, "--format", "json")
    rows = json.loads(out)
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run(capsys, command)
    assert len(out.splitlines()) == 1 + len(rows)
    assert max(map(len, out.splitlines())) <= columns


@pytest.mark.usefixtures("own_networks")
def test_a_profile_of_a_name_and_of_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, err = run(capsys, "profile", "resnet-50", "--batch", "1,8", "--hardware", "tpu-v4i")
    assert [line.split()[1] for line in out.splitlines()] == ["batch", "1", "8"]
    assert "binds" in err
    file = tmp_path / "sparse.csv"
    file.write_text("Layer,M,N,K,Sparsity,\na,400,500,600,2:4,\nb,1,64,64,,\n")
    _, out, err = run(capsys, "profile", str(file), "--layers", "--format", "json")
    assert [(row["layer"], row["binds"]) for row in json.loads(out)] == [
        ("a", "fill"),
        ("b", "fill"),
    ]
    assert "taken as dense" in err  # what was ignored is said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("resnet-50", "--batch", "0"), "--batch must be whole numbers from 1"),
        (("resnet-50", "--batch", "1,x"), "got '1,x'"),
        (("resnet-50", "--batch", "1,4", "--layers"), "--layers shows one batch size"),
        (("resnet50",), "did you mean 'resnet-50'"),
        (("rnn-mt1", "--input-length", "0"), "input_length must be a whole number"),
    ],
)
def test_a_bad_profile_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, "profile", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
