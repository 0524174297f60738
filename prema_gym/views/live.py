"""What is there to watch while a schedule comes about? One moment of an episode, for a terminal.

Made of a recorded episode, so that it can be stepped, sped up, and stopped without end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from prema_gym.evaluation.recording import Decision, Recording
from prema_gym.simulator import NONE
from prema_gym.simulator import observation as col
from prema_gym.views.episode import EpisodeView, TaskView
from prema_gym.views.labels import shortened
from prema_gym.views.numbers import number

BAR, SHORTEST_BAR = 24, 4
"""Characters of a task's bar of progress, and where a terminal is narrow."""
MOST_LABEL, SHORTEST_LABEL = 26, 12
"""Characters that a task's name has room for before its bar grows, and at least."""


class Moment(NamedTuple):
    """One decision, as it is shown."""

    number: int
    now_ms: float
    decision: Decision


def moments(recording: Recording) -> list[Moment]:
    """Every decision of a recording."""
    ms = 1e3 / recording.simulator.catalog.hardware.clock_hz
    return [Moment(i, d.cycles * ms, d) for i, d in enumerate(recording.decisions)]


def switches(recording: Recording) -> list[int]:
    """Numbers of the decisions at which another task than the running one was named."""
    return [i for i, one in enumerate(recording.decisions) if one.chosen != one.runner]


def shown(recording: Recording, episode: EpisodeView, moment: Moment, width: int = 100) -> Group:
    """One moment: what the policy saw, what it named, and how tasks have fared so far.

    Args:
        recording: Made with ``tables=True``.
        episode: The same as a view, with its title.
        moment: Which decision.
        width: Characters of a line.
    """
    labels = {task.index: task.label for task in episode.tasks}
    one = moment.decision
    named = labels.get(one.chosen, "nothing that is legal")
    if one.chosen == one.runner:
        does = f"goes on with {named}"
    elif one.runner == NONE:
        does = f"runs {named}"
    else:
        does = f"lets {named} take over from {labels[one.runner]}"
    head = f"{episode.title}\n{moment.now_ms:10.3f} ms, decision {moment.number + 1} of "
    head += f"{len(recording.decisions)}: {does}"
    return Group(
        Text(head, style="bold"),
        _queue(recording, moment, labels, width),
        Text(_metrics(episode.tasks, moment.now_ms)),
    )


def shown_end(episode: EpisodeView) -> Group:
    """The end, which comes after the last decision: what became of every task."""
    head = f"{episode.title}\n{episode.now_ms:10.3f} ms, the end, after {episode.decisions} "
    head += f"decision{'' if episode.decisions == 1 else 's'}"
    return Group(Text(head, style="bold"), Text(_metrics(episode.tasks, episode.now_ms)))


def _queue(recording: Recording, moment: Moment, labels: dict[int, str], width: int) -> Table:
    assert recording.tables is not None
    assert recording.occupants is not None
    table, occupants = recording.tables[moment.number], recording.occupants[moment.number]
    rows = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("", "task", "done", "left\nms", "waited\nms", "tokens", "slack\nms"):
        left = heading in ("", "task", "done")
        rows.add_column(heading, justify="left" if left else "right", no_wrap=True)
    room, bar = _rooms(width)
    for slot, task in enumerate(occupants.tolist()):
        if task == NONE:
            continue
        row = table[slot]
        mark = "▶" if task == moment.decision.chosen else "·" if row[col.RUNNING] else " "
        share = float(row[col.EXECUTED_MS] / max(row[col.ESTIMATED_MS], 1e-9))
        values = (row[c] for c in (col.REMAINING_MS, col.WAITED_MS, col.TOKEN, col.SLACK_MS))
        label = shortened(labels[task], lambda text: len(text) <= room)
        rows.add_row(mark, escape(label), _bar(share, bar), *(number(float(v)) for v in values))
    return rows


def _rooms(width: int) -> tuple[int, int]:
    """Characters of a task's name and of its bar, in lines of so many."""
    # The mark, four numbers of up to 6 characters, and a space between seven columns.
    left = width - 1 - 4 * 6 - 6
    bar = min(BAR, max(left - MOST_LABEL, SHORTEST_BAR))
    return max(left - bar, SHORTEST_LABEL), bar


def _bar(share: float, length: int) -> str:
    full = round(min(max(share, 0.0), 1.0) * length)
    return "█" * full + "░" * (length - full)


def _metrics(tasks: Sequence[TaskView], now_ms: float) -> str:
    """What is known by now: of the tasks that are done, mean NTT and deadlines missed."""
    arrived = [task for task in tasks if task.arrival_ms <= now_ms]
    done = [task for task in arrived if task.finished and task.end_ms <= now_ms]
    late = sum(task.late for task in done)
    waits = sum(not (task.finished and task.end_ms <= now_ms) for task in arrived)
    mean = sum(task.end_ms - task.arrival_ms for task in done) / len(done) if done else 0.0
    return (
        f"{len(arrived)} of {len(tasks)} tasks have arrived, {waits} are in the system, "
        f"{len(done)} done"
        + (f": latency {number(mean)} ms on average, {late} late" if done else "")
    )
