"""docs/extending.md names files that exist, and in them the tables and functions that it means."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text()
ROW = re.compile(r"^\| `([^`]+)`(?:, `([^`]+)`)?( \*new\*)? \|", re.M)
ROWS = [
    (title.splitlines()[0], *row) for title in PAGE.split("\n## ")[1:] for row in ROW.findall(title)
]
THINGS = (
    "A policy", "A network", "A machine", "An importer", "A metric", "A reward",
    "An observation column",
    "A training algorithm", "A command", "A picture", "A task field",
)  # fmt: skip


AWAITED: tuple[str, ...] = ()
"""Files of tables that rooms still being put in order will have: to be emptied."""


def defined(path: Path) -> set[str]:
    """What a module calls by name at its top: classes, functions, constants."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def wrong(file: str, name: str, new: str) -> str:
    """What is not true of a row; empty if all is."""
    path = ROOT / file
    if new:
        return "exists already" if path.exists() else "" if path.parent.is_dir() else "no folder"
    if not path.exists():
        return "no file"
    return "" if not name or name in defined(path) else f"no {name}"


@pytest.mark.parametrize(
    ("thing", "file", "name", "new"),
    [
        pytest.param(*row, marks=[pytest.mark.xfail] if row[1] in AWAITED else [], id=row[1])
        for row in ROWS
    ],
)
def test_a_row_is_true(thing: str, file: str, name: str, new: str) -> None:
    assert wrong(file, name, new) == "", f"{thing}: {file}"


def test_everything_that_can_be_added_has_its_rows() -> None:
    assert tuple(dict.fromkeys(thing for thing, *_ in ROWS)) == THINGS


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("baselines/registry.py", "NOWHERE", ""), "no NOWHERE"),
        (("baselines/nowhere.py", "", ""), "no file"),
        (("nowhere/mine.py", "", " *new*"), "no folder"),
        (("baselines/registry.py", "", " *new*"), "exists already"),
    ],
)
def test_a_row_that_is_not_true_is_found(row: tuple[str, str, str], said: str) -> None:
    assert wrong(*row) == said
