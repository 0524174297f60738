"""What may a scenario's fields hold, and which must fit each other?

The rules that need more than one number: names that stand for networks, files and machines, and
checks of several fields together. `prema_gym.workloads.scenario` declares the fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from prema_gym import networks as registry
from prema_gym.checks import Constraint
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.files import as_given, remember
from prema_gym.hardware import machines
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads.lengths import LengthModel

if TYPE_CHECKING:
    from prema_gym.workloads.scenario import Scenario

# Far above any experiment, it keeps every time within 64-bit integers: tasks times window cycles
# (3.5 hours at 700 MHz) is the largest product.
_MOST_WINDOW_CYCLES = 9 * 10**12

SHARES = {
    "network_shares": "networks",
    "batch_shares": "batch_sizes",
    "priority_shares": "priorities",
}
"""Fields that say how often each value of another field is drawn."""

ONE_WAY = (
    ("window_ms", "load", "rate_per_s"),
    ("load", "rate_per_s", "trace_speed"),
    ("sla_factor", "slo_ms"),
)
"""Fields that say the same thing in different ways: how often tasks arrive, when they are due."""


NO_TRACE = {"trace": None, "trace_speed": None, "trace_from": None, "trace_limit": None}
"""What a scenario says whose arrivals are drawn."""


def _network(name: object) -> str:
    registry.get(name)  # type: ignore[arg-type]  # says itself what is wrong with it
    return registry.full_name(str(name))


def _file(path: object) -> str:
    name = os.fspath(path)  # type: ignore[call-overload]
    if not isinstance(name, str) or not name or "\0" in name:  # which no system takes in a name
        raise ValueError
    return remember(os.path.realpath(name), name)


def _lengths(entry: object) -> LengthModel:
    if isinstance(entry, Mapping):
        return LengthModel.from_dict(entry)
    if not isinstance(entry, LengthModel):
        raise TypeError
    return entry


def _machine(config: object) -> NPUConfig:
    if isinstance(config, str):
        return machines.get(config)
    if isinstance(config, Mapping):
        return NPUConfig.from_dict(config)
    if not isinstance(config, NPUConfig):
        raise TypeError
    return config


NETWORK = Constraint("the name of a network or of its file", _network)
FILE = Constraint("the name of a file", _file)
LENGTHS = Constraint("a LengthModel or a table of its fields", _lengths)
MACHINE = Constraint("a machine's name, a table of fields or an NPUConfig", _machine)


def take_from_streams(scenario: Scenario) -> None:
    """Where every stream says what it draws, the scenario has just these networks and batches.

    Raises:
        ConfigError: Two streams have one name, or one draws what the scenario does not have.
    """
    streams = scenario.streams
    if len({stream.name for stream in streams}) < len(streams):
        raise ConfigError("streams gives one name twice")
    defaults = {one.name: one.default for one in fields(scenario)}
    for name in ("networks", "batch_sizes", "priorities"):
        of_streams = [getattr(stream, name) for stream in streams]
        known = getattr(scenario, name)
        if streams and None not in of_streams and known == defaults[name]:
            known = tuple(dict.fromkeys(value for given in of_streams for value in given))
            object.__setattr__(scenario, name, known)
        for stream, given in zip(streams, of_streams, strict=True):
            if name != "priorities" and not set(given or ()) <= set(known):
                raise ConfigError(
                    f"stream {stream.name!r} draws {name} {given}, the scenario has {known}"
                )


def check_shares(scenario: Scenario) -> None:
    """As many shares as there is to choose from."""
    for name, of in SHARES.items():
        shares, choices = getattr(scenario, name), getattr(scenario, of)
        if shares is not None and len(shares) != len(choices):
            raise ConfigError(
                f"{name} must be {len(choices)} whole numbers, one for each of {of}, got {shares}"
            )


def check_trace(scenario: Scenario) -> None:
    """A file, and perhaps a speed, where arrivals are replayed, and nowhere else."""
    if scenario.arrival != "trace":
        for name in ("trace", "trace_speed"):
            if getattr(scenario, name) is not None:
                raise ConfigError(
                    f"{name} is for arrival 'trace' only, not {scenario.arrival!r}: leave it out, "
                    "or change the arrival"
                )
    elif scenario.trace is None:
        raise ConfigError("arrival 'trace' needs the name of a file as trace, got None")
    check_stretch(scenario.trace, scenario.trace_from, scenario.trace_limit)
    places = [(scenario.trace, scenario.networks)]
    places += [(one.trace, one.networks or scenario.networks) for one in scenario.streams]
    for log, networks in places:
        for name, network in () if log is None else log.networks.items():
            if network not in networks:
                raise UnknownNameError("network", network, networks, f"[trace.networks] {name!r}")


def check_stretch(log: object, start: int | None, limit: int | None) -> None:
    """A stretch of a trace where there is one."""
    if log is None and (start, limit) != (None, None):
        raise ConfigError("trace_from and trace_limit are for arrival 'trace' only: leave them out")


def check_lengths(scenario: Scenario) -> None:
    """One model at most for a network; lengths with a sequence, a ratio with output steps."""
    names = scenario.networks
    for model in scenario.lengths:
        if model.network not in names:
            raise UnknownNameError(
                "network", as_given(model.network), map(as_given, names), "lengths"
            )
    if len({model.network for model in scenario.lengths}) < len(scenario.lengths):
        raise ConfigError("lengths gives one network twice")
    for name in names:
        network, model_or_none = registry.get(name), scenario.length_model(name)
        if network.is_recurrent != (model_or_none is not None):
            needs = "give its lengths" if network.is_recurrent else "no lengths may be given"
            raise ConfigError(f"{as_given(name)!r} has {network.input_unit} inputs: {needs}")
        has_ratio = model_or_none is not None and model_or_none.ratio_median is not None
        if network.has_output_steps != has_ratio:
            needs = "needs a" if network.has_output_steps else "has no output steps, so no"
            raise ConfigError(f"{as_given(name)!r} {needs} ratio_median in its lengths")


def check_one_way(scenario: Scenario) -> None:
    """One way to say how often tasks arrive, and one to say when they are due."""
    defaults = {one.name: one.default for one in fields(scenario)}
    for names in ONE_WAY:
        given = [name for name in names if getattr(scenario, name) != defaults[name]]
        if len(given) > 1:
            raise ConfigError(
                f"{' and '.join(given)} say the same thing: give only one of {', '.join(names)}"
            )


def check_closed(scenario: Scenario) -> None:
    """A load or rate where there is a stream whose requests come at one."""
    for name in ("load", "rate_per_s"):
        if scenario.is_closed and getattr(scenario, name) is not None:
            raise ConfigError(
                f"{name} says how often the requests of open streams come, and every stream here "
                "is a closed loop, whose clients wait for their answers: leave it out, and change "
                f"clients or think_ms (streams.{scenario.streams[0].name}.clients)"
            )


def check_window(scenario: Scenario, window_cycles: int) -> None:
    """An arrival window that the machine's clock can count."""
    if window_cycles > _MOST_WINDOW_CYCLES:
        raise ConfigError(
            f"window_ms must be at most {_MOST_WINDOW_CYCLES} cycles, got "
            f"{scenario.hardware.milliseconds(window_cycles)} ({window_cycles} cycles)"
        )


def check_times(scenario: Scenario) -> None:
    """Times that fit the machine's clock."""
    if scenario.window_cycles is not None:
        check_window(scenario, scenario.window_cycles)
    if scenario.quantum_cycles < 1:
        raise ConfigError(
            f"quantum_ms must be at least one cycle at {scenario.hardware.clock_hz} Hz, got "
            f"{scenario.quantum_ms}"
        )
