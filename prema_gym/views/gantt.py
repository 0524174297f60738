"""How does an episode look as a picture? A Gantt chart: who ran, waited, was saved and restored.

Matplotlib is imported when a picture is drawn, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import MissingExtraError
from prema_gym.views.episode import EpisodeView, TaskView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 10.0
ROW_INCHES = 0.38
MARGIN_INCHES = 1.5  # title, time axis and legend
DPI = 100
MOST_LINES = 6  # switches of one kind that a bar shows at full height and can still be seen

# Okabe and Ito's palette, told apart by colour-blind readers too. Bars darken with priority.
_PRIORITY_COLOURS = ("#56B4E9", "#0072B2", "#003A5C")
_CHECKPOINT_COLOUR = "#D55E00"
_RESTORE_COLOUR = "#E69F00"
_DEADLINE_COLOUR = "#CC79A7"
_WAIT_COLOUR = "#BBBBBB"


def new_figure(num_tasks: int) -> Figure:
    """Return an empty figure of the size that a workload of ``num_tasks`` needs.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing a Gantt chart", "matplotlib", "plot") from None
    return Figure(figsize=figure_size(num_tasks), dpi=DPI, layout="constrained")


def figure_size(num_tasks: int) -> tuple[float, float]:
    """Width and height [inches] of a chart with one row a task."""
    return WIDTH_INCHES, ROW_INCHES * num_tasks + MARGIN_INCHES


def draw_gantt(episode: EpisodeView, figure: Figure) -> None:
    """Draw an episode so far into a figure, in place of what was there."""
    figure.clear()
    axes = figure.add_subplot()
    levels = sorted({task.priority for task in episode.tasks})
    for row, task in enumerate(episode.tasks):
        shade = len(_PRIORITY_COLOURS) - len(levels) + levels.index(task.priority)
        _draw_task(axes, row, task, _PRIORITY_COLOURS[max(shade, 0)])
    axes.set_yticks(range(len(episode.tasks)), [task.label for task in episode.tasks])
    axes.set_ylim(episode.num_tasks - 0.5, -0.5)
    # Deadlines may lie far ahead: the picture ends where the episode does.
    axes.set_xlim(0.0, max(episode.now_ms, 1e-3) * 1.02)
    axes.set_xlabel("time [ms]")
    axes.set_title(episode.headline, loc="left", fontsize=10)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=7, fontsize=8, frameon=False)


def _draw_task(axes: Axes, row: int, task: TaskView, colour: str) -> None:
    axes.hlines(row, task.arrival_ms, task.end_ms, color=_WAIT_COLOUR, linewidth=1.5, zorder=1)
    bars = [(start, end - start) for start, end in task.spans("run")]
    axes.broken_barh(bars, (row - 0.32, 0.64), facecolors=colour, zorder=2)
    # A switch takes some 20 µs of an episode of 200 ms: drawn as lines of a visible width.
    for slices, shade in (
        (task.spans("checkpoint"), _CHECKPOINT_COLOUR),
        (task.spans("restore"), _RESTORE_COLOUR),
    ):
        middles = [(start + end) / 2 for start, end in slices]
        # Many would cover the bar they stand on: ticks below it instead.
        top, width = (row - 0.42, 1.2) if len(middles) <= MOST_LINES else (row + 0.3, 0.6)
        axes.vlines(middles, top, row + 0.42, color=shade, linewidth=width, zorder=3)
    axes.plot(task.arrival_ms, row, ">", color="black", markersize=5)
    if task.finished:
        axes.plot(task.end_ms, row, "o", color="black", markersize=4)
    axes.plot(
        task.deadline_ms,
        row,
        marker="X" if task.late else "d",
        color=_DEADLINE_COLOUR,
        markeredgecolor="white",
        markeredgewidth=0.6,
        markersize=8,
        linestyle="none",
        zorder=4,
    )


def _legend() -> list[object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def point(marker: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, color=colour, linestyle="none", label=label)

    return [
        Patch(color=_PRIORITY_COLOURS[-1], label="runs (darker: higher π)"),
        Line2D([], [], color=_WAIT_COLOUR, label="waits"),
        Line2D([], [], color=_CHECKPOINT_COLOUR, label="checkpoint"),
        Line2D([], [], color=_RESTORE_COLOUR, label="restore"),
        point(">", "black", "arrives"),
        point("o", "black", "ends"),
        point("d", _DEADLINE_COLOUR, "deadline (X: missed)"),
    ]


def to_image(figure: Figure) -> NDArray[np.uint8]:
    """Return a figure as an image, uint8 (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
