"""docs/bring-your-own.md lists the formats of networks that there are."""

from __future__ import annotations

import re
from pathlib import Path

from prema_gym.networks.importers.formats import FORMATS, NetworkFormat, endings

TEXT = (Path(__file__).parents[2] / "docs" / "bring-your-own.md").read_text(encoding="utf-8")


def row(one: NetworkFormat) -> str:
    needs = f"; needs the extra `{one.extra}` (`pip install '.[{one.extra}]'`)" if one.extra else ""
    return f"| `{one.ending}` | {one.name}{needs} | {one.reads} |"


def test_the_page_has_a_row_for_each_format_and_no_other() -> None:
    (table,) = re.findall(r"^\| ending \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", TEXT, re.M)
    assert table.splitlines() == [row(one) for one in FORMATS]


def test_the_page_says_how_a_file_s_name_ends() -> None:
    marked = re.sub(r"\.[a-z]+", r"`\g<0>`", endings())
    assert f"name that ends in {marked} is a file" in TEXT
