"""How does an episode become a picture within a few milliseconds? Drawn by Pillow, for videos.

It shows what the figure of :mod:`prema_gym.views.gantt` shows. The size is the same whatever an
episode holds, as videos and tiled pictures need it: rows get narrower where there are more.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import MissingExtraError
from prema_gym.views import colours
from prema_gym.views.axis import Axis
from prema_gym.views.episode import EpisodeView
from prema_gym.views.labels import shortened
from prema_gym.views.marks import MOST_LINES, Marks, legend, marks_of, shares_rows

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 800, 400
"""Pixels: even, as video formats ask; SB3 tiles four of them into a screen."""
LEFT, RIGHT, TOP, BOTTOM = 160, 786, 26, 352
"""Of the rectangle in which time goes from left to right."""
WIDEST_ROW = 30.0
FONT_PIXELS = 11
SMALLEST_LABELLED = 11.0
"""Height of a row that has room for a line of text [pixels]."""


def picture(episode: EpisodeView) -> NDArray[np.uint8]:
    """Draw an episode so far, uint8 (HEIGHT, WIDTH, 3).

    Raises:
        MissingExtraError: Matplotlib, which brings Pillow, is not installed.
    """
    try:
        from PIL import ImageDraw
    except ImportError:
        raise MissingExtraError("drawing a picture", "matplotlib", "plot") from None
    rows = marks_of(episode)
    shared = shares_rows(episode, len(rows))
    image = _background(shared).copy()
    # Tasks that are still to come have their rows already.
    count = max(len(rows) if shared else episode.num_tasks, 1)
    pen = _Pen(
        ImageDraw.Draw(image),
        # What has just begun still has a width.
        Axis("time [ms]", 0.0, max(episode.now_ms, 1e-3) * 1.02),
        min(WIDEST_ROW, (BOTTOM - TOP) / count),
    )
    pen.text(6, 6, episode.headline)
    pen.time_axis()
    for at, row in enumerate(rows):
        pen.row(at, row)
    return np.array(image)


class _Pen:
    """Draws rows where they belong."""

    def __init__(self, draw: ImageDraw.ImageDraw, axis: Axis, pitch: float) -> None:
        self._draw, self._axis, self._pitch = draw, axis, pitch

    def text(self, left: float, top: float, text: str, fill: str = "#000000") -> None:
        self._draw.text((left, top), text, fill=fill, font=_font())

    def time_axis(self) -> None:
        for tick in self._axis.ticks():
            x = self._x(tick)
            self._draw.line((x, TOP, x, BOTTOM), fill="#E4E4E4")
            self._draw.text((x, BOTTOM + 3), f"{tick:g}", "#000000", _font(), anchor="ma")
        self._draw.rectangle((LEFT, TOP, RIGHT, BOTTOM), outline="#888888")
        self._draw.text((LEFT - 14, BOTTOM + 3), "ms", "#000000", _font(), anchor="ra")

    def row(self, at: int, row: Marks) -> None:
        draw, pitch = self._draw, self._pitch
        middle = TOP + (at + 0.5) * pitch
        if row.label and pitch >= SMALLEST_LABELLED:
            draw.text((6, middle), _short(row.label), "#000000", _font(), anchor="lm")
        for start, end in row.waits:
            draw.line((self._x(start), middle, self._x(end), middle), colours.WAIT_COLOUR)
        for start, end in row.runs:
            top, bottom = middle - 0.32 * pitch, middle + 0.32 * pitch
            draw.rectangle((self._x(start), top, self._x(end), bottom), row.colour)
        for middles, shade in (
            (row.saves, colours.CHECKPOINT_COLOUR),
            (row.restores, colours.RESTORE_COLOUR),
        ):
            # Many would cover the bar they stand on: ticks below it instead.
            top = middle + (-0.42 if len(middles) <= MOST_LINES else 0.3) * pitch
            for time in middles:
                x = self._x(time)
                draw.line((x, top, x, middle + 0.42 * pitch), shade)
        for name in ("arrivals", "ends", "deadlines", "missed", "kills"):
            for time in getattr(row, name):
                if time <= self._axis.high:  # a deadline may lie far ahead
                    _point(draw, name, self._x(time), middle, min(pitch / 6, 4.0))

    def _x(self, time_ms: float) -> float:
        return LEFT + self._axis.share(time_ms) * (RIGHT - LEFT)


def _point(draw: ImageDraw.ImageDraw, name: str, x: float, y: float, r: float) -> None:
    """One of the marks that are points, ``r`` pixels from its middle to its rim."""
    pink = colours.DEADLINE_COLOUR
    if name == "arrivals":
        draw.polygon(((x, y - r), (x, y + r), (x + 1.5 * r, y)), "#000000")
    elif name == "ends":
        draw.ellipse((x - r, y - r, x + r, y + r), "#000000")
    elif name == "deadlines":
        draw.polygon(((x, y - 1.5 * r), (x + r, y), (x, y + 1.5 * r), (x - r, y)), pink)
    elif name == "missed":
        draw.line((x - r, y - r, x + r, y + r), pink, width=3)
        draw.line((x - r, y + r, x + r, y - r), pink, width=3)
    else:
        draw.line((x, y - 2 * r, x, y + 2 * r), colours.KILL_COLOUR, width=2)


@lru_cache(maxsize=2)
def _background(shared: bool) -> Image.Image:
    """What is the same in every picture: white, and the legend."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, HEIGHT), "#FFFFFF")
    draw = ImageDraw.Draw(image)
    x, y = 10.0, HEIGHT - 16.0
    for name, colour, label in legend(shared):
        if name in ("runs", "waits", "saves", "restores"):
            high = {"runs": 4, "waits": 0}.get(name, 5)
            wide = 0 if high == 5 else 9
            draw.rectangle((x, y - high, x + wide, y + high), colour)
            x += wide + 5
        else:
            _point(draw, name, x + 4, y, 4.0)
            x += 13
        draw.text((x, y), label, "#000000", _font(), anchor="lm")
        x += draw.textlength(label, _font()) + 12
    return image


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont:
    """The font that Matplotlib brings, which knows π and ×; Pillow's own does not.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    from PIL import ImageFont

    found = find_spec("matplotlib")  # not imported: that takes half a second
    if found is None or found.origin is None:
        raise MissingExtraError("drawing a picture", "matplotlib", "plot")
    font = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    return ImageFont.truetype(font, FONT_PIXELS)


@lru_cache(maxsize=1024)
def _short(label: str) -> str:
    """A label that fits beside the rows."""
    return shortened(label, lambda text: _font().getlength(text) <= LEFT - 12)
