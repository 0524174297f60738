"""When did the requests of a recorded trace arrive, and at which cycles do they arrive here?

A trace is a text file with one row (or JSON line) a request
(`prema_gym.workloads.trace_formats`). Its times are whole nanoseconds; here they become cycles of a
scenario's window.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.files import as_given
from prema_gym.workloads.fields import MAX_CYCLES, IntArray
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.trace_formats import NS_PER_S, Trace, csv_trace, jsonl_trace

_MOST_NAMED = 40
_LONGEST_NAME = 60


def trace_times(scenario: Scenario) -> list[int]:
    """Times of a scenario's trace since its first request [ns]; one 0 where none is replayed.

    Raises:
        ConfigError: The file cannot be read or is no trace, or has fewer requests than a workload
            has tasks.
    """
    if scenario.arrival != "trace":
        return [0]
    assert scenario.trace is not None  # `Scenario` sees to it
    times = read_trace(scenario.trace)
    if len(times) < scenario.num_tasks:
        raise ConfigError(
            f"{as_given(scenario.trace)!r} has {len(times)} requests, but num_tasks of scenario "
            f"{scenario.name!r} is {scenario.num_tasks}"
        )
    return times


def trace_cycles(scenario: Scenario, times: list[int], window_cycles: int) -> IntArray:
    """Arrival of every request of a scenario's trace, counted from the first one.

    Each time is rounded to its nearest cycle (halves up) once, on this one clock. A workload's
    arrivals are differences of two of them, so they are within one cycle of the exact ones, and
    no error adds up.

    Args:
        scenario: Says how fast it is played.
        times: What :func:`trace_times` gave.
        window_cycles: Time in which ``num_tasks`` requests arrive on average.

    Returns:
        int64 (num_requests,) [cycles], increasing, the first 0; one 0 for a scenario that replays
        no trace.

    Raises:
        ConfigError: It has no mean rate to bring to that of the window, or is too long for 64-bit
            times.
    """
    if scenario.arrival != "trace":
        return np.zeros(1, dtype=np.int64)
    scale = _cycles_per_ns(scenario, times, window_cycles)
    if times[-1] * scale > MAX_CYCLES:
        raise ConfigError(
            f"{as_given(str(scenario.trace))!r} takes more than {MAX_CYCLES} cycles as scenario "
            f"{scenario.name!r} plays it: raise trace_speed, shorten the window or cut the trace"
        )
    over, under = scale.numerator, scale.denominator
    cycles = [(2 * time * over + under) // (2 * under) for time in times]
    return np.array(cycles, dtype=np.int64)


def _cycles_per_ns(scenario: Scenario, times: list[int], window_cycles: int) -> Fraction:
    """Cycles in which a nanosecond of the trace is played."""
    if scenario.trace_speed is not None:
        speed = Fraction(str(scenario.trace_speed))  # 0.1 is meant as a tenth
        return scenario.hardware.clock_hz / (NS_PER_S * speed)
    if times[-1] == 0:
        raise ConfigError(
            f"{as_given(str(scenario.trace))!r} has no mean rate to bring to num_tasks per "
            f"window_ms, since all its requests arrive at one instant: give trace_speed in "
            f"scenario {scenario.name!r}"
        )
    # The trace's mean gap becomes the window's share of one task.
    return Fraction(
        window_cycles * (len(times) - 1),
        scenario.num_tasks * times[-1],
    )


def read_trace(path: str | os.PathLike[str]) -> list[int]:
    """Read when the requests of a trace arrived.

    Formats, by the file's ending and the columns that its first row names:

    - ``.csv`` with ``arrival_ms`` or ``arrival_s``: ours.
    - ``.csv`` with ``TIMESTAMP``: Azure LLM inference, a date and time. One without a zone counts
      as UTC.
    - ``.csv`` with ``end_timestamp`` and ``duration`` [s]: Azure Functions 2021, whose requests
      arrived at their end − duration.
    - ``.jsonl`` with ``arrival_ms`` or ``arrival_s`` in each object: ours.
    - ``.jsonl`` with ``timestamp`` [s], ``chat_id``, ``parent_chat_id`` and ``turn``: Bailian.
    - ``.jsonl`` with ``timestamp`` [ms] and ``hash_ids``, without those: Mooncake.

    Args:
        path: The file, UTF-8 text. Other columns (:func:`trace_notes` names them) and blank lines
            are passed over.

    Returns:
        Times since the first arrival [ns], increasing whatever the order of the rows; at least one.

    Raises:
        ConfigError: The file cannot be read, holds no requests, or a row is wrong; the message
            names the file and the line.
    """
    times = sorted(_read(os.fspath(path)).times)
    return [time - times[0] for time in times]


def trace_notes(path: str | os.PathLike[str]) -> list[str]:
    """What of a trace's file is not replayed: a line with the columns that are passed over, if any.

    Raises:
        ConfigError: As :func:`read_trace`.
    """
    where = os.fspath(path)
    names = _shown(_read(where).passed_over)
    return [f"{as_given(where)}: columns passed over: {names}"] if names else []


def _shown(names: Sequence[str]) -> str:
    """Names of columns in one line, whatever is in them: the first of very many."""
    shown = [name if name.isprintable() else ascii(name) for name in names[:_MOST_NAMED]]
    shown = [textwrap.shorten(name, _LONGEST_NAME, placeholder="…") or "…" for name in shown]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _read(where: str) -> Trace:
    """What a file with at least one request says."""
    readers = {".csv": csv_trace, ".jsonl": jsonl_trace}
    read = readers.get(Path(where).suffix.lower())
    if read is None:
        raise ConfigError(
            f"the name of a trace must end in {' or '.join(readers)}, got {as_given(where)!r}"
        )
    found = read(as_given(where), _read_text(where))
    if not found.times:
        raise ConfigError(f"{as_given(where)!r} has no requests")
    return found


def _read_text(path: str) -> str:
    """A file's text with its line ends, less a byte order mark."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {as_given(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{as_given(path)!r} is not UTF-8 text") from error


def file_state(path: str) -> tuple[int, ...]:
    """What tells a changed file from an unchanged one; empty where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
