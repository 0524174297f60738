"""The page on what is read of files: every small graph is there, and both counts are right."""

from __future__ import annotations

import re
from pathlib import Path

from tests.networks.onnx_cases import CASES

PAGE = Path(__file__).parents[2] / "docs" / "imports.md"


def rows() -> dict[str, list[str]]:
    """Cells of the page's table, by the first one."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return {name.strip("`"): rest for name, *rest in cells}


def test_each_graph_of_ours_is_there_with_its_count() -> None:
    found = rows()
    for case in CASES:
        ours, executed, word = found[case.name]
        assert int(ours.replace(" ", "")) == int(executed.replace(" ", "")) == case.macs
        assert word == ""
    assert len(CASES) >= 30


def test_no_count_differs() -> None:
    assert "differs" not in PAGE.read_text()
    public = [name for name in rows() if name.endswith(".onnx")]
    assert len(public) == 8
    assert re.search(r"ONNX Runtime \d+\.\d+", PAGE.read_text())
