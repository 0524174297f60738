"""`prema-gym networks`: how large is each network, and how long does it take?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from prema_gym.cli.options import FormatOption, HardwareOption, print_notes, read_hardware
from prema_gym.cli.printing import Format, console, print_rows
from prema_gym.errors import PremaError

FULL_WIDTH = 132
"""Columns of a terminal that shows every column of the listing."""

Network = Annotated[
    list[str] | None,
    typer.Argument(
        help="Names, or files that hold a network; none means all networks with a name.",
        show_default=False,
    ),
]
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="Read files of whose work a part is lost, and say how much."),
]
Dim = Annotated[
    list[str] | None,
    typer.Option(
        "--dim",
        metavar="NAME=SIZE",
        help="Size of an open axis of the graphs' inputs, such as t=128; may be repeated. For one "
        "file of several, write FILE?t=128.",
        show_default=False,
    ),
]


def networks(
    network: Network = None,
    hardware: HardwareOption = None,
    lenient: Lenient = False,
    dim: Dim = None,
    format: FormatOption = Format.table,
) -> None:
    """List networks: layers, MACs, weights, isolated and estimated times at batch 1, 4, 16."""
    from prema_gym.views.listings import network_rows

    names = list(network or ())
    found = [read for name in names if (read := _read(name, dim or (), lenient))]
    if found or not names:
        estimates = tuple(f"est b{batch}" for batch in (1, 4, 16))
        errors = tuple(f"err% b{batch}" for batch in (4, 16))  # that at batch 1 stays
        wide = console().width >= FULL_WIDTH
        too_wide = () if wide else ("layers", "lengths", *estimates, *errors)
        rows = network_rows(read_hardware(hardware), found)
        print_rows(rows, format, leave_out=("source", *too_wide))
        print_notes(found)
    if len(found) < len(names):
        raise typer.Exit(2)


def _as_read(name: str, dims: Sequence[str], lenient: bool) -> str:
    """A file's name with how to read it, as options for all of them say."""
    from prema_gym.networks.importers.formats import Reading, format_of, join_name, split_name

    kind = format_of(name)
    if kind is None:
        return name
    path, own = split_name(name)
    for_all = Reading.parse([*(dims if kind.has_axes else ()), *(["lenient"] if lenient else [])])
    return join_name(path, for_all.joined(own))


def _read(name: str, dims: Sequence[str], lenient: bool) -> str:
    """The name under which a network is found, empty if there is none: a line says why."""
    from prema_gym.networks import get

    try:
        name = _as_read(name, dims, lenient)
        get(name)
    except PremaError as error:
        print("prema-gym: " + " ".join(str(error).split()), file=sys.stderr)
        return ""
    return name
