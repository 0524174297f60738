"""`prema-gym preemption`: what would a switch cost, where in each network?"""

from __future__ import annotations

from typing import Annotated

import typer

from prema_gym.cli.options import FormatOption, HardwareOption, print_notes, read_hardware
from prema_gym.cli.printing import Format, print_rows

Network = Annotated[
    list[str] | None,
    typer.Argument(help="Networks or files; none means all.", show_default=False),
]


def preemption(
    network: Network = None,
    hardware: HardwareOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Tabulate context size and preemption latency over the course of each network."""
    from prema_gym.views.listings import preemption_rows

    print_rows(preemption_rows(read_hardware(hardware), network or ()), format)
    print_notes(network or ())
