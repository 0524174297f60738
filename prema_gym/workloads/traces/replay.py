"""At which cycles do the requests of a recorded trace arrive here, and what does each ask for?

Times are exact: a trace's nanoseconds become cycles of one clock, each rounded once. What a request
asks for is a row of numbers; what its file does not say is drawn as ever.
"""

from __future__ import annotations

import reprlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.files import as_given
from prema_gym.workloads.fields import MAX_CYCLES, IntArray
from prema_gym.workloads.tables import (
    ASKED_ALLOWANCE,
    ASKED_BATCH,
    ASKED_INPUT,
    ASKED_NETWORK,
    ASKED_OUTPUT,
    ASKED_PRIORITY,
    NUM_ASKED,
)
from prema_gym.workloads.traces.log import TraceLog
from prema_gym.workloads.traces.requests import Requests, read_requests
from prema_gym.workloads.traces.values import NS_PER_S

if TYPE_CHECKING:
    from prema_gym.workloads.scenario import Scenario
    from prema_gym.workloads.streams import Stream

_MOST_NAMED = 40
_LONGEST_NAME = 60
# Exact products of two numbers below this fit 64 bits, doubled and with a sum.
_SMALL = 2**30
_UNKNOWN = -2  # a network or batch size that the scenario does not have


@dataclass(frozen=True, eq=False)
class Replay:
    """The requests that a scenario or stream replays.

    Attributes:
        times: Arrivals since the first of them [ns], int64 (n,), increasing.
        asked: What each asks for: int64 (n, NUM_ASKED), -1 where it is drawn; (0, NUM_ASKED) if
            the file says nothing but arrivals.
        notes: What of the file is not replayed, a line each.
    """

    times: IntArray
    asked: IntArray
    notes: tuple[str, ...]


def replay_of(scenario: Scenario, stream: Stream | None = None) -> Replay:
    """What a scenario, or one of its streams, replays.

    Raises:
        ConfigError: The file cannot be read, or asks for what the scenario does not have.
    """
    of = scenario if stream is None else stream
    log = of.trace
    assert log is not None  # the caller sees to it
    networks, batches = scenario.networks, scenario.batch_sizes
    if stream is not None:
        networks, batches = stream.networks or networks, stream.batch_sizes or batches
    requests = read_requests(log)
    asked = _asked_of(requests, log, scenario, networks, batches)
    notes = _passed_over(requests, log)
    lost = (asked[:, [ASKED_NETWORK, ASKED_BATCH]] == _UNKNOWN).any(axis=1)
    if lost.any():
        notes.append(
            _told(
                log,
                int(lost.sum()),
                len(lost),
                "skipped, with a network or batch size that the scenario does not have",
            )
        )
        requests, asked = requests.taken(np.flatnonzero(~lost)), asked[~lost]
    start = 0 if of.trace_from is None else of.trace_from
    if start >= len(requests.times):
        raise ConfigError(
            f"{as_given(log.file)!r} has {len(requests.times)} requests to replay: none is left "
            f"from {start} on"
        )
    stretch = slice(start, None if of.trace_limit is None else start + of.trace_limit)
    asked = asked[stretch]
    notes += _beyond(asked, scenario, networks, log)
    return Replay(requests.taken(stretch).times, asked, tuple(notes))


def _asked_of(
    requests: Requests,
    log: TraceLog,
    scenario: Scenario,
    networks: Sequence[str],
    batches: Sequence[int],
) -> IntArray:
    """What each request asks for, (n, NUM_ASKED); ``_UNKNOWN`` where a scenario does not have it.

    Raises:
        ConfigError: It does not have it, and such requests are not to be skipped.
    """
    said = requests.asked
    if not said:
        return np.empty((0, NUM_ASKED), np.int64)
    asked = np.full((len(requests.times), NUM_ASKED), -1, dtype=np.int64)
    if "network" in said:
        meant = dict(log.networks)
        place = {name: scenario.networks.index(name) for name in networks}
        place = {as_given(name): index for name, index in place.items()} | place
        known = [place.get(meant.get(name, name), _UNKNOWN) for name in requests.names]
        asked[:, ASKED_NETWORK] = np.array(known, dtype=np.int64)[said["network"]]
        if log.unknown == "refuse":
            index = _first_unknown(asked[:, ASKED_NETWORK])
            if index is not None:
                given = requests.names[said["network"][index]]
                raise _not_here(
                    requests,
                    log,
                    index,
                    "network",
                    given,
                    list(map(as_given, networks)),
                    "; [trace.networks] says which of them a name stands for",
                )
    if "batch" in said:
        sizes, code = np.unique(said["batch"], return_inverse=True)
        known = [
            scenario.batch_sizes.index(size) if size in batches else _UNKNOWN
            for size in sizes.tolist()
        ]
        asked[:, ASKED_BATCH] = np.array(known, dtype=np.int64)[code]
        if log.unknown == "refuse":
            index = _first_unknown(asked[:, ASKED_BATCH])
            if index is not None:
                raise _not_here(
                    requests, log, index, "batch size", int(said["batch"][index]), batches, ""
                )
    if "priority" in said:
        asked[:, ASKED_PRIORITY] = said["priority"]
    # Nobody asks for nothing: a failed call whose answer has no tokens is played with one.
    for name, column in (("input_length", ASKED_INPUT), ("output_length", ASKED_OUTPUT)):
        if name in said:
            asked[:, column] = np.maximum(said[name], 1)
    if "allowance" in said:
        per_ns = Fraction(scenario.hardware.clock_hz, NS_PER_S)
        asked[:, ASKED_ALLOWANCE] = scaled(said["allowance"], per_ns, log.file)
    return asked


def _first_unknown(places: IntArray) -> int | None:
    unknown = places == _UNKNOWN
    return int(unknown.argmax()) if unknown.any() else None


def _not_here(
    requests: Requests,
    log: TraceLog,
    index: int,
    what: str,
    given: object,
    known: Sequence[object],
    hint: str,
) -> ConfigError:
    line = "row" if log.file.lower().endswith(".parquet") else "line"
    return ConfigError(
        f"{as_given(log.file)!r}, {line} {requests.lines[index]}: {what} {reprlib.repr(given)} "
        f"is not among those of the scenario: {_shown(list(map(str, known)))}{hint}; "
        'unknown = "skip" in [trace] leaves such requests out'
    )


def scaled(times: IntArray, scale: Fraction, where: str) -> IntArray:
    """Times on another clock, each rounded to its nearest whole number, halves up, exactly.

    Args:
        times: int64 (n,), from 0.
        scale: Units of the other clock in one of these.
        where: What they are from, for the message.

    Raises:
        ConfigError: The last of them is beyond the clock.
    """
    over, under = scale.numerator, scale.denominator
    if len(times) and int(times.max()) * scale > MAX_CYCLES:
        raise ConfigError(
            f"{as_given(where)!r} takes more than {MAX_CYCLES} cycles as it is played: raise "
            "trace_speed, shorten the window or cut the trace"
        )
    if over < _SMALL and under < _SMALL:
        whole, rest = np.divmod(times, under)
        return np.asarray(whole * over + (2 * rest * over + under) // (2 * under))
    found = [(2 * time * over + under) // (2 * under) for time in times.tolist()]
    return np.array(found, dtype=np.int64)


def replayed_cycles(times: IntArray, scale: Fraction, log: TraceLog) -> IntArray:
    """Arrivals [cycles] of a trace's times [ns] at so many cycles a nanosecond.

    Each time is rounded once, on the clock of the first request. Gaps are differences of two of
    them, so they are within one cycle of the exact ones, and no error adds up.

    Raises:
        ConfigError: It is too long for 64-bit times.
    """
    return scaled(times, scale, log.file)


def real_time(scenario: Scenario, speed: float) -> Fraction:
    """Cycles in which a nanosecond is played at so many times the real speed."""
    return scenario.hardware.clock_hz / (NS_PER_S * Fraction(str(speed)))  # 0.1 is a tenth


def scenario_replay(scenario: Scenario) -> Replay:
    """What a scenario replays, enough for a workload.

    Raises:
        ConfigError: As :func:`replay_of`, or there are fewer requests than a workload has tasks.
    """
    found = replay_of(scenario)
    assert scenario.trace is not None
    if len(found.times) < scenario.num_tasks:
        raise ConfigError(
            f"{as_given(scenario.trace.file)!r} has {len(found.times)} requests, but num_tasks of "
            f"scenario {scenario.name!r} is {scenario.num_tasks}"
        )
    return found


def trace_cycles(scenario: Scenario, times: IntArray, window_cycles: int) -> IntArray:
    """Arrival of every request of a scenario's trace, counted from the first one.

    Args:
        scenario: Says how fast it is played.
        times: Of its requests [ns], increasing from 0.
        window_cycles: Time in which ``num_tasks`` requests arrive on average.

    Returns:
        int64 (num_requests,) [cycles], increasing, the first 0.

    Raises:
        ConfigError: It has no mean rate to bring to that of the window, or is too long for 64-bit
            times.
    """
    assert scenario.trace is not None
    if scenario.trace_speed is not None:
        scale = real_time(scenario, scenario.trace_speed)
    elif times[-1] == 0:
        raise ConfigError(
            f"{as_given(scenario.trace.file)!r} has no mean rate to bring to num_tasks per "
            "window_ms, since all its requests arrive at one instant: give trace_speed in scenario "
            f"{scenario.name!r}"
        )
    else:  # the trace's mean gap becomes the window's share of one task
        gaps, span = len(times) - 1, int(times[-1])
        scale = Fraction(window_cycles * gaps, scenario.num_tasks * span)
    return replayed_cycles(times, scale, scenario.trace)


def trace_notes(scenario: Scenario) -> list[str]:
    """What of a scenario's traces is not replayed, a line each.

    Raises:
        ConfigError: As :func:`replay_of`.
    """
    found = [] if scenario.trace is None else list(replay_of(scenario).notes)
    for stream in scenario.streams:
        found += [] if stream.trace is None else replay_of(scenario, stream).notes
    return list(dict.fromkeys(found))


def _passed_over(requests: Requests, log: TraceLog) -> list[str]:
    names = _shown(requests.passed_over)
    return [f"{log.file}: columns passed over: {names}"] if names else []


def _beyond(
    asked: IntArray, scenario: Scenario, networks: Sequence[str], log: TraceLog
) -> list[str]:
    """What to say of lengths that no network here has."""
    models = [scenario.length_model(name) for name in scenario.networks]
    longest = np.array([0 if model is None else model.input_lengths[-1] for model in models])
    lengths = asked[:, ASKED_INPUT]
    here = [scenario.networks.index(name) for name in networks]
    if not (asked[:, [ASKED_INPUT, ASKED_OUTPUT]] > 0).any():
        return []
    if not longest[here].any():
        return [f"{log.file}: lengths passed over: no network here has a sequence"]
    network = asked[:, ASKED_NETWORK]
    most = np.where(network >= 0, longest[network], longest[here].max())
    far = int(((lengths > most) & (most > 0)).sum())
    if not far:
        return []
    return [
        _told(
            log,
            far,
            len(asked),
            f"played with the longest of input_lengths, {longest.max()} at most: theirs is longer",
        )
    ]


def _told(log: TraceLog, some: int, count: int, what: str) -> str:
    return f"{log.file}: {some} of {count} requests ({some / count:.2%}) {what}"


def _shown(names: Sequence[str]) -> str:
    """Names of columns in one line, whatever is in them: the first of very many."""
    shown = [name if name.isprintable() else ascii(name) for name in names[:_MOST_NAMED]]
    shown = [textwrap.shorten(name, _LONGEST_NAME, placeholder="…") or "…" for name in shown]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
