from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.errors import MissingExtraError
from prema_gym.views.colours import WAIT_COLOUR, priority_colours
from prema_gym.views.episode import EpisodeView
from prema_gym.views.raster import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, picture
from tests.views.episodes import WILD, made_up, played, with_name

pytest.importorskip("matplotlib")


def pixel(image: NDArray[np.uint8], x: float, y: float) -> str:
    return "#" + bytes(image[round(y), round(x)]).hex().upper()


def test_bars_are_where_and_in_the_colour_of_what_ran() -> None:
    episode = played("dynamic-prema")
    image, end_ms = picture(episode), episode.now_ms * 1.02
    colour = priority_colours(task.priority for task in episode.tasks)
    pitch = min(30.0, (BOTTOM - TOP) / 8)
    seen = 0
    for at, task in enumerate(episode.tasks):
        y = TOP + (at + 0.5) * pitch + pitch / 4  # below the marks, which stand in the middle
        for start, end in task.spans("run"):
            x = LEFT + (start + end) / 2 / end_ms * (RIGHT - LEFT)
            if (end - start) / end_ms * (RIGHT - LEFT) < 5:
                continue  # a mark or a tick may cover it
            assert pixel(image, x, y) == colour[task.priority]
            seen += 1
    assert seen > 8


def test_a_task_that_never_ran_waits() -> None:
    episode = played("np-fcfs")
    only = replace(episode.tasks[0], slices=(), finished=False, end_ms=episode.now_ms)
    image = picture(replace(episode, tasks=(only,)))
    assert pixel(image, (LEFT + RIGHT) / 2, TOP + 15) == WAIT_COLOUR


@pytest.mark.parametrize(
    "episode",
    [
        replace(played("np-fcfs"), tasks=(), now_ms=0.0, preemptions=()),
        played("kill-prema"),
        with_name(played("np-fcfs"), 20 * WILD),
        made_up(1000),
        made_up(4, num_tasks=2),
    ],
    ids=["nothing yet", "kills", "a long name", "50 tasks", "2 tasks"],
)
def test_the_size_is_one(episode: EpisodeView) -> None:
    image = picture(episode)
    assert image.shape == (HEIGHT, WIDTH, 3)
    assert image.dtype == np.uint8
    assert 0.5 < (image == 255).mean() < 0.99, "ink on white"
    np.testing.assert_array_equal(picture(episode), image)


def test_kills_are_marked() -> None:
    episode: Any = played("kill-prema")
    with_kills, without = picture(episode), picture(replace(episode, preemptions=()))
    changed = (with_kills != without).any(axis=2)
    assert changed.any()
    rows = np.flatnonzero(changed.any(axis=1))
    assert rows.min() > TOP
    assert rows.max() < BOTTOM


def test_without_pillow_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'prema-gym\[plot\]'"):
        picture(played("np-fcfs"))
