"""What may a recorded trace say of a request, and in which files? Two tables: fields, formats.

They drive reading, and the tables of docs/traffic.md. A format follows from the file's ending and
its names (of columns, of an object's members); what is none of the formats is refused.
Sources: the README of each data set.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prema_gym.errors import ConfigError
from prema_gym.workloads.traces.values import DATE, UNITS


@dataclass(frozen=True)
class TraceField:
    """Something that a trace may say of a request.

    Attributes:
        meaning: What it is.
        is_time: Whether it has a unit of time.
        most: Largest whole number, for one that is a number.
    """

    meaning: str
    is_time: bool = False
    most: int | None = None


FIELDS: Mapping[str, TraceField] = {
    "arrival": TraceField("when it arrived, on any clock that shows 0 or more", is_time=True),
    "network": TraceField("its network, by a name of the scenario's or of `[trace.networks]`"),
    "batch": TraceField("its batch size, one of the scenario's", most=65_536),
    "priority": TraceField("its priority, any whole number from 1", most=1_000_000),
    "deadline": TraceField("when it is due, on the clock of the arrivals", is_time=True),
    "slo": TraceField("when it is due after its arrival", is_time=True),
    "input_length": TraceField(
        "its input steps or tokens; the nearest of the network's `input_lengths` is played",
        most=10**9,
    ),
    "output_length": TraceField(
        "its output steps or tokens, played as they are and unknown to the scheduler", most=10**6
    ),
    "end": TraceField("when it ended; it arrived at end − duration", is_time=True),
    "duration": TraceField("how long it took", is_time=True),
}
"""What a file may say, by the name in ``[trace.columns]``."""

_MAPPED = re.compile(r"(?P<name>.*?)(?:\s*\[(?P<unit>\w+)\])?")


@dataclass(frozen=True)
class Column:
    """Where a field stands in a file.

    Attributes:
        name: Of the column.
        unit: Of a time; empty for what is none.
        whole: Name and unit as a person wrote them; a column of just this name comes first.
    """

    name: str
    unit: str = ""
    whole: str = ""

    def among(self, names: Collection[str]) -> Column:
        """The same among the columns of a file, one of which may have the unit in its name."""
        return Column(self.whole, self.unit) if self.whole in names else self


def column_of(name: str, given: str) -> Column:
    """The column that a person names for a field: ``start``, ``start_ms`` or ``start [ms]``.

    The last may be the column ``start``, its unit said here, or one of that whole name.

    Raises:
        ConfigError: It is a time, and nothing says its unit.
    """
    match = _MAPPED.fullmatch(given.strip())
    assert match is not None  # it takes any text without line ends
    column, unit = match["name"], match["unit"] or ""
    if not FIELDS[name].is_time:
        return Column(given.strip())
    if not unit and column.rpartition("_")[2] in UNITS:
        unit = column.rpartition("_")[2]
    if unit not in (*UNITS, DATE):
        known = ", ".join((*UNITS, DATE))
        raise ConfigError(
            f"{name} = {given!r} needs a unit: write {column + ' [ms]'!r}, or another of {known}"
        )
    return Column(column, unit, whole=given.strip())


ROWS, COUNTS, WINDOWS = "rows", "counts", "windows"
"""What a line of a file is: a request, counts per minute, the statistics of a stretch of time."""


@dataclass(frozen=True, kw_only=True)
class TraceFormat:
    """One kind of file.

    Attributes:
        name: What messages call it.
        endings: Of its files' names.
        columns: Where each field stands; those that have ``needs`` are there, others may be.
        needs: Names that tell this format.
        never: Names that speak against it.
        lines: What a line is.
        is_sorted: Whether its lines are in order of arrival.
        what: What it is, with its source.
    """

    name: str
    endings: Sequence[str]
    columns: Mapping[str, Column] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    lines: str = ROWS
    is_sorted: bool = True
    what: str

    def fits(self, ending: str, names: Collection[str]) -> bool:
        """Whether a file is of this format, by its ending and the names in it."""
        fine = ending in self.endings and self.never.isdisjoint(names)
        if self.lines == WINDOWS:  # without a header: the first line is a window
            return fine and len(names) == 6 and _is_window(*names)
        if self.lines == COUNTS and not any(map(is_minute, names)):
            return False
        return fine and self.needs <= set(names)


def is_minute(name: str) -> bool:
    """Whether a column is a minute of the day: ``1`` to ``1440``."""
    return name in _MINUTES


_MINUTES = frozenset(map(str, range(1, 1441)))


def _is_window(start: str, rate: str, cv: str, pattern: str, *of_gaps: str) -> bool:
    return start.replace(".", "", 1).isdecimal() and pattern in ("Gamma", "Weibull", "")


_TABLES = (".csv", ".parquet")
_OF_CHATS = frozenset({"chat_id", "parent_chat_id", "turn"})
_TOKENS = {"input_length": Column("input_length"), "output_length": Column("output_length")}

FORMATS = (
    TraceFormat(
        name="azure-llm",
        endings=_TABLES,
        columns={
            "arrival": Column("TIMESTAMP", DATE),
            "input_length": Column("ContextTokens"),
            "output_length": Column("GeneratedTokens"),
        },
        needs=frozenset({"TIMESTAMP"}),
        what="Azure LLM inference 2023 and 2024 (Patel et al., ISCA 2024); as UTC without a zone",
    ),
    TraceFormat(
        name="azure-functions-2021",
        endings=_TABLES,
        columns={
            "end": Column("end_timestamp", "s"),
            "duration": Column("duration", "s"),
            "network": Column("func"),
        },
        needs=frozenset({"end_timestamp", "duration"}),
        is_sorted=False,
        what="Azure Functions 2021 (Zhang et al., SOSP 2021); arrived at end − duration",
    ),
    TraceFormat(
        name="azure-functions-2019",
        endings=(".csv",),
        columns={"network": Column("HashFunction")},
        needs=frozenset({"HashFunction"}),
        lines=COUNTS,
        is_sorted=False,
        what="Azure Functions 2019 (Shahrad et al., ATC 2020): calls of each minute, spread over "
        "it evenly at random by `seed`",
    ),
    TraceFormat(
        name="burstgpt",
        endings=_TABLES,
        columns={
            "arrival": Column("Timestamp", "s"),
            "network": Column("Model"),
            "input_length": Column("Request tokens"),
            "output_length": Column("Response tokens"),
        },
        needs=frozenset({"Timestamp", "Request tokens", "Response tokens"}),
        what="BurstGPT (Wang et al., arXiv 2401.17644)",
    ),
    TraceFormat(
        name="servegen",
        endings=(".csv",),
        lines=WINDOWS,
        is_sorted=False,
        what="ServeGen (Xiang et al., arXiv 2505.09999), no header: start of a window [s], rate, "
        "CV, pattern, shape, scale; as many requests as the rate says, gaps of that pattern and "
        "shape, drawn by `seed`",
    ),
    TraceFormat(
        name="qwen-bailian",
        endings=(".jsonl",),
        columns={"arrival": Column("timestamp", "s"), "network": Column("type"), **_TOKENS},
        needs=_OF_CHATS | {"timestamp"},
        what="Qwen-Bailian (Wang et al., ATC 2025)",
    ),
    TraceFormat(
        name="mooncake",
        endings=(".jsonl",),
        columns={"arrival": Column("timestamp", "ms"), **_TOKENS},
        needs=frozenset({"timestamp", "hash_ids"}),
        never=_OF_CHATS,
        what="Mooncake (Qin et al., FAST 2025)",
    ),
)
"""Public formats. Their names of models are not ours: a network is read with ``[trace.networks]``
only."""

PLAIN = "plain"
_OWN_ENDINGS = (".csv", ".jsonl", ".parquet")
_OWN = {
    **{f"{name}_{unit}": (name, unit) for name in ("arrival", "deadline", "slo") for unit in UNITS},
    "arrival_date": ("arrival", DATE),
    **{
        name: (name, "")
        for name in ("network", "batch", "priority", "input_length", "output_length")
    },
}


def find_format(
    ending: str,
    names: Sequence[str],
    mapped: Mapping[str, Column],
    *,
    with_networks: bool,
) -> TraceFormat:
    """The format of a file, and where the fields that are read stand.

    Args:
        ending: Of its name, with the point, in lower case.
        names: Of its columns, or of the members of its first object.
        mapped: What ``[trace.columns]`` says; it comes first.
        with_networks: Whether names of a public format's networks say something here.

    Raises:
        ValueError: It has none, or two, or a column twice; the message says what there is.
    """
    mapped = {name: column.among(names) for name, column in mapped.items()}
    for name, column in mapped.items():
        if column.name not in names:
            nor = f" and no {column.whole!r}" if column.whole not in ("", column.name) else ""
            raise ValueError(
                f"there is no column {column.name!r}{nor} for {name}, only {_short(names)}"
            )
    known = _known_format(ending, names, mapped)
    columns = {name: column for name, column in known.columns.items() if column.name in names}
    if known.name != PLAIN and not with_networks:
        columns.pop("network", None)
    columns |= mapped
    for given, other in (("arrival", "end"), ("arrival", "duration"), ("end", "arrival")):
        if given in mapped:
            columns.pop(other, None)
    for given, other in (("deadline", "slo"), ("slo", "deadline")):
        if given in mapped:
            columns.pop(other, None)
    if {"deadline", "slo"} <= set(columns):
        raise ValueError("gives both a deadline and an SLO of each request: one says it")
    for column in columns.values():
        if list(names).count(column.name) > 1:
            raise ValueError(f"needs exactly one column {column.name}, got {_short(names)}")
    return replace(known, columns=columns)


def _known_format(ending: str, names: Sequence[str], mapped: Mapping[str, Column]) -> TraceFormat:
    """One's own format, by names that are ours or by ``[trace.columns]``, or a public one."""
    found = next((one for one in FORMATS if one.fits(ending, names)), None)
    own: dict[str, Column] = {}
    for column in names:
        name, unit = _OWN.get(column, ("", ""))
        if name in own and name not in mapped:
            raise ValueError(f"gives exactly one of {own[name].name} and {column}")
        if name:
            own[name] = Column(column, unit)
    if "arrival" in own and found is not None and "arrival" not in mapped:
        raise ValueError(
            f"gives exactly one of {own['arrival'].name} and the arrival of {found.name}"
        )
    if found is not None and "arrival" not in own:
        return found
    if not {"arrival", "end"}.isdisjoint([*own, *mapped]):
        return TraceFormat(name=PLAIN, endings=_OWN_ENDINGS, columns=own, what="one's own")
    raise ValueError(_not_known(ending, names))


def _not_known(ending: str, names: Sequence[str]) -> str:
    if ending == ".jsonl" and "timestamp" in names:
        return (
            "nothing tells whether timestamp is in ms (beside hash_ids) or in s (beside chat_id, "
            "parent_chat_id and turn): call it arrival_ms or arrival_s, or say it in "
            "[trace.columns]"
        )
    known = ["arrival_ms", "arrival_s"]
    public = [one.needs for one in FORMATS if ending in one.endings and one.needs]
    known += [" with ".join(sorted(needs)) for needs in public]
    return (
        f"needs the arrival of a request: one of the columns {', '.join(known)}, or another one "
        f"that [trace.columns] names; got {_short(names)}"
    )


def _short(names: Sequence[str]) -> str:
    """Names in a line of some eighty characters, whatever is in them."""
    text = ", ".join(name if name.isprintable() else ascii(name) for name in names)
    return textwrap.shorten(text, 80, placeholder=" …") or "…"


def format_rows() -> list[tuple[str, str, str, str]]:
    """The formats as a page shows them: name, endings, columns that are read, what it is."""
    own = dict.fromkeys(name for name, _ in _OWN.values())
    times = ", ".join(f"`_{unit}`" for unit in (*UNITS, DATE))
    columns = ", ".join(f"`{name}_ms`" if FIELDS[name].is_time else f"`{name}`" for name in own)
    rows: list[tuple[str, Sequence[str], str, str]] = []
    rows.append((PLAIN, _OWN_ENDINGS, f"{columns}; times also in {times}", "one's own"))
    for one in FORMATS:
        names = [_with_unit(column) for column in one.columns.values()]
        names += ["`1` … `1440`: calls in that minute"] if one.lines == COUNTS else []
        rows.append((one.name, tuple(one.endings), ", ".join(names), one.what))
    return [(f"`{a}`", ", ".join(f"`{e}`" for e in b), c, d) for a, b, c, d in rows]


def _with_unit(column: Column) -> str:
    return f"`{column.name}`" + (f" [{column.unit}]" if column.unit in UNITS else "")
