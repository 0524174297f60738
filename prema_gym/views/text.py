"""How does an episode look in a terminal? The table a policy sees, and a Gantt chart of text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.simulator import observation as col
from prema_gym.views.episode import EpisodeView, TaskView

CHART_COLUMNS = 72
"""Characters of time in the chart; with the labels it fits a terminal of 110."""

# Heading, format and column of what the table shows of a slot.
_SHOWN = (
    ("token", "8.1f", col.TOKEN),
    ("est. ms", "8.2f", col.ESTIMATED_MS),
    ("left ms", "8.2f", col.REMAINING_MS),
    ("waited", "8.2f", col.WAITED_MS),
    ("slack", "8.2f", col.SLACK_MS),
    ("context", "9.0f", col.CONTEXT_BYTES),
    ("preempted", "9.0f", col.PREEMPTIONS),
)
LEGEND = "█ runs  ▒ runs part of the time  s saves or restores its context  · waits  | deadline"


def text(episode: EpisodeView, table: NDArray[np.float32]) -> str:
    """Draw an episode so far as lines of text.

    Args:
        episode: The episode.
        table: The observation, float32 (slots, columns).
    """
    return "\n".join(
        [episode.headline, "", *_table(episode, table), "", *_chart(episode), "", LEGEND]
    )


def _table(episode: EpisodeView, table: NDArray[np.float32]) -> list[str]:
    names = {task.index: task.label for task in episode.tasks}
    width = max([len("task"), *map(len, names.values())])
    head = f"slot    {'task':<{width}}"
    for title, form, _ in _SHOWN:
        head += f" {title:>{int(form.split('.')[0])}}"
    lines = [head]
    for slot, index in enumerate(episode.slots):
        if index is None:
            continue
        mark = "▶" if slot == episode.running_slot else " "
        line = f"{slot:4} {mark}  {names[index]:<{width}}"
        for _, form, column in _SHOWN:
            line += f" {float(table[slot, column]):{form}}"
        lines.append(line)
    return lines if len(lines) > 1 else ["no task is in the table"]


def _chart(episode: EpisodeView) -> list[str]:
    width = max(len(task.label) for task in episode.tasks)
    # At least one cycle has passed once a task waits; before that one column is as good as any.
    cell_ms = max(episode.now_ms, 1e-9) / CHART_COLUMNS
    lines = [f"{task.label:<{width}} {_bar(task, cell_ms)}" for task in episode.tasks]
    scale = f"{episode.now_ms:.1f} ms".rjust(CHART_COLUMNS - 1)
    return [*lines, f"{'':<{width}} 0{scale}"]


def _bar(task: TaskView, cell_ms: float) -> str:
    bar = ""
    for column in range(CHART_COLUMNS):
        start, end = column * cell_ms, (column + 1) * cell_ms
        running = _inside(task.spans("run"), start, end)
        moving = _inside(task.spans("checkpoint", "restore"), start, end)
        if running > 0:
            bar += "█" if running >= cell_ms / 2 else "▒"
        elif moving > 0:
            bar += "s"
        elif start <= task.deadline_ms < end:
            bar += "|"
        else:
            bar += "·" if _inside([(task.arrival_ms, task.end_ms)], start, end) > 0 else " "
    return bar


def _inside(spans: list[tuple[float, float]], start: float, end: float) -> float:
    """Time of the spans that falls into a column."""
    return sum(max(0.0, min(e, end) - max(s, start)) for s, e in spans)
