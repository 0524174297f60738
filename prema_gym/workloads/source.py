"""Which requests come next? `Source`: a scenario's streams, merged, drawn as far as asked for.

Two generators a stream, one for arrivals and one for what is asked, all children of one seed: the
requests of a run do not depend on the policy, on how many are drawn at once, or on the other
streams. At another rate they are the same requests, closer together or further apart. Those of a
closed loop have no arrivals of their own: `Source.asks` draws what its clients ask and how long
they think before, and who plays them sends one whenever an answer has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.errors import ConfigError, located
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import MAX_CYCLES, IntArray
from prema_gym.workloads.generate import NUM_UNIFORMS, write_task
from prema_gym.workloads.processes import distribution, make_process
from prema_gym.workloads.rates import mean_isolated_cycles
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.streams import Stream
from prema_gym.workloads.tables import (
    ASKED_PRIORITY,
    NOT_ASKED,
    NUM_ASKED,
    CatalogArrays,
    draws,
)
from prema_gym.workloads.traces.replay import Replay, real_time, replay_of, replayed_cycles
from prema_gym.workloads.traces.values import NS_PER_S
from prema_gym.workloads.workload import WorkloadArrays, empty_arrays

_NEVER = MAX_CYCLES + MAX_CYCLES // 2  # where a trace has ended
_PIECE = 2048  # requests of a trace that are taken at once
MOST_PRIORITIES = 100
"""Priorities in a long run: each has histograms of half a megabyte a run."""


@dataclass(frozen=True, eq=False)
class Traffic:
    """The streams of a scenario, worked out for its machine.

    Attributes:
        streams: As they are declared, or the one that the scenario's own keys describe.
        arrays: Tables that each draws from.
        rates: Requests of each [1/cycle]; 0 for a closed loop, whose rate depends on the policy.
        mean_cycles: Mean true isolated time of a request of each [cycles].
        recorded: Arrivals of each that replays a trace [cycles], int64 (n,); None for others.
        clock_hz: Of the machine.
    """

    streams: tuple[Stream, ...]
    arrays: tuple[CatalogArrays, ...]
    rates: tuple[float, ...]
    mean_cycles: tuple[float, ...]
    recorded: tuple[IntArray | None, ...]
    clock_hz: float

    @property
    def is_open(self) -> bool:
        """Whether requests of some stream come at a rate of their own."""
        return any(not stream.is_closed for stream in self.streams)

    @property
    def closed(self) -> list[int]:
        """Which streams are closed loops."""
        return [i for i, stream in enumerate(self.streams) if stream.is_closed]

    @property
    def clients(self) -> int:
        """Clients of all closed loops."""
        return sum(stream.clients or 0 for stream in self.streams)

    @property
    def load(self) -> float:
        """Share of the machine's time that open streams ask for."""
        return sum(r * c for r, c in zip(self.rates, self.mean_cycles, strict=True))

    @property
    def rate_per_s(self) -> float:
        """Requests of open streams a second."""
        return sum(self.rates) * self.clock_hz


def traffic_of(catalog: Catalog) -> Traffic:
    """Work out the streams of a scenario.

    Raises:
        ConfigError: Nothing says how often requests arrive.
    """
    scenario = catalog.scenario
    with located(f"scenario {scenario.name!r}"):
        streams = scenario.streams or (_only_stream(scenario),)
        replays = [None if one.trace is None else replay_of(scenario, one) for one in streams]
        arrays = tuple(map(partial(_arrays_of, catalog), streams, replays))
        _check_priorities(arrays)
        means = tuple(map(mean_isolated_cycles, arrays))
        rates = _rates(catalog, streams, replays, means)
        recorded = tuple(map(partial(_recorded, scenario), streams, replays, rates))
    clock_hz = float(scenario.hardware.clock_hz)
    return Traffic(streams, arrays, rates, means, recorded, clock_hz)


def _only_stream(scenario: Scenario) -> Stream:
    """The stream that a scenario's own keys describe."""
    speed = scenario.trace_speed
    return Stream(
        name=scenario.name,
        arrival=scenario.arrival,
        burst_size=scenario.burst_size,
        share=1.0 if speed is None else None,
        trace=scenario.trace,
        trace_speed=speed,
        trace_from=scenario.trace_from,
        trace_limit=scenario.trace_limit,
    )


def _arrays_of(catalog: Catalog, stream: Stream, replay: Replay | None) -> CatalogArrays:
    """The catalog's tables with what a stream says in place of what the scenario says."""
    scenario, arrays = catalog.scenario, catalog.arrays
    nothing = np.empty((0, NUM_ASKED), np.int64)
    arrays = arrays._replace(trace_asked=nothing if replay is None else replay.asked)
    if stream.networks is not None:
        positions = np.array([scenario.networks.index(name) for name in stream.networks])
        arrays = arrays._replace(network_draws=draws(positions, stream.network_shares))
    if stream.batch_sizes is not None:
        positions = np.array([scenario.batch_sizes.index(size) for size in stream.batch_sizes])
        arrays = arrays._replace(batch_draws=draws(positions, stream.batch_shares))
    if stream.priorities is not None:
        weights = np.array(stream.priorities, dtype=np.int64)
        arrays = arrays._replace(priorities=draws(weights, stream.priority_shares))
    if stream.slo_ms is not None:
        cycles = scenario.hardware.cycles(stream.slo_ms)
        arrays = arrays._replace(allowance_cycles=np.full_like(arrays.allowance_cycles, cycles))
    if stream.sla_factor is not None:
        allowed = np.rint(stream.sla_factor * arrays.estimated_cycles).astype(np.int64)
        arrays = arrays._replace(allowance_cycles=allowed)
    return arrays


def priorities_of(arrays: CatalogArrays) -> set[int]:
    """The priorities that a stream's requests can have."""
    asked = np.unique(arrays.trace_asked[:, ASKED_PRIORITY])
    drawn = set() if len(asked) and NOT_ASKED not in asked else set(arrays.priorities.tolist())
    return drawn | {int(weight) for weight in asked if weight != NOT_ASKED}


def _check_priorities(arrays: tuple[CatalogArrays, ...]) -> None:
    count = len(set().union(*map(priorities_of, arrays)))
    if count > MOST_PRIORITIES:
        raise ConfigError(
            f"results are kept by priority, at most {MOST_PRIORITIES} of them, and there are "
            f"{count}: put them into fewer classes"
        )


def _recorded(
    scenario: Scenario, stream: Stream, replay: Replay | None, rate: float
) -> IntArray | None:
    """Arrivals of a stream that replays a trace [cycles].

    Exact in real time; at a rate, the trace's mean gap becomes that of the rate.
    """
    if replay is None or stream.trace is None:
        return None
    times = replay.times
    own_rate = scenario.load is None and scenario.rate_per_s is None
    if stream.trace_speed is not None and own_rate:
        scale = real_time(scenario, stream.trace_speed)
    elif times[-1] == 0:
        raise ConfigError(
            f"{stream.trace.file!r} has no mean rate to change, since all its requests arrive at "
            "one instant: give trace_speed alone"
        )
    else:
        scale = Fraction(len(times) - 1, int(times[-1])) / Fraction(rate)
    return replayed_cycles(times, scale, stream.trace)


def _rates(
    catalog: Catalog,
    streams: tuple[Stream, ...],
    replays: list[Replay | None],
    means: tuple[float, ...],
) -> tuple[float, ...]:
    """Requests of each stream [1/cycle]; the scenario's load or rate, if given, is their sum."""
    scenario, clock = catalog.scenario, catalog.hardware.clock_hz
    weights = []
    for stream, replay, mean in zip(streams, replays, means, strict=True):
        if stream.is_closed:
            weights.append(0.0)
        elif stream.trace_speed is not None and replay is not None:
            per_ns = (len(replay.times) - 1) / max(int(replay.times[-1]), 1)
            weights.append(per_ns * NS_PER_S * stream.trace_speed / clock)
        elif stream.rate_per_s is not None:
            weights.append(stream.rate_per_s / clock)
        elif stream.load is not None:
            weights.append(stream.load / mean)
        else:
            weights.append(stream.share or 0.0)
    total = sum(weights)
    if scenario.load is not None:
        scale = scenario.load / sum(w * c for w, c in zip(weights, means, strict=True))
        return tuple(scale * weight for weight in weights)
    if scenario.rate_per_s is not None:
        return tuple(scenario.rate_per_s / clock * weight / total for weight in weights)
    if all(stream.share is None for stream in streams):  # those of closed loops too
        return tuple(weights)
    if scenario.streams:
        raise ConfigError(
            "streams have shares, but nothing says of how many requests: give load or rate_per_s"
        )
    window = max(1, scenario.hardware.cycles(scenario.window_ms))
    return (scenario.num_tasks / window,)


class Source:
    """Draws the requests of one run, in order of arrival (ties: in order of the streams).

    Args:
        traffic: The streams.
        seed: The run's; or a generator that draws everything, from a random point of the streams
            on: then what comes depends on how much is asked for at once.
    """

    def __init__(self, traffic: Traffic, seed: int | np.random.Generator) -> None:
        self.traffic = traffic
        count = len(traffic.streams)
        self._open = [i for i in range(count) if i not in traffic.closed]
        self._anywhere = isinstance(seed, np.random.Generator)
        if isinstance(seed, np.random.Generator):
            rngs = [seed] * (2 * count)
        else:
            children = np.random.SeedSequence(seed).spawn(2 * count)
            rngs = [np.random.default_rng(child) for child in children]
        self._thinking, self._asked = rngs[::2], rngs[1::2]
        self._first = [0] * count  # request of its trace that comes first
        self._arrivals = {i: self._arrivals_of(i, self._thinking[i]) for i in self._open}
        self._given = [0] * count
        self._pending: dict[int, IntArray] = {i: np.empty(0, np.int64) for i in self._open}

    def _arrivals_of(self, i: int, rng: np.random.Generator) -> Callable[[int], IntArray]:
        """What gives the next arrivals of a stream [cycles]; at the end of time: no more."""
        rate, recorded = self.traffic.rates[i], self.traffic.recorded[i]
        if recorded is not None:
            period = int(recorded[-1]) + max(1, round(1 / rate))
            start = int(rng.integers(period)) if self._anywhere else 0
            self._first[i] = int(np.searchsorted(recorded, start))
            rest = _from(recorded, self._first[i], start, period if self._anywhere else _NEVER)
            return lambda count: next(rest)
        process = make_process(self.traffic.streams[i], rng, rate * self.traffic.clock_hz / 1e3)
        if self._anywhere:
            process.start_anywhere()
        return lambda count: np.minimum(process.take(count) / rate, _NEVER).astype(np.int64)

    def next(self, count: int) -> tuple[WorkloadArrays, IntArray]:
        """Draw the next requests of the open streams.

        Args:
            count: How many.

        Returns:
            Their tasks, int64 (1, count), and the stream of each, (count,).

        Raises:
            ConfigError: They arrive later than the clock can count, or every stream is a closed
                loop.
        """
        if not self._open:
            raise ConfigError(
                "every stream is a closed loop: when its requests arrive depends on the policy"
            )
        self._draw_arrivals(count)
        pending = self._pending
        arrival = np.concatenate(list(pending.values()))
        streams = np.repeat(self._open, [len(times) for times in pending.values()])
        order = np.argsort(arrival, kind="stable")[:count]
        arrival, streams = arrival[order], streams[order]
        if arrival[-1] > MAX_CYCLES:
            raise ConfigError(self._never(count, int((arrival <= MAX_CYCLES).sum())))
        out = empty_arrays(1, count)
        out.num_tasks[0] = count
        for i in self._open:
            places = np.flatnonzero(streams == i)
            self._write(i, arrival[places], places, out)
            self._pending[i] = self._pending[i][len(places) :]
        return out, streams

    def _never(self, count: int, arrive: int) -> str:
        """What to say where requests never arrive."""
        wanted, come = sum(self._given) + count, sum(self._given) + arrive
        if all(self.traffic.recorded[i] is not None for i in self._open):
            return (
                f"the last of {wanted} requests never arrives: its trace is shorter, it has "
                f"{come}, and requests and warmup together may be as many"
            )
        return f"the last of {wanted} requests never arrives: the rate is next to nothing"

    def asks(self, stream: int, count: int) -> WorkloadArrays:
        """Draw what the clients of a closed loop ask next, whoever of them does.

        Args:
            stream: Which, a closed loop.
            count: How many requests.

        Returns:
            Their tasks, int64 (1, count), on a clock that starts with the think time before each:
            that is its ``arrival_cycles``.
        """
        declared = self.traffic.streams[stream]
        think = distribution(declared.think, declared.cv)(self._thinking[stream], count)
        cycles = think * (float(declared.think_ms or 0) * self.traffic.clock_hz / 1e3)
        out = empty_arrays(1, count)
        out.num_tasks[0] = count
        # At least a cycle: nobody asks again at the very instant of the answer.
        thinking = np.clip(np.rint(cycles), 1, _NEVER).astype(np.int64)
        self._write(stream, thinking, np.arange(count), out)
        return out

    def _write(self, i: int, arrival: IntArray, places: IntArray, out: WorkloadArrays) -> None:
        """Write the next requests of a stream, which arrive then, to some places of row 0."""
        arrays = self.traffic.arrays[i]
        uniforms = self._asked[i].random((len(places), NUM_UNIFORMS))
        first = self._first[i] + self._given[i] if len(arrays.trace_asked) else NOT_ASKED
        write_tasks(arrays, uniforms, arrival, first, places, out)
        self._given[i] += len(places)

    def _draw_arrivals(self, count: int) -> None:
        """Draw until ``count`` arrivals are known to come before any that is not drawn."""
        pending = self._pending
        while True:
            ends = {i: int(times[-1]) if len(times) else -1 for i, times in pending.items()}
            behind = min(ends, key=ends.__getitem__)
            until = ends[behind]
            if until >= _NEVER:
                return  # every trace has ended: nothing comes any more
            if sum(int(np.searchsorted(times, until)) for times in pending.values()) >= count:
                return
            cycles = self._arrivals[behind](max(64, count // len(ends)))
            pending[behind] = np.concatenate([pending[behind], cycles])


def _from(recorded: IntArray, first: int, start: int, period: int) -> Iterator[IntArray]:
    """Arrivals of a trace since ``start``, piece by piece; after its last its first come again.

    Args:
        recorded: int64 (n,), increasing [cycles].
        first: The first of them from ``start`` on.
        start: Where to begin [cycles].
        period: When the first one comes again [cycles].
    """
    for begin in range(first, len(recorded), _PIECE):
        yield recorded[begin : begin + _PIECE] - start
    for begin in range(0, first, _PIECE):
        yield recorded[begin : min(begin + _PIECE, first)] + (period - start)
    yield from repeat(np.full(_PIECE, _NEVER))


@in_place
def write_tasks(
    arrays: CatalogArrays,
    uniforms: NDArray[np.float64],
    arrival: IntArray,
    first: int,
    places: IntArray,
    out: WorkloadArrays,
) -> None:
    """Write some requests of one stream.

    Args:
        arrays: The tables that the stream draws from.
        uniforms: float64 (n, NUM_UNIFORMS).
        arrival: int64 (n,) [cycles].
        first: Number of the first in its trace, or ``NOT_ASKED``.
        places: int64 (n,), where in ``out`` each stands.
        out: Row 0 is written.
    """
    for i in range(places.shape[0]):
        request = first
        if first != NOT_ASKED:  # behind the end of a trace that goes round
            request = (first + i) % arrays.trace_asked.shape[0]
        write_task(arrays, uniforms[i], arrival[i], request, 0, places[i], out)
