"""How is one key of a scenario changed, from a command line or for a point of a sweep?

A key is a field's name, or names joined by points: ``load``, ``hardware.clock_hz``,
``streams.camera.slo_ms`` (a stream by its name).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Any

from prema_gym.errors import ConfigError, UnknownNameError, located
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenario_rules import ONE_WAY
from prema_gym.workloads.streams import Stream

_STREAM_WAYS = (("rate_per_s", "load", "share"), ("sla_factor", "slo_ms"))


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
    return Scenario.from_dict(data, where=f"scenario {scenario.name!r}, changed")


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
