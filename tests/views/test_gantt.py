from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from prema_gym.errors import MissingExtraError
from prema_gym.views.gantt import DPI, draw_gantt, figure_size, gantt, to_image
from prema_gym.views.plotting import new, plain
from prema_gym.views.rows import rows_of
from tests.views.episodes import WILD, made_up, played, with_name


def test_schedules_stand_above_each_other_on_one_axis() -> None:
    figure = gantt([played("np-fcfs"), played("kill-prema")])
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim()
    assert first.get_xlim()[1] >= played("kill-prema").now_ms
    titles = [axes.get_title(loc="left").splitlines()[0] for axes in figure.axes]
    assert titles == ["np-fcfs, seed 3", "kill-prema, seed 3"]
    assert to_image(figure).std() > 10


def test_the_axis_can_be_a_part() -> None:
    (axes,) = gantt([played("np-fcfs")], from_ms=1.0, to_ms=5.0).axes
    assert axes.get_xlim() == (1.0, 5.0)


def test_kills_are_marked() -> None:
    (axes,) = gantt([played("kill-prema")]).axes
    marks = [line for line in axes.lines if line.get_marker() == "|"]
    assert sum(len(line.get_xdata()) for line in marks) == 3  # type: ignore[arg-type,misc]


def test_many_tasks_share_lanes_by_priority() -> None:
    episode = made_up(1000)
    rows = rows_of(episode)
    assert sum(len(row.tasks) for row in rows) == 50
    assert [row.label for row in rows if row.label] == ["π=9", "π=3", "π=1"]
    (axes,) = gantt([episode]).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["π=9", "π=3", "π=1"]
    figure = new("a test", figure_size(episode.num_tasks), DPI)
    draw_gantt(episode, figure)
    assert to_image(figure).std() > 1


def test_names_are_as_written() -> None:
    pytest.importorskip("matplotlib")
    figure = gantt([with_name(played("np-fcfs"), WILD)])
    (axes,) = figure.axes
    to_image(figure)
    label = axes.get_yticklabels()[0]
    assert label.get_text().replace(r"\$", "$") == f"0 {WILD} ×16 π=3"
    # Nothing between dollars is read as a formula.
    assert label._preprocess_math(label.get_text()) == (f"0 {WILD} ×16 π=3", False)  # type: ignore[attr-defined]
    assert plain("_hidden") == " _hidden"


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'prema-gym\[plot\]'"):
        gantt([played("np-fcfs")])


def test_an_episode_of_no_task_yet_is_drawn() -> None:
    empty: Any = replace(played("np-fcfs"), tasks=(), now_ms=0.0, preemptions=())
    figure = new("a test", figure_size(8), DPI)
    draw_gantt(empty, figure)
    assert to_image(figure).shape[2] == 3
