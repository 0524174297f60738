"""Which traces are read, and what may they say? The tables of docs/traffic.md, from the code."""

from __future__ import annotations

from dataclasses import MISSING, fields

from docs.generate.sections import table
from prema_gym.workloads import scenarios
from prema_gym.workloads.traces.formats import format_rows
from prema_gym.workloads.traces.log import TraceColumns, TraceLog


def formats() -> str:
    """Every format: its files, the columns that are read, what it is."""
    return table(("format", "files", "columns that are read", "what it is"), format_rows())


def columns() -> str:
    """What a trace may say of a request, by the keys of ``[trace.columns]``."""
    rows = [(f"`{one.name}`", one.metadata["help"]) for one in fields(TraceColumns)]
    return table(("field", "what it says of a request"), rows)


def keys() -> str:
    """The keys of ``[trace]``."""
    rows = []
    for one in fields(TraceLog):
        default = "needed" if one.default is one.default_factory is MISSING else ""
        if one.default is not MISSING:
            default = f"`{str(one.default).lower()}`"
        rows.append((f"`{one.name}`", default, one.metadata["help"]))
    return table(("key", "default", "meaning"), rows)


def registered() -> str:
    """The registered scenarios that are played as long runs."""
    rows = [
        (f"`{name}`", scenarios.summary(name))
        for name in scenarios.names()
        if scenarios.get(name).is_stream
    ]
    return table(("scenario", "what it is"), rows)


PARTS = {
    "trace-formats": formats,
    "trace-columns": columns,
    "trace-keys": keys,
    "long-scenarios": registered,
}
