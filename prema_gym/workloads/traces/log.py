"""Which file of recorded requests does a scenario replay, and how is it to be read?

``trace = "requests.csv"``, or a table ``[trace]`` that also says which columns mean what.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from prema_gym.checks import (
    Constraint,
    check_fields,
    declared,
    one_of,
    optional,
    read_record,
    stated,
    table_of,
    text,
    truth,
    whole,
)
from prema_gym.errors import ConfigError
from prema_gym.workloads.scenario_rules import FILE, NETWORK
from prema_gym.workloads.traces.formats import FIELDS, Column, column_of

UNKNOWN = ("refuse", "skip")


@dataclass(frozen=True, kw_only=True)
class TraceColumns:
    """Which column says what, where the file's format does not: ``"NAME"`` or ``"NAME [UNIT]"``.

    Raises:
        ConfigError: On construction, a time without a unit.
    """

    arrival: str | None = declared(None, optional(text()), help=FIELDS["arrival"].meaning)
    network: str | None = declared(None, optional(text()), help=FIELDS["network"].meaning)
    batch: str | None = declared(None, optional(text()), help=FIELDS["batch"].meaning)
    priority: str | None = declared(None, optional(text()), help=FIELDS["priority"].meaning)
    deadline: str | None = declared(None, optional(text()), help=FIELDS["deadline"].meaning)
    slo: str | None = declared(None, optional(text()), help=FIELDS["slo"].meaning)
    input_length: str | None = declared(None, optional(text()), help=FIELDS["input_length"].meaning)
    output_length: str | None = declared(
        None, optional(text()), help=FIELDS["output_length"].meaning
    )
    end: str | None = declared(None, optional(text()), help=FIELDS["end"].meaning)
    duration: str | None = declared(None, optional(text()), help=FIELDS["duration"].meaning)

    def __post_init__(self) -> None:
        check_fields(self)
        given = self.columns
        if {"deadline", "slo"} <= set(given):
            raise ConfigError("deadline and slo say the same thing: give only one of them")
        if ("end" in given) != ("duration" in given):
            raise ConfigError("end and duration need each other")

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that are given, by field."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: column_of(name, given) for name, given in named.items() if given is not None}


def _columns(given: object) -> TraceColumns:
    if isinstance(given, TraceColumns):
        return given
    return read_record(TraceColumns, given, "[trace.columns]")


class Names(Mapping[str, str]):
    """Networks by the name that a file calls them; hashable, as the rest of a scenario is.

    Args:
        given: The same as a table.
    """

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._table = dict(given or {})

    def __getitem__(self, name: str) -> str:
        return self._table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __hash__(self) -> int:
        return hash(frozenset(self._table.items()))

    def __repr__(self) -> str:
        return repr(self._table)


_TABLE = table_of(NETWORK)


@dataclass(frozen=True, kw_only=True)
class TraceLog:
    """One recorded trace; each field's ``help`` says what it is.

    Raises:
        ConfigError: On construction, a value that is not allowed.
    """

    file: str = field(metadata=stated(FILE, help="its file"))
    columns: TraceColumns = declared(
        factory=TraceColumns,
        constraint=Constraint("a table of column names", _columns),
        help="which column says what, see below; left out: as the file's format says",
    )
    networks: Names = declared(
        factory=Names,
        constraint=Constraint(_TABLE.allowed, lambda given: Names(_TABLE.accept(given))),
        help="networks by the name that the file calls them",
    )
    unknown: str = declared(
        "refuse",
        one_of("rule", UNKNOWN),
        help='requests whose network or batch size is not the scenario\'s: `"refuse"` the file, or '
        '`"skip"` them',
    )
    sort: bool = declared(
        False, truth(), help="whether rows may stand in any order; they are sorted by arrival"
    )
    seed: int = declared(
        0, whole(0, 2**63 - 1), help="places requests within what a file only counts"
    )

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def maps_networks(self) -> bool:
        """Whether it says which network a public format's names stand for."""
        return bool(self.networks) or self.columns.network is not None


def _log(given: object) -> TraceLog:
    if isinstance(given, TraceLog):
        return given
    if isinstance(given, Mapping):
        made: TraceLog = read_record(TraceLog, given, "[trace]")
        return made
    return TraceLog(file=FILE.accept(given))


TRACE: Any = Constraint("the name of a file or a table [trace]", _log)


def joined(folder: str | os.PathLike[str], given: object) -> object:
    """What a scenario file says of a trace, its files taken from the folder of that file."""
    from prema_gym import networks as registry

    if isinstance(given, str):
        return os.path.join(folder, given)
    if not isinstance(given, Mapping):
        return given
    found = dict(given)
    if isinstance(found.get("file"), str):
        found["file"] = os.path.join(folder, found["file"])
    if isinstance(found.get("networks"), Mapping):
        found["networks"] = {
            name: os.path.join(folder, network) if registry.is_file(network) else network
            for name, network in found["networks"].items()
        }
    return found
