"""How does a trace look as JSON? As trace events, which Perfetto and chrome://tracing open.

Times are microseconds with three decimals, which are whole nanoseconds. Slices of a track never
overlap. Source: the Trace Event Format (a public document of the Chromium project).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from prema_gym.simulator import NONE
from prema_gym.views.trace import Arrow, CounterTrack, Process, SliceTrack

Event = dict[str, object]


def to_json(processes: Sequence[Process]) -> str:
    """A trace as one line of JSON an event."""
    events = [event for pid, one in enumerate(processes, 1) for event in _process(one, pid)]
    lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{lines}\n]}}\n'


def _process(process: Process, pid: int) -> Iterator[Event]:
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process.name}}
    for tid, track in enumerate(process.slices):
        where = {"pid": pid, "tid": tid}
        yield {"ph": "M", **where, "name": "thread_name", "args": {"name": track.name}}
        yield {"ph": "M", **where, "name": "thread_sort_index", "args": {"sort_index": tid}}
        yield from _slices(process, track, where)
    for counter in process.counters:
        yield from _counter(counter, pid)
    for arrow in process.arrows:
        yield from _arrow(arrow, pid)


def _slices(process: Process, track: SliceTrack, where: dict[str, int]) -> Iterator[Event]:
    columns = (track.names, track.tasks, track.start_ns, track.end_ns)
    for name, task, start, end in zip(*(c.tolist() for c in columns), strict=True):
        event: Event = {"ph": "X", **where, "ts": _us(start), "dur": _us(end - start)}
        event["name"] = process.names[name]
        if task != NONE:
            event["args"] = {"task": task, **process.details[task]}
        yield event
    for mark in track.marks:
        yield {"ph": "i", "s": "t", **where, "ts": _us(mark.at_ns), "name": mark.name}


def _counter(counter: CounterTrack, pid: int) -> Iterator[Event]:
    for at_ns, value in zip(counter.at_ns.tolist(), counter.values.tolist(), strict=True):
        yield {
            "ph": "C", "pid": pid, "ts": _us(at_ns), "name": counter.name,
            "args": {counter.unit: value},
        }  # fmt: skip


def _arrow(arrow: Arrow, pid: int) -> Iterator[Event]:
    same = {"pid": pid, "cat": "task", "name": "task", "id": pid * 10**9 + arrow.task}
    lane = {"tid": 1 + arrow.lane, "ts": _us(arrow.arrival_ns)}
    yield {"ph": "s", **same, **lane}
    if arrow.last_run_ns > arrow.first_run_ns:
        yield {"ph": "t", **same, "tid": 0, "ts": _us(arrow.first_run_ns)}
    yield {"ph": "f", "bp": "e", **same, "tid": 0, "ts": _us(arrow.last_run_ns)}


def _us(ns: int) -> float:
    return ns / 1e3
