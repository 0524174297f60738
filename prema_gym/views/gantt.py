"""How does an episode look as a picture? A Gantt chart: who ran, waited, was saved and restored.

Several schedules stand above each other on one time axis. Up to 20 tasks have a row
each; more share lanes, by priority. Matplotlib is imported when a picture is drawn, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prema_gym.simulator import Mechanism
from prema_gym.views import colours
from prema_gym.views.episode import EpisodeView, TaskView
from prema_gym.views.plotting import new, plain
from prema_gym.views.rows import Row, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 10.0
ROW_INCHES = 0.38
LANE_INCHES = 0.12
MARGIN_INCHES = 1.5  # title, time axis and legend
MOST_INCHES = 14.0
DPI = 100
MOST_LINES = 6  # switches of one kind that a bar shows at full height and can still be seen


def new_figure(num_tasks: int) -> Figure:
    """Return an empty figure of the size that a workload of ``num_tasks`` needs.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    return new("drawing a Gantt chart", figure_size(num_tasks), DPI)


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
    rows = [rows_of(episode) for episode in episodes]
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
    _add_legend(figure, any(len(own) < len(e.tasks) for own, e in zip(rows, episodes, strict=True)))
    return figure


def draw_gantt(episode: EpisodeView, figure: Figure) -> None:
    """Draw an episode so far into a figure, in place of what was there."""
    figure.clear()
    axes = figure.add_subplot()
    rows = rows_of(episode)
    _draw(axes, episode, rows)
    # Room for the tasks that are still to come; deadlines may lie far ahead of the episode's end.
    if len(rows) == len(episode.tasks):
        axes.set_ylim(episode.num_tasks - 0.5, -0.5)
    axes.set_xlim(0.0, max(episode.now_ms, 1e-3) * 1.02)
    axes.set_xlabel("time [ms]")
    _add_legend(figure, len(rows) < len(episode.tasks))


def _height(episode: EpisodeView, num_rows: int) -> float:
    own_rows = num_rows == len(episode.tasks)
    return num_rows * (ROW_INCHES if own_rows else LANE_INCHES) + 0.45


def _draw(axes: Axes, episode: EpisodeView, rows: Sequence[Row]) -> None:
    colour = colours.priority_colours(task.priority for task in episode.tasks)
    shared = len(rows) < len(episode.tasks)
    for at, row in enumerate(rows):
        _draw_row(axes, at, row.tasks, colour)
        for task in row.tasks:
            if not shared:
                _draw_ends(axes, at, task)
            if task.late or not shared:
                _draw_deadline(axes, at, task)
    _draw_kills(axes, episode, rows)
    named = [(at, row.label) for at, row in enumerate(rows) if row.label]
    axes.set_yticks([at for at, _ in named], [plain(label) for _, label in named])
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    title = f"{episode.title}\n{episode.headline}" if episode.title else episode.headline
    axes.set_title(plain(title), loc="left", fontsize=9)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def _draw_row(axes: Axes, at: int, tasks: Sequence[TaskView], colour: dict[int, str]) -> None:
    """What the tasks of a row did: waited, ran, were saved and restored."""
    spans = [(task.arrival_ms, task.end_ms) for task in tasks]
    axes.hlines(
        [at] * len(spans),
        [start for start, _ in spans],
        [end for _, end in spans],
        color=colours.WAIT_COLOUR,
        linewidth=1.5,
        zorder=1,
    )
    bars = [(start, end - start) for task in tasks for start, end in task.spans("run")]
    axes.broken_barh(bars, (at - 0.32, 0.64), facecolors=colour[tasks[0].priority], zorder=2)
    # A switch takes some 20 µs of an episode of 200 ms: drawn as lines of a visible width.
    for kind, shade in (
        ("checkpoint", colours.CHECKPOINT_COLOUR),
        ("restore", colours.RESTORE_COLOUR),
    ):
        middles = [(start + end) / 2 for task in tasks for start, end in task.spans(kind)]
        # Many would cover the bar they stand on: ticks below it instead.
        few = len(middles) <= MOST_LINES
        top, width = (at - 0.42, 1.2) if few else (at + 0.3, 0.6)
        axes.vlines(middles, top, at + 0.42, color=shade, linewidth=width, zorder=3)


def _draw_ends(axes: Axes, at: int, task: TaskView) -> None:
    axes.plot(task.arrival_ms, at, ">", color="black", markersize=5)
    if task.finished:
        axes.plot(task.end_ms, at, "o", color="black", markersize=4)


def _draw_deadline(axes: Axes, at: int, task: TaskView) -> None:
    axes.plot(
        task.deadline_ms,
        at,
        marker="X" if task.late else "d",
        color=colours.DEADLINE_COLOUR,
        markeredgecolor="white",
        markeredgewidth=0.6,
        markersize=8,
        linestyle="none",
        zorder=4,
    )


def _draw_kills(axes: Axes, episode: EpisodeView, rows: Sequence[Row]) -> None:
    row_of = {task.index: at for at, row in enumerate(rows) for task in row.tasks}
    killed = [one for one in episode.preemptions if one.mechanism is Mechanism.KILL]
    axes.plot(
        [one.cycles * 1e3 / episode.clock_hz for one in killed],
        [row_of[one.victim] for one in killed],
        marker="|",
        markersize=12,
        markeredgewidth=2,
        color=colours.KILL_COLOUR,
        linestyle="none",
        zorder=4,
    )


def _add_legend(figure: Figure, shared: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def point(marker: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, color=colour, linestyle="none", label=label)

    ends = [point(">", "black", "arrives"), point("o", "black", "ends")]
    late = "deadline missed" if shared else "deadline (X: missed)"
    handles = [
        Patch(color=colours.PRIORITY_COLOURS[-1], label="runs (darker: higher π)"),
        Line2D([], [], color=colours.WAIT_COLOUR, label="waits"),
        Line2D([], [], color=colours.CHECKPOINT_COLOUR, label="checkpoint"),
        Line2D([], [], color=colours.RESTORE_COLOUR, label="restore"),
        point("|", colours.KILL_COLOUR, "killed"),
        *([] if shared else ends),
        point("X" if shared else "d", colours.DEADLINE_COLOUR, late),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, fontsize=8, frameon=False)


def to_image(figure: Figure) -> NDArray[np.uint8]:
    """Return a figure as an image, uint8 (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
