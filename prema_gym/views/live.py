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
from prema_gym.views.numbers import number

BAR = 24
"""Characters of a task's bar of progress."""


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


def shown(recording: Recording, episode: EpisodeView, moment: Moment) -> Group:
    """One moment: what the policy saw, what it named, and how tasks have fared so far.

    Args:
        recording: Made with ``tables=True``.
        episode: The same as a view, with its title.
        moment: Which decision.
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
        _queue(recording, moment, labels),
        Text(_metrics(episode.tasks, moment.now_ms)),
    )


def _queue(recording: Recording, moment: Moment, labels: dict[int, str]) -> Table:
    assert recording.tables is not None
    assert recording.occupants is not None
    table, occupants = recording.tables[moment.number], recording.occupants[moment.number]
    rows = Table(box=None, pad_edge=False)
    for heading in ("", "task", "done", "left ms", "waited ms", "tokens", "slack ms"):
        left = heading in ("", "task", "done")
        rows.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for slot, task in enumerate(occupants.tolist()):
        if task == NONE:
            continue
        row = table[slot]
        mark = "▶" if task == moment.decision.chosen else "·" if row[col.RUNNING] else " "
        share = float(row[col.EXECUTED_MS] / max(row[col.ESTIMATED_MS], 1e-9))
        values = (row[c] for c in (col.REMAINING_MS, col.WAITED_MS, col.TOKEN, col.SLACK_MS))
        rows.add_row(mark, escape(labels[task]), _bar(share), *(number(float(v)) for v in values))
    return rows


def _bar(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * BAR)
    return "█" * full + "░" * (BAR - full)


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
