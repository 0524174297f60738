"""Which requests come next? `Source`: a scenario's streams, merged, drawn as far as asked for.

Two generators a stream, one for arrivals and one for what is asked, all children of one seed: the
requests of a run do not depend on the policy, on how many are drawn at once, or on the other
streams. At another rate they are the same requests, closer together or further apart. Those of a
closed loop have no arrivals of their own: `Source.asks` draws what its clients ask and how long
they think before, and who plays them sends one whenever an answer has come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.errors import ConfigError, located
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import MAX_CYCLES, IntArray
from prema_gym.workloads.generate import NUM_UNIFORMS, write_task
from prema_gym.workloads.processes import Process, Recorded, distribution, make_process
from prema_gym.workloads.rates import mean_isolated_cycles
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.streams import Stream
from prema_gym.workloads.tables import CatalogArrays, draws
from prema_gym.workloads.trace_formats import NS_PER_S
from prema_gym.workloads.traces import read_trace
from prema_gym.workloads.workload import WorkloadArrays, empty_arrays

_NEVER = MAX_CYCLES + MAX_CYCLES // 2  # where a trace has ended


@dataclass(frozen=True, eq=False)
class Traffic:
    """The streams of a scenario, worked out for its machine.

    Attributes:
        streams: As they are declared, or the one that the scenario's own keys describe.
        arrays: Tables that each draws from.
        rates: Requests of each [1/cycle]; 0 for a closed loop, whose rate depends on the policy.
        mean_cycles: Mean true isolated time of a request of each [cycles].
        clock_hz: Of the machine.
    """

    streams: tuple[Stream, ...]
    arrays: tuple[CatalogArrays, ...]
    rates: tuple[float, ...]
    mean_cycles: tuple[float, ...]
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
        arrays = tuple(_arrays_of(catalog, stream) for stream in streams)
        means = tuple(map(mean_isolated_cycles, arrays))
        rates = _rates(catalog, streams, means)
    return Traffic(streams, arrays, rates, means, float(scenario.hardware.clock_hz))


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
    )


def _arrays_of(catalog: Catalog, stream: Stream) -> CatalogArrays:
    """The catalog's tables with what a stream says in place of what the scenario says."""
    scenario, arrays = catalog.scenario, catalog.arrays
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


def _rates(
    catalog: Catalog, streams: tuple[Stream, ...], means: tuple[float, ...]
) -> tuple[float, ...]:
    """Requests of each stream [1/cycle]; the scenario's load or rate, if given, is their sum."""
    scenario, clock = catalog.scenario, catalog.hardware.clock_hz
    weights = []
    for stream, mean in zip(streams, means, strict=True):
        if stream.is_closed:
            weights.append(0.0)
        elif stream.trace_speed is not None:
            times = read_trace(str(stream.trace))
            per_ns = (len(times) - 1) / max(times[-1], 1)
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
        self._arriving, self._asked = rngs[::2], rngs[1::2]
        self._processes = {i: self._process(i, self._arriving[i]) for i in self._open}
        self._given = 0
        self._pending: dict[int, IntArray] = {i: np.empty(0, np.int64) for i in self._open}

    def _process(self, i: int, rng: np.random.Generator) -> Process:
        stream, rate = self.traffic.streams[i], self.traffic.rates[i]
        if stream.trace is None:
            process = make_process(stream, rng, rate * self.traffic.clock_hz / 1e3)
        else:
            times = np.array(read_trace(stream.trace), dtype=np.float64)
            span = times[-1] or 1.0
            process = Recorded(rng, times / span * (len(times) - 1))
        if self._anywhere:
            process.start_anywhere()
        return process

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
            raise ConfigError(
                f"the last of {self._given + count} requests never arrives: its trace is shorter, "
                "or the rate is next to nothing"
            )
        self._given += count
        out = empty_arrays(1, count)
        out.num_tasks[0] = count
        for i in self._open:
            places = np.flatnonzero(streams == i)
            self._write(i, arrival[places], places, out)
            pending[i] = pending[i][len(places) :]
        return out, streams

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
        think = distribution(declared.think, declared.cv)(self._arriving[stream], count)
        cycles = think * (float(declared.think_ms or 0) * self.traffic.clock_hz / 1e3)
        out = empty_arrays(1, count)
        out.num_tasks[0] = count
        # At least a cycle: nobody asks again at the very instant of the answer.
        thinking = np.clip(np.rint(cycles), 1, _NEVER).astype(np.int64)
        self._write(stream, thinking, np.arange(count), out)
        return out

    def _write(self, i: int, arrival: IntArray, places: IntArray, out: WorkloadArrays) -> None:
        """Write the next requests of a stream, which arrive then, to some places of row 0."""
        uniforms = self._asked[i].random((len(places), NUM_UNIFORMS))
        write_tasks(self.traffic.arrays[i], uniforms, arrival, places, out)

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
            drawn = self._processes[behind].take(max(64, count // len(ends)))
            cycles = np.minimum(drawn / self.traffic.rates[behind], _NEVER).astype(np.int64)
            pending[behind] = np.concatenate([pending[behind], cycles])


@in_place
def write_tasks(
    arrays: CatalogArrays,
    uniforms: NDArray[np.float64],
    arrival: IntArray,
    places: IntArray,
    out: WorkloadArrays,
) -> None:
    """Write some requests of one stream.

    Args:
        arrays: The tables that the stream draws from.
        uniforms: float64 (n, NUM_UNIFORMS).
        arrival: int64 (n,) [cycles].
        places: int64 (n,), where in ``out`` each stands.
        out: Row 0 is written.
    """
    for i in range(places.shape[0]):
        write_task(arrays, uniforms[i], arrival[i], 0, places[i], out)
