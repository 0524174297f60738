from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.cli.command_line import run

FEW = ("--policies", "np-fcfs,static-sjf,kill-sjf", "--workloads", "3")


@pytest.mark.parametrize(("format", "column"), [("png", ()), ("pdf", ("--column",)), ("svg", ())])
def test_figures_and_their_numbers_are_written(
    format: str, column: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "figures"
    only = ("--only", "metrics,sla-curve", "--format", format, "--output", str(folder))
    status, out, _ = run(capsys, "figures", *FEW, *only, *column)
    assert status == 0
    assert out.count("wrote ") == 2
    names = {f"{name}.{e}" for name in ("metrics", "sla-curve") for e in (format, "csv")}
    assert {file.name for file in folder.iterdir()} == names
    rows = list(csv.DictReader((folder / "metrics.csv").read_text().splitlines()))
    assert len(rows) == 5 * 3


def test_what_cannot_be_drawn_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    only = ("--only", "learning-curves", "--output", str(tmp_path))
    status, out, err = run(capsys, "figures", *FEW, *only)
    assert (status, out) == (0, "")
    assert "learning-curves is left out: it needs training runs (--run FOLDER" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "sla"), "unknown figure 'sla'"),
        (("--format", "gif"), "--format must be png, svg, pdf, got 'gif'"),
        (("--run", "nowhere", *FEW, "--only", "learning-curves"), "nowhere"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "figures", "--output", str(tmp_path), *arguments)
    assert (status, out) == (2, "")
    assert said in err
