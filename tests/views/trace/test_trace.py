"""A trace says what the records say: parsed back, its slices are those of the CSV."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from prema_gym.views.timelines import slice_records
from prema_gym.views.trace import json_events, nanoseconds, perfetto, processes
from tests.views.episodes import WILD, made_up, played, recorded, with_name

Slices = list[tuple[str, int, int]]


def of_csv(episode: Any) -> Slices:
    records: list[dict[str, Any]] = list(slice_records([episode]))
    return [
        (r["label"] if r["kind"] == "run" else r["kind"], r["start_ns"], r["end_ns"])
        for r in records
    ]


def of_json(text: str, tid: int = 0, pid: int = 1) -> Slices:
    return [
        (e["name"], round(e["ts"] * 1e3), round((e["ts"] + e["dur"]) * 1e3))
        for e in json.loads(text)["traceEvents"]
        if e["ph"] == "X" and (e["pid"], e["tid"]) == (pid, tid)
    ]


def parsed(data: bytes) -> Any:
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = protos.Trace()
    trace.ParseFromString(data)
    return trace


def of_perfetto(trace: Any) -> dict[str, Slices]:
    """Slices by track, the stack of each replayed as Perfetto does."""
    names: dict[tuple[int, int], str] = {}
    tracks: dict[int, str] = {}
    open_at: dict[int, list[tuple[str, int]]] = {}
    found: dict[str, Slices] = {}
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            names[packet.trusted_packet_sequence_id, entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            tracks[about.uuid] = about.name or about.process.process_name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        stack = open_at.setdefault(event.track_uuid, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            name = names[packet.trusted_packet_sequence_id, event.name_iid]
            stack.append((name, packet.timestamp))
        elif event.type == event.TYPE_SLICE_END:
            name, start = stack.pop()
            assert not stack, "slices of a track do not nest here"
            found.setdefault(tracks[event.track_uuid], []).append((name, start, packet.timestamp))
    assert not any(open_at.values())
    return found


@pytest.mark.parametrize("policy", ["np-fcfs", "dynamic-prema", "kill-prema"])
def test_slices_add_up_to_busy_switching_and_idle(policy: str) -> None:
    recording = recorded(policy)
    episode = played(policy)
    total = {"run": 0, "checkpoint": 0, "restore": 0, "idle": 0}
    for record in slice_records([episode]):
        total[str(record["kind"])] += int(str(record["end_cycles"])) - int(
            str(record["start_cycles"])
        )
    outcomes = recording.outcomes
    assert total["run"] == outcomes.busy_cycles[0]
    assert total["checkpoint"] + total["restore"] == outcomes.switching_cycles[0]
    assert total["idle"] == outcomes.idle_cycles[0]
    # In nanoseconds they tile the time too: each begins where the one before ends.
    slices = of_csv(episode)
    assert slices[0][1] == 0
    assert all(before[2] == after[1] for before, after in pairwise(slices))


@pytest.mark.parametrize("policy", ["np-fcfs", "dynamic-prema", "kill-prema"])
def test_both_formats_hold_the_slices_of_the_csv(policy: str) -> None:
    episode = played(policy)
    one = processes([episode])
    assert of_json(json_events.to_json(one)) == of_csv(episode)
    assert of_perfetto(parsed(perfetto.to_perfetto(one)))["NPU"] == of_csv(episode)


def test_schedules_are_processes_and_lanes_hold_one_task_at_a_time() -> None:
    both = processes([played("np-fcfs"), played("dynamic-prema")])
    text = json_events.to_json(both)
    data = json.loads(text)["traceEvents"]
    named = [e["args"]["name"] for e in data if e["name"] == "process_name"]
    assert named == ["np-fcfs, seed 3", "dynamic-prema, seed 3"]
    for process in both:
        assert sum(len(track.tasks) for track in process.slices[1:]) == 8
        for track in process.slices:
            assert np.all(track.start_ns[1:] >= track.end_ns[:-1])
            assert np.all(track.end_ns >= track.start_ns)
    assert of_json(text, pid=2) == of_csv(played("dynamic-prema"))


def test_arrows_lead_from_arrival_to_the_last_run() -> None:
    episode = played("dynamic-prema")
    (process,) = processes([episode])
    assert [arrow.task for arrow in process.arrows] == [task.index for task in episode.tasks]
    for arrow, task in zip(process.arrows, episode.tasks, strict=True):
        runs = task.spans("run")
        assert arrow.arrival_ns == pytest.approx(task.arrival_ms * 1e6, abs=1)
        assert arrow.first_run_ns == pytest.approx(runs[0][0] * 1e6, abs=1)
        assert arrow.last_run_ns == pytest.approx(runs[-1][0] * 1e6, abs=1)
    events = [e["ph"] for e in json.loads(json_events.to_json([process]))["traceEvents"]]
    assert events.count("s") == events.count("f") == 8
    flows = [
        (list(p.track_event.flow_ids), list(p.track_event.terminating_flow_ids))
        for p in parsed(perfetto.to_perfetto([process])).packet
        if p.track_event.flow_ids or p.track_event.terminating_flow_ids
    ]
    assert len(flows) == 3 * 8
    assert len({tuple(start + end) for start, end in flows}) == 8


def test_counters_and_marks() -> None:
    episode = played("kill-prema")
    (process,) = processes([episode])
    there, tokens, saved = process.counters
    assert (there.values.min(), there.values.max(), there.values[-1]) == (0, 7, 0)
    assert tokens.values.max() > 9
    assert saved.values.max() == 0  # nothing is saved where work is killed
    assert max(processes([played("static-rrb")])[0].counters[2].values) > 0
    marks = [mark.name for mark in process.slices[0].marks]
    assert sum(name.startswith("killed: ") for name in marks) == 3
    assert sum(name.startswith("deadline missed: ") for name in marks) == 1
    packets = parsed(perfetto.to_perfetto([process])).packet
    values = [p.track_event.counter_value for p in packets if p.track_event.type == 4]
    assert values == [v for one in process.counters for v in one.values.tolist()]


def test_a_million_slices_would_take_at_most_45_megabytes() -> None:
    episode = made_up(100_000)
    data = perfetto.to_perfetto(processes([episode]))
    assert len(data) <= 45 * 100_000
    slices = of_perfetto(parsed(data))["NPU"]
    assert slices == of_csv(episode)


def test_names_are_as_written() -> None:
    one = processes([with_name(played("dynamic-prema"), WILD)])
    text = json_events.to_json(one)
    assert f"0 {WILD} ×16 π=3" in {e["name"] for e in json.loads(text)["traceEvents"]}
    assert f"0 {WILD} ×16 π=3" in one[0].names
    assert any(name == f"0 {WILD} ×16 π=3" for name, _, _ in of_perfetto(
        parsed(perfetto.to_perfetto(one)))["NPU"])  # fmt: skip


@pytest.mark.parametrize("clock_hz", [1_000, 700_000_000, 1_300_000_000])
def test_nanoseconds_are_exact(clock_hz: int) -> None:
    cycles = np.array([0, 1, 2, 12_345_678_901, 10**12 // 7])
    exact = [(int(c) * 10**9 * 2 + clock_hz) // (2 * clock_hz) for c in cycles]
    assert np.abs(nanoseconds(cycles, clock_hz) - exact).max() <= 1
    steps = nanoseconds(np.arange(10_000), clock_hz)
    assert np.all(np.diff(steps) >= 0)
