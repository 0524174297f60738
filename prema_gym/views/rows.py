"""Which task stands in which row of a chart? Few have one each; many share lanes, by priority."""

from __future__ import annotations

from typing import NamedTuple

from prema_gym.views.episode import EpisodeView, TaskView
from prema_gym.views.lanes import lanes

MOST_ROWS = 20
"""Tasks that have a row of their own."""


class Row(NamedTuple):
    """Tasks that share a row, and what the row is called; empty: nothing."""

    label: str
    tasks: tuple[TaskView, ...]


def rows_of(episode: EpisodeView) -> list[Row]:
    """One row a task, or lanes from the highest priority down."""
    if len(episode.tasks) <= MOST_ROWS:
        return [Row(task.label, (task,)) for task in episode.tasks]
    rows: list[Row] = []
    for level in sorted({task.priority for task in episode.tasks}, reverse=True):
        own = [task for task in episode.tasks if task.priority == level]
        lane_of = lanes([(task.arrival_ms, task.end_ms) for task in own])
        for lane in range(max(lane_of) + 1):
            held = tuple(t for t, at in zip(own, lane_of, strict=True) if at == lane)
            rows.append(Row(f"π={level}" if lane == 0 else "", held))
    return rows
