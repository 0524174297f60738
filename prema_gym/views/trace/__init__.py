"""What goes into a trace? Tracks of slices, marks and counters, made of episodes; in nanoseconds.

Every policy is a process of its own, on one common axis of time. Its tracks: the NPU (run,
checkpoint, restore and idle slices, one after the other, and marks where work was killed or a
deadline missed), lanes (a task from arrival to end; a lane holds one task at a time), and counters
(tasks in the system, most tokens, saved contexts). An arrow leads from a task's arrival to its
first run and to its last. ``json_events.py`` and ``perfetto.py`` write what is described here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prema_gym.metrics import IntArray
from prema_gym.simulator import SLICE_KINDS, Mechanism
from prema_gym.simulator.state import RUN, SLICE_END, SLICE_KIND, SLICE_START, SLICE_TASK
from prema_gym.views.episode import EpisodeView
from prema_gym.views.lanes import lanes

NS_PER_S = 10**9


class Mark(NamedTuple):
    """Something that happened on a track at one instant."""

    at_ns: int
    name: str


class Arrow(NamedTuple):
    """From a task's arrival in its lane to its first run, and to its last."""

    task: int
    lane: int
    arrival_ns: int
    first_run_ns: int
    last_run_ns: int


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceTrack:
    """Slices that follow one another without overlap.

    Attributes:
        name: What the track is called.
        names: int64 (slices,), each slice's name as an index into ``Process.names``.
        tasks: int64 (slices,), whose it is; ``NONE``: nobody's.
        start_ns: int64 (slices,).
        end_ns: int64 (slices,).
        marks: What happened on it, in order of time.
    """

    name: str
    names: IntArray
    tasks: IntArray
    start_ns: IntArray
    end_ns: IntArray
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class CounterTrack:
    """A quantity over time: it holds ``values[i]`` from ``at_ns[i]`` on."""

    name: str
    unit: str
    at_ns: IntArray
    values: IntArray


@dataclass(frozen=True, kw_only=True)
class Process:
    """One policy on one workload.

    Attributes:
        name: Whose schedule of what.
        names: What slices are called.
        details: Of each task, by its number: what to show beside it.
        slices: The NPU first, then the lanes.
        counters: Quantities over time.
        arrows: One a task that has run.
    """

    name: str
    names: tuple[str, ...]
    details: tuple[dict[str, int | float | str], ...]
    slices: tuple[SliceTrack, ...]
    counters: tuple[CounterTrack, ...]
    arrows: tuple[Arrow, ...]


def nanoseconds(cycles: IntArray, clock_hz: int) -> IntArray:
    """Cycles as whole nanoseconds, rounded to the nearest; instants keep their order."""
    seconds, rest = np.divmod(np.asarray(cycles, np.int64), clock_hz)
    return np.asarray(seconds * NS_PER_S + np.rint(rest * (NS_PER_S / clock_hz)), np.int64)


def processes(episodes: Sequence[EpisodeView]) -> list[Process]:
    """What a trace of some episodes holds, one process each."""
    return [_process(episode) for episode in episodes]


def _process(episode: EpisodeView) -> Process:
    labels = [task.label for task in episode.tasks]
    names = (*SLICE_KINDS[1:], *labels)
    timeline, clock_hz = episode.timeline, episode.clock_hz
    tasks, kinds = timeline[:, SLICE_TASK], timeline[:, SLICE_KIND]
    npu = SliceTrack(
        name="NPU",
        # A run is called after its task, everything else after what it is.
        names=np.where(kinds == RUN, tasks + len(SLICE_KINDS) - 1, kinds - 1),
        tasks=tasks,
        start_ns=nanoseconds(timeline[:, SLICE_START], clock_hz),
        end_ns=nanoseconds(timeline[:, SLICE_END], clock_hz),
        marks=tuple(sorted(_marks(episode))),
    )
    lanes, lane_of = _lanes(episode)
    return Process(
        name=episode.title or "episode",
        names=names,
        details=tuple(
            {
                "network": task.network,
                "batch_size": task.batch_size,
                "priority": task.priority,
                "deadline_ms": round(task.deadline_ms, 6),
                "late": int(task.late),
            }
            for task in episode.tasks
        ),
        slices=(npu, *lanes),
        counters=tuple(_counters(episode)),
        arrows=tuple(_arrows(episode, npu, lane_of)),
    )


def _marks(episode: EpisodeView) -> Iterator[Mark]:
    """Kills, checkpoints without a context to save, and missed deadlines."""
    label = {task.index: task.label for task in episode.tasks}
    for one in episode.preemptions:
        at_ns = int(nanoseconds(np.array(one.cycles), episode.clock_hz))
        what = "killed" if one.mechanism is Mechanism.KILL else "preempted"
        yield Mark(at_ns, f"{what}: {label[one.victim]} by {label[one.newcomer]}")
    for task in episode.tasks:
        if task.late:
            yield Mark(round(task.deadline_ms * 1e6), f"deadline missed: {task.label}")


def _lanes(episode: EpisodeView) -> tuple[list[SliceTrack], dict[int, int]]:
    """Tasks from arrival to end, in as few lanes as hold one task at a time; the lane of each."""
    spans = [(_instant(task.arrival_ms), _instant(task.end_ms)) for task in episode.tasks]
    found = lanes(spans)
    members: list[list[tuple[int, int, int]]] = [[] for _ in range(max(found, default=-1) + 1)]
    for task, lane, span in sorted(
        zip(episode.tasks, found, spans, strict=True), key=lambda held: held[2]
    ):
        members[lane].append((task.index, *span))
    tracks = []
    for lane, held in enumerate(members):
        index, start_ns, end_ns = np.array(held, np.int64).T
        tracks.append(
            SliceTrack(
                name=f"tasks in the system, lane {lane}",
                names=index + len(SLICE_KINDS) - 1,
                tasks=index,
                start_ns=start_ns,
                end_ns=end_ns,
            )
        )
    return tracks, {task.index: lane for task, lane in zip(episode.tasks, found, strict=True)}


def _instant(ms: float) -> int:
    return round(ms * 1e6)


def _counters(episode: EpisodeView) -> Iterator[CounterTrack]:
    """Tasks in the system, from arrivals and completions; the rest as decisions saw it."""
    changes = [(_instant(task.arrival_ms), 1) for task in episode.tasks]
    changes += [(_instant(task.end_ms), -1) for task in episode.tasks if task.finished]
    if changes:
        at_ns, step = np.array(sorted(changes), np.int64).T
        yield _counter("tasks in the system", "tasks", at_ns, np.cumsum(step))
    if episode.trail:
        at_ns = nanoseconds(np.array([d.cycles for d in episode.trail]), episode.clock_hz)
        tokens = np.array([round(d.most_tokens) for d in episode.trail])
        yield _counter("most tokens of a waiting task", "tokens", at_ns, tokens)
        saved = np.array([round(d.context_bytes) for d in episode.trail])
        yield _counter("saved contexts", "bytes", at_ns, saved)


def _counter(name: str, unit: str, at_ns: IntArray, values: IntArray) -> CounterTrack:
    """A counter without instants that are overtaken at once, or that change nothing."""
    last = np.append(at_ns[1:] != at_ns[:-1], True)
    at_ns, values = at_ns[last], np.asarray(values, np.int64)[last]
    new = np.append(True, values[1:] != values[:-1])
    return CounterTrack(name=name, unit=unit, at_ns=at_ns[new], values=values[new])


def _arrows(episode: EpisodeView, npu: SliceTrack, lane_of: dict[int, int]) -> Iterator[Arrow]:
    runs = np.flatnonzero(npu.names >= len(SLICE_KINDS) - 1)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for task, start in zip(npu.tasks[runs].tolist(), npu.start_ns[runs].tolist(), strict=True):
        first.setdefault(task, start)
        last[task] = start
    for task in episode.tasks:
        if task.index in first:
            yield Arrow(
                task=task.index,
                lane=lane_of[task.index],
                arrival_ns=_instant(task.arrival_ms),
                first_run_ns=first[task.index],
                last_run_ns=last[task.index],
            )
