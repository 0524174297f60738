"""What the pages say about the code is what the code says: every generated part is fresh."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from docs import generate
from docs.generate import PAGES, PARTS, __main__, module_map, sections

ALL = [(page, name, write) for page, parts in PARTS.items() for name, write in parts.items()]


@pytest.mark.parametrize(("page", "name", "write"), ALL, ids=[name for _, name, _ in ALL])
def test_a_part_is_what_the_code_says(page: Path, name: str, write: Callable[[], str]) -> None:
    again = "run: python -m docs.generate"
    assert sections.section(page.read_text(), name) == write(), again


def test_the_command_rewrites_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("by hand\n<!-- x: generated -->\nold\n<!-- x: end -->\nby hand\n")
    monkeypatch.setattr(__main__, "PARTS", {page: {"x": lambda: "new\n"}})
    __main__.main()
    assert page.read_text() == ("by hand\n<!-- x: generated -->\nnew\n<!-- x: end -->\nby hand\n")


def test_a_part_that_is_missing_or_twice_there_is_an_error() -> None:
    text = "a\n<!-- x: generated -->\nold\n<!-- x: end -->\nb\n"
    with pytest.raises(ValueError, match="has 0 generated parts 'y'"):
        sections.section(text, "y")
    with pytest.raises(ValueError, match="has 2 generated parts 'x'"):
        sections.section(text + text, "x")


def test_every_module_is_on_the_map_with_its_question() -> None:
    text = module_map.modules()
    for top in module_map.TOPS:
        for file in (module_map.ROOT / top).rglob("*.py"):
            first = (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()[0]
            assert first in text, file


def test_every_page_with_a_generated_part_is_in_the_table() -> None:
    files = (*generate.PAGES.glob("*.md"), *(module_map.ROOT / "prema_gym").rglob("*.py"))
    marked = {file for file in files if ": generated -->" in file.read_text()}
    assert marked == set(PARTS)


def test_every_table_has_a_header() -> None:
    """A row after a blank line begins a table: without a line of dashes below, it is text."""
    for page in [*PAGES.glob("*.md"), PAGES.parent / "README.md"]:
        lines = ["", *page.read_text(encoding="utf-8").splitlines(), ""]
        for before, row, after in zip(lines, lines[1:], lines[2:], strict=False):
            if row.startswith("|") and not before.startswith("|"):
                assert re.fullmatch(r"[|: -]+", after), f"{page.name}: {row}"
