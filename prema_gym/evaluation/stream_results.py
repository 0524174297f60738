"""What is known of policies after long runs? Rows with intervals, and whether they kept up.

:mod:`prema_gym.evaluation.streams` makes them, :mod:`prema_gym.views.streams` shows them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from prema_gym.evaluation.streaming import Run
from prema_gym.files import as_given
from prema_gym.metrics import tally as t
from prema_gym.metrics.dependent import Estimate, percentile_of, ratio, share_of
from prema_gym.metrics.formulas import FloatArray
from prema_gym.metrics.groups import STREAM_COLUMNS
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.source import Traffic

KINDS = ("stream", "network", "priority")
"""What results are grouped by."""
ALL = "all"
_NO_IDLE = 0.005  # a machine that keeps up is idle for more of its time than this
_BACKLOG = 0.01  # and leaves fewer of the requests

StreamRow = dict[str, Estimate]
"""Estimates by the names of ``STREAM_COLUMNS``."""


@dataclass(frozen=True, kw_only=True)
class LoopResult:
    """What the clients of a closed loop saw.

    Attributes:
        clients: How many there are.
        think_ms: Their mean think time, as it was drawn in these runs.
        requests_per_s: Requests that they sent, a second.
        latency_ms: Mean time from arrival to completion.
        response_law_ms: clients / rate - think time: by the interactive response-time law the mean
            time from a request to its answer or refusal. A window of n requests cuts the think
            times at both ends: that moves it by some think time × √(2 clients) / n. If it is
            longer than the latency by much more, some clients wait for an answer that never comes.
    """

    clients: int
    think_ms: float
    requests_per_s: float
    latency_ms: float
    response_law_ms: float


@dataclass(frozen=True, kw_only=True)
class StreamResult:
    """One policy's long runs.

    Attributes:
        everything: The row of all requests.
        groups: Rows by kind (``KINDS``), then by name.
        load: Share of the machine's time that the requests asked for; of closed loops as played.
        rate_per_s: How many came a second, likewise.
        utilisation: Share of the time that tasks ran, killed work included.
        overhead: Share of the time spent saving and restoring contexts.
        left: Requests in the system at the end, a run.
        oldest_ms: Age of the oldest of them.
        in_system: Mean number in the system over the window.
        arrival_latency: Arrival rate × mean latency; by Little's law the same, edges apart.
        loops: What each closed loop did, by the stream's name.
        keeps_up: Whether the machine kept up with the requests.
        could_per_s: Requests a second that it could have served, had it never been idle.
        decisions: Times the policy was asked, a request.
    """

    everything: StreamRow
    groups: dict[str, dict[str, StreamRow]]
    load: float
    rate_per_s: float
    utilisation: float
    overhead: float
    left: float
    oldest_ms: float
    in_system: float
    arrival_latency: float
    keeps_up: bool
    could_per_s: float
    decisions: float
    loops: dict[str, LoopResult]

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data; may hold NaN."""
        data = asdict(self)
        data["everything"] = _plain(self.everything)
        data["groups"] = {
            kind: {name: _plain(row) for name, row in rows.items()}
            for kind, rows in self.groups.items()
        }
        return data


def _plain(row: StreamRow) -> dict[str, Any]:
    return {
        name: {"value": found.value, "ci95": [found.low, found.high]} for name, found in row.items()
    }


def result_of(runs: Sequence[Run], catalog: Catalog, traffic: Traffic) -> StreamResult:
    """Put a policy's runs together: their batches stand side by side.

    Args:
        runs: At least one.
        catalog: The compiled scenario.
        traffic: What was played.
    """
    ms = 1e3 / catalog.hardware.clock_hz
    seconds = np.concatenate([_batch_seconds(run, ms) for run in runs])
    window = sum(run.end_cycles - run.fold.start_cycles for run in runs)
    busy = sum(run.busy_cycles for run in runs)
    switching = sum(run.switching_cycles for run in runs)
    idle = sum(run.idle_cycles for run in runs)
    left = sum(run.left for run in runs)
    waiting = left - len(runs) * traffic.clients  # no more clients' requests can be there
    requests = sum(run.fold.requests for run in runs)
    together = _Together(runs, seconds, ms)
    everything = together.row(t.ALL)
    finished = float(together.counts[:, t.ALL, t.FINISHED].sum())
    in_use = (busy + switching) * ms / 1e3
    rates = _arrival_rates(together, runs, window, traffic)
    return StreamResult(
        everything=everything,
        groups=_groups(together, runs[0], catalog, traffic),
        load=float(rates @ np.array(traffic.mean_cycles)),
        rate_per_s=float(rates.sum()) * traffic.clock_hz,
        utilisation=busy / window,
        overhead=switching / window,
        left=left / len(runs),
        oldest_ms=max(int(run.tally.oldest[0]) for run in runs) * ms,
        in_system=sum(float(run.tally.in_system[0]) for run in runs) / window,
        arrival_latency=finished / window * everything["latency_ms"].value / ms,
        keeps_up=idle > _NO_IDLE * window or waiting <= _BACKLOG * requests,
        could_per_s=finished / in_use if in_use else math.inf,
        decisions=sum(run.decisions for run in runs) / requests,
        loops={
            traffic.streams[i].name: _loop(together, runs, window, traffic, i)
            for i in traffic.closed
        },
    )


def _arrival_rates(
    together: _Together, runs: Sequence[Run], window: int, traffic: Traffic
) -> FloatArray:
    """Requests of each stream that come, float64 (streams,) [1/cycle]: declared, else counted."""
    rates = np.array(traffic.rates)
    for i in traffic.closed:
        arrived = together.counts[:, runs[0].fold.first_stream + i, t.ARRIVED].sum()
        rates[i] = arrived / window
    return rates


def _loop(
    together: _Together, runs: Sequence[Run], window: int, traffic: Traffic, i: int
) -> LoopResult:
    """What became of the closed loop that stream i is."""
    stream, group = traffic.streams[i], runs[0].fold.first_stream + i
    counts = together.counts[:, group].sum(axis=0)
    # All that came, as in steady state as many come as go: to leave out those that are there at
    # the end, but not count those that were at the beginning, would make every answer look late.
    per_s = float(counts[t.ARRIVED]) / window * traffic.clock_hz
    sent, thought = sum(run.thinking[i] for run in runs)
    clients, think_ms = stream.clients or 0, float(thought) / max(sent, 1) * 1e3 / traffic.clock_hz
    return LoopResult(
        clients=clients,
        think_ms=think_ms,
        requests_per_s=per_s,
        latency_ms=together.row(group)["latency_ms"].value,
        response_law_ms=1e3 * clients / per_s - think_ms if per_s else math.inf,
    )


def _batch_seconds(run: Run, ms: float) -> FloatArray:
    """Length of each batch of a run [s]; 0 for one without requests (fewer than batches)."""
    ends = np.append(run.tally.first_arrival, run.end_cycles).astype(np.float64)
    for batch in range(len(ends) - 2, -1, -1):  # an empty batch starts with the next
        ends[batch] = min(ends[batch], ends[batch + 1])
    return np.diff(ends) * ms / 1e3


class _Together:
    """The batches of all runs, and the rows made of them."""

    def __init__(self, runs: Sequence[Run], seconds: FloatArray, ms: float) -> None:
        self.counts = np.concatenate([run.tally.counts for run in runs]).astype(np.float64)
        self._sums = np.concatenate([run.tally.sums for run in runs])
        self._histogram = np.concatenate([run.tally.histogram for run in runs])
        self._seconds, self._ms = seconds, ms

    def row(self, group: int) -> StreamRow:
        """The row of one group."""
        counts, sums, ms = self.counts[:, group], self._sums[:, group], self._ms
        finished, arrived = counts[:, t.FINISHED], counts[:, t.ARRIVED]
        values = {
            "requests": Estimate(float(arrived.sum())),
            "latency_ms": ratio(sums[:, t.LATENCY] * ms, finished),
            "antt": ratio(sums[:, t.NTT], finished),
            "deadline_miss": share_of(counts[:, t.MISSED], arrived - counts[:, t.UNDECIDED]),
            "goodput_per_s": ratio(counts[:, t.GOOD], self._seconds),
            "throughput_per_s": ratio(finished, self._seconds),
            "dropped": share_of(counts[:, t.DROPPED_COUNT], arrived),
            "rejected": share_of(counts[:, t.REJECTED_COUNT], arrived),
            "left": share_of(counts[:, t.LEFT], arrived),
        }
        for column in STREAM_COLUMNS:
            if column.percent is not None:
                found = percentile_of(self._histogram[:, group], column.percent)
                values[column.name] = Estimate(*(ms * end for end in found))
        return {column.name: values[column.name] for column in STREAM_COLUMNS}


def _groups(
    together: _Together, run: Run, catalog: Catalog, traffic: Traffic
) -> dict[str, dict[str, StreamRow]]:
    fold = run.fold
    names: Mapping[str, tuple[int, Sequence[str]]] = {
        "stream": (fold.first_stream, [stream.name for stream in traffic.streams]),
        "network": (1, [as_given(name) for name in catalog.scenario.networks]),
        "priority": (fold.first_priority, [str(weight) for weight in fold.priorities]),
    }
    return {
        kind: {
            name: together.row(first + i)
            for i, name in enumerate(names[kind][1])
            if together.counts[:, first + i, t.ARRIVED].sum() > 0
        }
        for kind in KINDS
        for first in (names[kind][0],)
    }
