"""`prema-gym preemption`: what would a switch cost, where in each network?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from prema_gym.cli.options import (
    FormatOption,
    HardwareOption,
    print_notes,
    read_batches,
    read_hardware,
)
from prema_gym.cli.printing import Format, print_rows

Network = Annotated[
    list[str] | None,
    typer.Argument(help="Networks or files; none means all.", show_default=False),
]
Batch = Annotated[str, typer.Option(help="Inputs at once, separated by commas.")]


def preemption(
    network: Network = None,
    batch: Batch = "1,4,16",
    hardware: HardwareOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Tabulate what CHECKPOINT, KILL and DRAIN cost over the course of each network."""
    from prema_gym.views.listings import preemption_rows

    rows = preemption_rows(read_hardware(hardware), network or (), read_batches(batch))
    # A table has mean and p95 of all, and the largest context, which sizes memory.
    few = [name for name in rows[0] if name.split()[1:-1] in (["min"], ["max"])]
    few.remove("context max KiB")
    print_rows(rows, format, leave_out=few)
    if format is Format.table:
        print(
            "checkpoint, kill, drain: from a request until the machine is free; restore: later, "
            "after a checkpoint; lost: work that a kill throws away (docs/switch-costs.md)",
            file=sys.stderr,
        )
    print_notes(network or ())
