"""How does an episode look as a picture? A Gantt chart: who ran, waited, was saved and restored.

Several schedules stand above each other on one time axis. Up to 20 tasks have a row
each; more share lanes, by priority. Matplotlib is imported when a picture is drawn, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.views import colours
from prema_gym.views.episode import EpisodeView
from prema_gym.views.marks import MOST_LINES, Marks, legend, marks_of, shares_rows, there_is
from prema_gym.views.plotting import new, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 10.0
ROW_INCHES = 0.38
LANE_INCHES = 0.12
MARGIN_INCHES = 1.5  # title, time axis and legend
MOST_INCHES = 14.0
DPI = 100


def figure_size(num_tasks: int) -> tuple[float, float]:
    """Width and height [inches] of a chart with one row a task."""
    return WIDTH_INCHES, min(ROW_INCHES * num_tasks + MARGIN_INCHES, MOST_INCHES)


def gantt(
    episodes: Sequence[EpisodeView], *, from_ms: float = 0.0, to_ms: float | None = None
) -> Figure:
    """Draw schedules above each other on one time axis.

    Args:
        episodes: The schedules.
        from_ms: Where the axis begins.
        to_ms: Where it ends; None: with the last schedule.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    rows = [marks_of(episode) for episode in episodes]
    heights = [_height(episode, len(own)) for episode, own in zip(episodes, rows, strict=True)]
    most = MOST_INCHES * max(1, len(episodes))
    size = (WIDTH_INCHES, min(sum(heights) + MARGIN_INCHES, most))
    figure = new("drawing a Gantt chart", size, DPI)
    panels = figure.subplots(
        len(episodes), 1, sharex=True, squeeze=False, height_ratios=heights
    ).ravel()
    end_ms = max(episode.now_ms for episode in episodes) * 1.02 if to_ms is None else to_ms
    for axes, episode, own in zip(panels, episodes, rows, strict=True):
        _draw(axes, episode, own)
        axes.set_xlim(from_ms, max(end_ms, from_ms + 1e-3))
    panels[-1].set_xlabel("time [ms]")
    shared = any(shares_rows(e, len(own)) for own, e in zip(rows, episodes, strict=True))
    _add_legend(figure, shared, [row for own in rows for row in own])
    return figure


def draw_gantt(episode: EpisodeView, figure: Figure) -> None:
    """Draw an episode so far into a figure, in place of what was there."""
    figure.clear()
    axes = figure.add_subplot()
    rows = marks_of(episode)
    _draw(axes, episode, rows)
    # Room for the tasks that are still to come; deadlines may lie far ahead of the episode's end.
    if not shares_rows(episode, len(rows)):
        axes.set_ylim(episode.num_tasks - 0.5, -0.5)
    axes.set_xlim(0.0, max(episode.now_ms, 1e-3) * 1.02)
    axes.set_xlabel("time [ms]")
    _add_legend(figure, shares_rows(episode, len(rows)), rows)


def _height(episode: EpisodeView, num_rows: int) -> float:
    each = LANE_INCHES if shares_rows(episode, num_rows) else ROW_INCHES
    return num_rows * each + 0.45


def _draw(axes: Axes, episode: EpisodeView, rows: Sequence[Marks]) -> None:
    for at, row in enumerate(rows):
        _draw_bars(axes, at, row)
        _draw_points(axes, at, row)
    named = [(at, row.label) for at, row in enumerate(rows) if row.label]
    axes.set_yticks([at for at, _ in named], [plain(label) for _, label in named])
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    show_title(axes, episode, episode.now_ms)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def show_title(axes: Axes, episode: EpisodeView, time_ms: float) -> None:
    """Write above a schedule what it is, and where it stands at a time."""
    stands = episode.headline_at(time_ms)
    title = f"{episode.title}\n{stands}" if episode.title else stands
    axes.set_title(plain(title), loc="left", fontsize=9)


def _draw_bars(axes: Axes, at: int, row: Marks) -> None:
    """What the tasks of a row did: waited, ran, were saved and restored."""
    starts, ends = [start for start, _ in row.waits], [end for _, end in row.waits]
    level = [at] * len(row.waits)
    axes.hlines(level, starts, ends, color=colours.WAIT_COLOUR, linewidth=1.5, zorder=1)
    bars = [(start, end - start) for start, end in row.runs]
    axes.broken_barh(bars, (at - 0.32, 0.64), facecolors=row.colour, zorder=2)
    for middles, shade in (
        (row.saves, colours.CHECKPOINT_COLOUR),
        (row.restores, colours.RESTORE_COLOUR),
    ):
        # Many would cover the bar they stand on: ticks below it instead.
        few = len(middles) <= MOST_LINES
        top, width = (at - 0.42, 1.2) if few else (at + 0.3, 0.6)
        axes.vlines(middles, top, at + 0.42, color=shade, linewidth=width, zorder=3)


_POINTS: dict[str, dict[str, Any]] = {
    "arrivals": {"marker": ">", "markersize": 5},
    "ends": {"marker": "o", "markersize": 4},
    "deadlines": {"marker": "d", "markersize": 8, "zorder": 4},
    "missed": {"marker": "X", "markersize": 8, "zorder": 4},
    "kills": {"marker": "|", "markersize": 12, "markeredgewidth": 2, "zorder": 4},
}
"""How Matplotlib draws the fields of :class:`Marks` that are points."""


def _draw_points(axes: Axes, at: int, row: Marks) -> None:
    colour = {name: shade for name, shade, _ in (*legend(False), *legend(True))}
    for name, how in _POINTS.items():
        where = getattr(row, name)
        rim = (
            {"markeredgecolor": "white", "markeredgewidth": 0.6}
            if name in ("deadlines", "missed")
            else {}
        )
        axes.plot(where, [at] * len(where), linestyle="none", color=colour[name], **{**how, **rim})


def _add_legend(figure: Figure, shared: bool, rows: Sequence[Marks]) -> None:
    """What the marks that are there mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def handle(name: str, colour: str, label: str) -> Any:  # noqa: ANN401 - one of Matplotlib's
        if name in _POINTS:
            return Line2D(
                [], [], marker=_POINTS[name]["marker"], color=colour, linestyle="none", label=label
            )
        return (
            Patch(color=colour, label=label)
            if name == "runs"
            else Line2D([], [], color=colour, label=label)
        )

    handles = [handle(*each) for each in legend(shared) if there_is(each[0], rows)]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, fontsize=8, frameon=False)


def to_image(figure: Figure) -> NDArray[np.uint8]:
    """Return a figure as an image, uint8 (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
