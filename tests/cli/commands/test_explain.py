from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import run

PAIR = ("explain", "--policies", "dynamic-prema,learned", "--seed", "16")


def test_it_tells_where_they_part_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *PAIR)
    assert status == 0
    assert "learned would choose otherwise" in out
    assert "1. at " in out
    assert "What both saw" in out
    assert "scores " in out
    assert "In the end: each task's NTT under either policy" in out


def test_as_data_it_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *PAIR, "--format", "json", "--most", "1000")
    data = json.loads(out)
    assert (status, data["left_out"]) == (0, 0)
    first, second = (policy["antt"] for policy in data["policies"])
    assert sum(told["won"] for told in data["told"]) == pytest.approx(second - first)
    assert sum(told["decisions"] for told in data["told"]) == data["partings"]
    for told in data["told"]:
        assert [row["chosen_by"] for row in told["table"] if row["chosen_by"]]


def test_every_decision_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "decisions.csv"
    status, out, err = run(capsys, *PAIR, "--decisions", str(path), "--format", "csv")
    assert status == 0
    assert out.startswith("from_ms,to_ms,decisions,won,dynamic-prema,learned\n")
    assert err.endswith(f"wrote {path}\n")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert {row["policy"] for row in rows} == {"dynamic-prema", "learned"}
    by_decision: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["policy"], row["decision"]
        by_decision[key] = by_decision.get(key, 0) + int(row["chosen"])
    assert set(by_decision.values()) == {1}


def test_parquet_holds_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for ending in ("csv", "parquet"):
        run(capsys, *PAIR, "--decisions", str(tmp_path / f"d.{ending}"))
    one = pandas.read_csv(tmp_path / "d.csv", keep_default_na=False)
    two = pandas.read_parquet(tmp_path / "d.parquet")
    pandas.testing.assert_frame_equal(one, two, check_dtype=False)


def test_without_pyarrow_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, _, err = run(capsys, *PAIR, "--decisions", str(tmp_path / "d.parquet"))
    assert status == 2
    assert "pip install 'prema-gym[frames]'" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policies", "np-fcfs"), "--policies must name two to compare, got 1: np-fcfs"),
        (("--metric", "ant"), "unknown metric 'ant'; did you mean 'antt'?"),
        (("--decisions", "x.xls"), "x.xls must end in .csv or .parquet"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "explain", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
