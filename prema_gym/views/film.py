"""How does a schedule look as it comes about? A GIF: a curtain drawn from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from prema_gym.views.episode import EpisodeView
from prema_gym.views.gantt import gantt, show_title, to_image

FRAMES = 36
FRAME_MS = 140
LAST_FRAME_MS = 2_500
_COLOURS = 128


def write_film(
    episodes: Sequence[EpisodeView], path: Path, *, from_ms: float, to_ms: float | None
) -> None:
    """Write schedules above each other as a GIF in which time goes on.

    Args:
        episodes: The schedules.
        path: The file.
        from_ms: Where the time axis begins.
        to_ms: Where it ends; None: with the last schedule.

    Raises:
        MissingExtraError: Matplotlib, which brings Pillow, is not installed.
    """
    figure = gantt(episodes, from_ms=from_ms, to_ms=to_ms)
    from PIL import Image

    # One palette for all frames: only what changes is then stored.
    palette = Image.fromarray(to_image(figure)).quantize(
        _COLOURS, method=Image.Quantize.MAXCOVERAGE
    )
    figure.set_layout_engine("none")  # everything stays where it is from now on
    start, end = figure.axes[0].get_xlim()
    frames = []
    for now in np.linspace(start, end, FRAMES + 1)[1:]:
        for axes, episode in zip(figure.axes, episodes, strict=True):
            show_title(axes, episode, float(now))
        curtains = [
            axes.axvspan(now, end + 1.0, facecolor="white", edgecolor="#333333", zorder=9)
            for axes in figure.axes
        ]
        image = Image.fromarray(to_image(figure))
        frames.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
        for curtain in curtains:
            curtain.remove()
    waits = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
    frames[0].save(
        path, format="GIF", save_all=True, append_images=frames[1:], duration=waits, loop=0
    )
