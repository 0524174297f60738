from __future__ import annotations

import pytest

from prema_gym.cli.printing import console
from prema_gym.views.tables import evaluation_tables, to_table
from tests.views.episodes import WILD
from tests.views.helpers import evaluation, shown


@pytest.mark.small
def test_tables_show_value_interval_and_ratio() -> None:
    main, latency, detail = evaluation_tables(evaluation())
    assert "p99 latency (ms) ↓" in shown(latency)
    assert "missed ↓" in shown(latency)
    text = shown(main)
    assert "12.3±0.5 7.80×" in text
    assert "ANTT ↓" in text
    assert "STP ↑" in text
    assert "95 %" in text
    assert "np-fcfs" in text
    assert "energy (mJ) ↓" in shown(detail)
    assert "–" in shown(detail)
    # On 80 columns a cell may break between value and ratio, never inside either.
    narrow = shown(main, width=80)
    assert narrow.count("12.3±0.5") == 10
    assert narrow.count("7.80×") == 5
    assert "dynamic-prema" in narrow
    # Narrower terminals get value, interval and ratio below each other.
    for width in (60, 70, 79):
        text = shown(evaluation_tables(evaluation(), width=width)[0], width=width)
        assert [text.count(part) for part in ("12.3", "±0.5", "7.80×")] == [10, 10, 5]
        assert "…" not in text


@pytest.mark.small
def test_a_listing_aligns_numbers_and_names() -> None:
    text = shown(to_table([{"name": "vgg-16 [a]", "MACs": 15.47, "batches": (1, 4)}], "Networks"))
    assert "vgg-16 [a]" in text  # brackets are text, not markup
    assert "Networks" in text
    assert "15.5" in text
    assert "1, 4" in text
    assert shown(to_table([])).strip() == ""


def test_a_name_is_shown_as_written_on_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(to_table([{"network": WILD}], WILD))
    assert capsys.readouterr().out.count(WILD) == 2
