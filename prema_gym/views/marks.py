"""What stands in the rows of a Gantt chart? Spans and points, whoever draws them.

Times are milliseconds. Both drawings of an episode are made of these, the figure
(:mod:`prema_gym.views.gantt`) and the quick picture (:mod:`prema_gym.views.raster`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prema_gym.simulator import Mechanism
from prema_gym.views import colours
from prema_gym.views.episode import EpisodeView
from prema_gym.views.rows import Row, rows_of

Span = tuple[float, float]

KEY: tuple[tuple[str, str, str], ...] = (
    ("runs", colours.PRIORITY_COLOURS[-1], "runs (darker: higher π)"),
    ("waits", colours.WAIT_COLOUR, "waits"),
    ("saves", colours.CHECKPOINT_COLOUR, "checkpoint"),
    ("restores", colours.RESTORE_COLOUR, "restore"),
    ("kills", colours.KILL_COLOUR, "killed"),
    ("arrivals", "#000000", "arrives"),
    ("ends", "#000000", "ends"),
    ("deadlines", colours.DEADLINE_COLOUR, "deadline (X: missed)"),
)
"""Field of :class:`Marks`, its colour, and what a legend says of it."""
MOST_LINES = 6
"""Switches of one kind that a bar shows at full height and can still be seen."""


class Marks(NamedTuple):
    """What one row shows.

    Attributes:
        label: What the row is called; empty: nothing.
        colour: Of its bars.
        waits: From arrival to end of each task.
        runs: When they ran.
        saves: Middles of the checkpoints: a switch takes some 20 µs of an episode of 200 ms, so
            that it is drawn as a line of a visible width.
        restores: Middles of the restores.
        kills: When a task was killed.
        arrivals: When it arrived, in a row of its own.
        ends: When it completed, in a row of its own.
        deadlines: Deadlines that were met or may be, in a row of its own.
        missed: Deadlines that were missed.
    """

    label: str
    colour: str
    waits: list[Span]
    runs: list[Span]
    saves: list[float]
    restores: list[float]
    kills: list[float]
    arrivals: list[float]
    ends: list[float]
    deadlines: list[float]
    missed: list[float]


def shares_rows(episode: EpisodeView, num_rows: int) -> bool:
    """Whether tasks share rows, since they are many."""
    return num_rows < len(episode.tasks)


def legend(shared: bool) -> list[tuple[str, str, str]]:
    """The lines of :data:`KEY` that apply, where tasks share rows or not."""
    if not shared:
        return list(KEY)
    kept = [line for line in KEY if line[0] not in ("arrivals", "ends", "deadlines")]
    return [*kept, ("missed", colours.DEADLINE_COLOUR, "deadline missed")]


def there_is(name: str, rows: Sequence[Marks]) -> bool:
    """Whether any row shows what a line of a legend explains; one may explain two marks."""
    fields = ("deadlines", "missed") if name == "deadlines" else (name,)
    return any(getattr(row, field) for row in rows for field in fields)


def marks_of(episode: EpisodeView) -> list[Marks]:
    """The rows of an episode from top to bottom."""
    rows = rows_of(episode)
    colour = colours.priority_colours(task.priority for task in episode.tasks)
    kills = kills_ms(episode)
    own_rows = not shares_rows(episode, len(rows))
    return [_marks(row, colour[row.tasks[0].priority], kills, own_rows) for row in rows]


def kills_ms(episode: EpisodeView) -> dict[int, list[float]]:
    """When each task was killed [ms], by its number."""
    kills: dict[int, list[float]] = {}
    for one in episode.preemptions:
        if one.mechanism is Mechanism.KILL:
            kills.setdefault(one.victim, []).append(one.cycles * 1e3 / episode.clock_hz)
    return kills


def _marks(row: Row, colour: str, kills: dict[int, list[float]], own_row: bool) -> Marks:
    tasks = row.tasks
    shown = tasks if own_row else ()

    def middles(kind: str) -> list[float]:
        return [(start + end) / 2 for task in tasks for start, end in task.spans(kind)]

    return Marks(
        label=row.label,
        colour=colour,
        waits=[(task.arrival_ms, task.end_ms) for task in tasks],
        runs=[span for task in tasks for span in task.spans("run")],
        saves=middles("checkpoint"),
        restores=middles("restore"),
        kills=[at for task in tasks for at in kills.get(task.index, ())],
        arrivals=[task.arrival_ms for task in shown],
        ends=[task.end_ms for task in shown if task.finished],
        deadlines=[task.deadline_ms for task in shown if not task.late],
        missed=[task.deadline_ms for task in tasks if task.late],
    )
