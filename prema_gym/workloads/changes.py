"""How is one key of a scenario changed, from a command line or for a point of a sweep?

A key is a field's name, or names joined by points: ``load``, ``hardware.clock_hz``,
``streams.camera.slo_ms`` (a stream by its name).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

from prema_gym.errors import ConfigError, UnknownNameError, located
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenario_rules import ONE_WAY
from prema_gym.workloads.streams import Stream

_STREAM_WAYS = (("rate_per_s", "load", "share", "trace_speed"), ("sla_factor", "slo_ms"))


def changed(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    """The same scenario with some keys set anew; what said the same in another way gives way.

    Args:
        scenario: What is changed.
        values: Values as a file would give them, by key.

    Raises:
        UnknownNameError: A key is none.
        ConfigError: A value is not allowed.
    """
    data = deepcopy(scenario.to_dict())
    for key, value in values.items():
        with located(f"--set {key}"):
            *path, name = key.split(".")
            place, ways = _place(data, path)
            for names in ways:
                if name in names:
                    for other in names:
                        place.pop(other, None)
            place[name] = value
    return Scenario.from_dict(data, where=f"scenario {scenario.name!r}")


def replaying(
    scenario: Scenario, start: int | None, limit: int | None, speed: float | None
) -> Scenario:
    """The same scenario, replaying a stretch of its traces, or at another speed.

    Args:
        scenario: What is changed.
        start: Requests before the first that is replayed; None: as it is.
        limit: Requests that are replayed; None: as it is.
        speed: Times as fast as in real time; None: as it is.

    Raises:
        ConfigError: Something is given, and no trace is replayed.
    """
    named = {"trace_from": start, "trace_limit": limit, "trace_speed": speed}
    given = {key: value for key, value in named.items() if value is not None}
    if not given:
        return scenario
    streams = [stream.name for stream in scenario.streams if stream.trace is not None]
    if scenario.trace is None and not streams:
        options = ", ".join(f"--{name.removeprefix('trace_')}" for name in given)
        raise ConfigError(
            f"{options} is for recorded traces, and scenario {scenario.name!r} has none"
        )
    if "trace_speed" in given:  # in real time: no load of all streams stretches it
        _check_own_rates(scenario)
        scenario = replace(scenario, load=None, rate_per_s=None)
    places = [f"streams.{name}." for name in streams]
    places += [] if scenario.trace is None else [""]
    return changed(scenario, {f"{at}{key}": value for at in places for key, value in given.items()})


def _check_own_rates(scenario: Scenario) -> None:
    """Refuse real time for a log beside streams that have a share of all requests only."""
    total = next((name for name in ("load", "rate_per_s") if getattr(scenario, name)), None)
    instead = f", in place of {total} = {getattr(scenario, total):g}" if total else ""
    for stream in scenario.streams:
        if stream.trace is None and stream.share is not None:
            raise ConfigError(
                f"--speed replays the trace in real time{instead}, and stream {stream.name!r} has "
                "a share of all requests and no rate of its own: give it one (--set "
                f"streams.{stream.name}.rate_per_s=NUMBER), or leave --speed out"
            )


def _place(
    data: dict[str, Any], path: list[str]
) -> tuple[dict[str, Any], tuple[tuple[str, ...], ...]]:
    """The table that a path leads to, and the groups of its keys of which only one may be given."""
    if not path:
        return data, ONE_WAY
    if path == ["hardware"]:
        hardware: dict[str, Any] = data.setdefault("hardware", {})
        return hardware, ()
    if path[0] == "streams" and len(path) == 2:
        streams: list[dict[str, Any]] = data.get("streams", [])
        names = [str(stream["name"]) for stream in streams]
        if path[1] not in names:
            raise UnknownNameError("stream", path[1], names)
        return streams[names.index(path[1])], _STREAM_WAYS
    known = [one.name for one in fields(Scenario)]
    keys = ", ".join(one.name for one in fields(Stream))
    if path[0] not in known:
        raise UnknownNameError("key", path[0], known)
    raise ConfigError(f"a key inside another is hardware.KEY or streams.NAME.KEY (KEY: {keys})")
