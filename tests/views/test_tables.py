from __future__ import annotations

import pytest

from prema_gym.cli.printing import console
from prema_gym.evaluation.results import Mark
from prema_gym.metrics import METRICS
from prema_gym.views.comparison import Cell, Row, Section
from prema_gym.views.tables import evaluation_tables, section_tables, to_tables
from tests.views.episodes import WILD
from tests.views.helpers import evaluation, shown

METRIC_COLUMNS = [metric for metric in METRICS if metric.table is not None]


@pytest.mark.small
def test_tables_show_value_interval_and_ratio() -> None:
    main, latency, detail = evaluation_tables(evaluation())
    assert "p99 latency (ms) ↓" in shown(latency)
    assert "missed ↓" in shown(latency)
    text = shown(main)
    assert "12.3 [11.8, 12.8] 7.80×" in text
    assert "ANTT ↓" in text
    assert "STP ↑" in text
    assert "95 %" in text
    assert "np-fcfs" in text
    assert "energy (mJ) ↓" in shown(detail)
    assert "–" in shown(detail)


@pytest.mark.small
@pytest.mark.parametrize("width", [40, 60, 79, 80, 110, 132])
def test_nothing_is_split_at_any_width(width: int) -> None:
    tables = evaluation_tables(evaluation(), width=width)
    text = shown(*tables, width=width)
    # Where not all columns fit, further tables begin with the policies again.
    assert [text.count(part) for part in ("[11.8, 12.8]", "7.80×")] == [10, 5]
    assert text.count("12.3") == 2 * len(METRIC_COLUMNS) - 2  # but for energy
    assert text.count("dynamic-prema") == len(tables)
    assert "…" not in text


@pytest.mark.small
def test_too_few_is_said_in_place_of_an_interval() -> None:
    marks: dict[str, Mark] = {"antt": "few workloads", "p99_ntt": "few tasks"}
    main, latency, _ = evaluation_tables(evaluation(marks=marks))
    assert "12.3 (too few) 7.80×" in shown(main)
    assert "12.3?" in shown(latency)


@pytest.mark.small
def test_a_listing_aligns_numbers_and_names() -> None:
    record = {"name": "vgg-16 [a]", "MACs": 15.47, "batches": (1, 4)}
    text = shown(*to_tables([record], "Networks"))
    assert "vgg-16 [a]" in text  # brackets are text, not markup
    assert "Networks" in text
    assert "15.5" in text
    assert "1, 4" in text
    assert shown(*to_tables([])).strip() == ""


def test_a_name_is_shown_as_written_on_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    for table in to_tables([{"network": WILD}], WILD):
        console().print(table)
    assert capsys.readouterr().out.count(WILD) == 2


@pytest.mark.small
def test_a_table_that_does_not_fit_has_no_empty_lines_and_keeps_intervals_beside() -> None:
    cells = (Cell(1.0, (0.5, 1.5)), *(Cell(123456.0) for _ in range(12)))
    section = Section(
        title="By network",
        columns=tuple(f"column {i}" for i in range(13)),
        rows=(Row("vgg-16 · np-fcfs", cells), Row("vgg-16 · static-edf", cells)),
        intervals=True,
    )
    tables = section_tables(section, 80)
    assert len(tables) > 1
    text = shown(*tables, width=80)
    assert "1.00 [0.500, 1.50]" in text
    assert all(line.strip() for line in text.splitlines())
    for width in (118, 136):  # on a second line, then beside
        text = shown(*section_tables(section, width), width=width)
        assert all(line.strip() for line in text.splitlines())
        assert ("1.00 [0.500, 1.50]" in text) == (width == 136)
