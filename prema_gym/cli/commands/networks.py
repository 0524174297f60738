"""`prema-gym networks`: how large is each network, and how long does it take?"""

from __future__ import annotations

from typing import Annotated

import typer

from prema_gym.cli.options import FormatOption, HardwareOption, print_notes, read_hardware
from prema_gym.cli.printing import Format, console, print_rows

FULL_WIDTH = 110
"""Columns of a terminal that shows every column of the listing."""

Network = Annotated[
    list[str] | None,
    typer.Argument(
        help="Names, or files that hold a network; none means all networks with a name.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse a file with operators that would be skipped."),
]


def networks(
    network: Network = None,
    hardware: HardwareOption = None,
    strict: Strict = False,
    format: FormatOption = Format.table,
) -> None:
    """List networks: layers, MACs, weights, isolated and estimated times at batch 1, 4, 16."""
    from prema_gym.networks.importers import is_file, read_network
    from prema_gym.views.listings import network_rows

    for name in network or () if strict else ():
        if is_file(name):
            read_network(name, strict=True)
    estimates = tuple(f"est b{batch}" for batch in (1, 4, 16))
    too_wide = () if console().width >= FULL_WIDTH else ("layers", "lengths", *estimates)
    rows = network_rows(read_hardware(hardware), network or ())
    print_rows(rows, format, leave_out=("source", *too_wide))
    print_notes(network or ())
