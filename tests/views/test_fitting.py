"""Tables that fit: numbers and names whole, text between words, what has no room below."""

from __future__ import annotations

import pytest

from prema_gym.views.fitting import Column, fits, fitted
from tests.views.helpers import shown

COLUMNS = [
    Column("network", ["mobilenet-v1", "a-network-of-a-longer-name"]),
    Column("source", ["a text of several words", "short"], wraps=True),
    *(Column(f"ms b{batch}", ["123456789", "1.5"], right=True) for batch in (1, 4, 16)),
]


@pytest.mark.small
@pytest.mark.parametrize("width", [36, 45, 60, 80, 120])
def test_no_line_is_too_long_and_no_number_or_name_is_split(width: int) -> None:
    tables = fitted("A title", COLUMNS, width)
    text = shown(*tables, width=width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert text.count("123456789") == 3
    assert text.count("a-network-of-a-longer-name") == len(tables)
    for word in ("several", "words", "short", "1.5"):
        assert word in text
    assert text.count("A title") == 1
    assert (len(tables) == 1) == fits(COLUMNS, width)


@pytest.mark.small
def test_without_a_width_it_is_one_table() -> None:
    (table,) = fitted("", COLUMNS)
    assert "a text of several words" in shown(table, width=200)
    assert fits(COLUMNS, None)


@pytest.mark.small
def test_lines_of_a_cell_stay() -> None:
    (table,) = fitted(
        "", [Column("policy", ["x"]), Column("ANTT", ["1.00\n2.00×"], right=True)], 80
    )
    assert "1.00\n" in shown(table)
    assert "2.00×" in shown(table)


@pytest.mark.small
def test_columns_that_name_the_rows_stand_in_every_table() -> None:
    columns = [
        Column("policy", ["a-policy", "a-policy"]),
        Column("load", ["0.111", "0.222"], right=True),
        *(Column(f"ms b{batch}", ["123456789", "1.5"], right=True) for batch in (1, 4, 16)),
    ]
    tables = fitted("", columns, 28, naming=2)
    assert len(tables) > 1
    text = shown(*tables, width=28)
    assert [text.count(part) for part in ("a-policy", "0.222", "123456789")] == [
        2 * len(tables),
        len(tables),
        3,
    ]
