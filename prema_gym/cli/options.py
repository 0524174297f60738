"""What do several commands take, and how is it read? Scenarios, machines, workloads, formats."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.fields import read_pairs
from prema_gym.cli.printing import Format
from prema_gym.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from prema_gym.hardware.config import NPUConfig
    from prema_gym.workloads import Scenario, WorkloadBatch

FormatOption = Annotated[Format, typer.Option(help="How to print the result.")]
ScenarioOption = Annotated[
    str, typer.Option(help="A registered scenario (see `prema-gym scenarios`) or FILE.toml.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set one key of the scenario (load=0.7, hardware.clock_hz=1e9, "
        "streams.NAME.slo_ms=20); may be given repeatedly.",
        show_default=False,
    ),
]
FromOption = Annotated[
    int | None,
    typer.Option(
        "--from",
        help="Replay the trace from this request on, counted from 0 in order of arrival.",
        show_default=False,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", help="Replay so many requests of the trace.", show_default=False),
]
SpeedOption = Annotated[
    float | None,
    typer.Option(
        "--speed", help="Replay the trace in real time, so many times as fast.", show_default=False
    ),
]
HardwareOption = Annotated[
    str | None,
    typer.Option(help="A machine (see `prema-gym hardware`) or FILE.toml; default: the paper's."),
]
OnHardwareOption = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        help="A machine (see `prema-gym hardware`) or FILE.toml, in place of the scenario's.",
        show_default=False,
    ),
]


def read_scenario(
    name_or_path: str,
    set: Sequence[str] | None = None,
    *,
    hardware: str | None = None,
    requests: int | None = None,
    stream: bool = False,
    replay: tuple[int | None, int | None, float | None] = (None, None, None),
    tell: bool = True,
) -> Scenario:
    """Look up a scenario, and say what the files of its networks and of its trace left out.

    Args:
        name_or_path: A registered name, or FILE.toml.
        set: KEY=VALUE each, set in it.
        hardware: A machine or a file, in place of the scenario's own; None: that.
        requests: Of a long run, in place of its own.
        stream: It is played as long runs whatever it says.
        replay: Where its traces are replayed from, how many requests of them, and how many times
            as fast; None: as it says.
        tell: Say what was left out; False for lists, which only name scenarios.
    """
    from prema_gym.workloads import scenarios
    from prema_gym.workloads.changes import changed, replaying
    from prema_gym.workloads.traces.replay import trace_notes

    scenario = scenarios.get(name_or_path, hardware)
    if set:
        scenario = changed(scenario, read_pairs("--set", set))
    scenario = replaying(scenario, *replay)
    if requests is not None or (stream and not scenario.is_stream):
        count = scenario.num_requests if requests is None else requests
        scenario = changed(scenario, {"requests": count})
    if tell:
        print_notes(scenario.networks)
        for note in trace_notes(scenario):
            print(note, file=sys.stderr)
    return scenario


def scenario_words(
    name_or_path: str,
    set: Sequence[str] | None,
    hardware: str | None,
    replay: tuple[int | None, int | None, float | None],
) -> list[str]:
    """The options that give :func:`read_scenario` the same once more."""
    words = ["--scenario", name_or_path]
    words += [] if hardware is None else ["--hardware", hardware]
    words += [word for pair in set or () for word in ("--set", pair)]
    for option, value in zip(("--from", "--limit", "--speed"), replay, strict=True):
        words += [] if value is None else [option, str(value)]
    return words


def read_hardware(name_or_path: str | None) -> NPUConfig:
    """Look up a machine by its name or file; the paper's if none is given."""
    from prema_gym.hardware import NPUConfig, machines

    return NPUConfig() if name_or_path is None else machines.read(name_or_path)


def read_workloads(files: Sequence[Path] | None, scenario: Scenario) -> WorkloadBatch | None:
    """Read workload files for a scenario; None if none is given."""
    from prema_gym.workloads import WorkloadBatch, compile_scenario, load_workload

    if not files:
        return None
    catalog = compile_scenario(scenario)
    return WorkloadBatch.of([load_workload(file, catalog) for file in files])


def read_batches(given: str) -> tuple[int, ...]:
    """Read batch sizes, separated by commas.

    Raises:
        ConfigError: One is not a whole number from 1.
    """
    words = [word.strip() for word in given.split(",")]
    if not all(word.isdecimal() and int(word) >= 1 for word in words):
        raise ConfigError(f"--batch must be whole numbers from 1, with commas, got {given!r}")
    return tuple(map(int, words))


def print_notes(networks: Sequence[str]) -> None:
    """Say what was skipped or assumed in files of networks, each file once."""
    from prema_gym.networks import notes

    for name in dict.fromkeys(networks):
        for note in notes(name):
            print(note, file=sys.stderr)


def read_kinds(text: str, known: Sequence[str]) -> list[str]:
    """Read what results are grouped by, separated by commas.

    Raises:
        UnknownNameError: Something that they cannot be grouped by.
    """
    kinds = [part.strip() for part in text.split(",") if part.strip()]
    for kind in kinds:
        if kind not in known:
            raise UnknownNameError("group", kind, known, "--by")
    return kinds
