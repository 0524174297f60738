"""`prema-gym profile`: where does a network's time go, and what would it cost to stop there?"""

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
from prema_gym.cli.printing import Format, console, print_rows
from prema_gym.errors import ConfigError

FULL_WIDTH = 205
"""Columns of a terminal that shows every column of a profile."""

_FIRST_LEFT_OUT = (
    "cycles",
    "compute%",
    "fill%",
    "vector%",
    "memory%",
    "max context KiB",
    "max stop us",
    "kind",
    "weights MiB",
    "cache MiB",
    "migration MiB",
    "fits memory",
)

Network = Annotated[str, typer.Argument(help="A network's name, or a file that holds one.")]
Batch = Annotated[
    str | None,
    typer.Option(help="Inputs at once, separated by commas; default: 1,4,16, with --layers 1."),
]
InputLength = Annotated[
    int | None, typer.Option(help="Input steps; default: the network's typical length.")
]
OutputLength = Annotated[
    int | None, typer.Option(help="Output steps; default: what is expected for the input.")
]
Layers = Annotated[bool, typer.Option("--layers", help="One row a layer, at one batch size.")]


def profile(
    network: Network,
    batch: Batch = None,
    hardware: HardwareOption = None,
    input_length: InputLength = None,
    output_length: OutputLength = None,
    layers: Layers = False,
    format: FormatOption = Format.table,
) -> None:
    """Time one network: MACs, time, utilisation, what binds, contexts and costs of stopping."""
    from prema_gym.networks import get
    from prema_gym.views.listings import typical_lengths
    from prema_gym.views.profiles import layer_rows, profile_rows

    found, config = get(network), read_hardware(hardware)
    usual = typical_lengths(found)
    input_length = usual[0] if input_length is None else input_length
    output_length = usual[1] if output_length is None else output_length
    lengths = {"input_length": input_length, "output_length": output_length}
    batches = _batches(batch, layers)
    if layers:
        rows = layer_rows(config, found, batch=batches[0], **lengths)
    else:
        rows = profile_rows(config, found, batches=batches, **lengths)
    wide = console().width >= FULL_WIDTH
    print_rows(rows, format, leave_out=() if wide else _FIRST_LEFT_OUT)
    if format is Format.table:
        _explain(rows, wide)
    print_notes([network])


def _batches(given: str | None, layers: bool) -> tuple[int, ...]:
    """The batch sizes asked for."""
    if given is None:
        return (1,) if layers else (1, 4, 16)
    batches = read_batches(given)
    if layers and len(batches) > 1:
        raise ConfigError(f"--layers shows one batch size, got --batch {given}")
    return batches


def _explain(rows: list[dict[str, object]], wide: bool) -> None:
    """What a reader may miss, on standard error."""
    print(
        "binds: compute (the array at work), fill (filling and draining it, edges), vector or "
        "memory; stop: from a request to a saved checkpoint",
        file=sys.stderr,
    )
    if not wide:
        print(f"more columns: a terminal of {FULL_WIDTH}, or --format json|csv", file=sys.stderr)
    for row in rows:
        if row.get("fits memory") is False:
            print(
                f"batch {row['batch']}: {row['weights MiB']:.0f} MiB of weights and "
                f"{row['cache MiB']:.0f} MiB of cache are more than the machine's memory",
                file=sys.stderr,
            )
