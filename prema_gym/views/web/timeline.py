"""How does a schedule look in a browser? A Gantt chart to zoom into, move along, and point at."""

from __future__ import annotations

from collections.abc import Sequence

from prema_gym.views.episode import EpisodeView, TaskView
from prema_gym.views.marks import kills_ms
from prema_gym.views.rows import rows_of
from prema_gym.views.web.page import page

SCRIPT = "timeline.js"
DATA = "timeline-data"
_SHADES = ("low", "middle", "high")
_DIGITS = 6
"""Decimals of a millisecond: nanoseconds."""


def timeline_page(
    episodes: Sequence[EpisodeView], *, from_ms: float | None = None, to_ms: float | None = None
) -> str:
    """Schedules of one workload as a page of its own.

    Args:
        episodes: The schedules.
        from_ms: Where the axis begins; None: at 0.
        to_ms: Where it ends; None: with the last schedule.
    """
    body = ["<h1>Who ran when</h1>", *timeline_section(episodes)]
    data = {DATA: timeline_data(episodes, from_ms=from_ms, to_ms=to_ms)}
    return page("prema-gym timeline", body, scripts=[SCRIPT], data=data)


def timeline_section(episodes: Sequence[EpisodeView]) -> list[str]:
    """The place where the script draws, with its buttons and its legend."""
    buttons = " ".join(
        f'<button class="tool" type="button" data-zoom="{key}">{name}</button>'
        for key, name in (
            ("+", "zoom in"),
            ("-", "zoom out"),
            ("ArrowLeft", "earlier"),
            ("ArrowRight", "later"),
            ("0", "all"),
        )
    )
    marks = (
        ("middle", "runs (the stronger, the higher π)"),
        ("checkpoint", "checkpoint"),
        ("restore", "restore"),
        *([("kill", "killed")] if any(map(kills_ms, episodes)) else []),
        ("deadline", "deadline (× missed)"),
        ("wait", "waits"),
    )
    legend = " ".join(
        f'<span><span class="key" style="background:var(--{colour})"></span> {text}</span>'
        for colour, text in marks
    )
    return [
        f"<p>{buttons}</p>",
        '<p class="note">Time in milliseconds. Ctrl or Shift and the wheel zoom; dragging moves; '
        f"<span>with the keyboard: + − 0 ← →.</span><br>{legend}</p>",
        '<div class="timeline" id="timeline"></div>',
    ]


def timeline_data(
    episodes: Sequence[EpisodeView], *, from_ms: float | None = None, to_ms: float | None = None
) -> dict[str, object]:
    """What the script draws."""
    end_ms = max(episode.now_ms for episode in episodes) * 1.01 if to_ms is None else to_ms
    return {
        "from_ms": from_ms or 0.0,
        "to_ms": max(end_ms, (from_ms or 0.0) + 1e-3),
        "schedules": [_schedule(episode) for episode in episodes],
    }


def _schedule(episode: EpisodeView) -> dict[str, object]:
    rows = rows_of(episode)
    levels = sorted({task.priority for task in episode.tasks})
    first = len(_SHADES) - len(levels)
    shade = {level: _SHADES[max(first + i, 0)] for i, level in enumerate(levels)}
    kills = kills_ms(episode)
    return {
        "title": episode.title,
        "headline": episode.headline,
        "shared": len(rows) < len(episode.tasks),
        "rows": [
            {
                "label": row.label,
                "tasks": [_task(t, shade[t.priority], kills.get(t.index, [])) for t in row.tasks],
            }
            for row in rows
        ],
    }


def _task(task: TaskView, shade: str, kills: Sequence[float]) -> dict[str, object]:
    return {
        "index": task.index,
        "label": task.label,
        "shade": shade,
        "arrival": round(task.arrival_ms, _DIGITS),
        "end": round(task.end_ms, _DIGITS),
        "deadline": round(task.deadline_ms, _DIGITS),
        "late": task.late,
        "finished": task.finished,
        "kills": [round(at, _DIGITS) for at in kills],
        "slices": [(k, round(a, _DIGITS), round(b, _DIGITS)) for k, a, b in task.slices],
    }
