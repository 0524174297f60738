"""`prema-gym hardware`: which machines have a name, and what do they look like?"""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Annotated

import typer

from prema_gym.cli.options import FormatOption
from prema_gym.cli.printing import Format, console, print_rows

FULL_WIDTH = 126
"""Columns of a terminal that shows every column of the listing."""

Machine = Annotated[
    str | None,
    typer.Argument(
        help="A machine; its fields are printed as a file that --hardware takes.",
        show_default=False,
    ),
]


def hardware(machine: Machine = None, format: FormatOption = Format.table) -> None:
    """List the machines that --hardware takes by name, or print one as a file to change."""
    from prema_gym.hardware import NPUConfig
    from prema_gym.views.listings import machine_rows

    if machine is not None:
        _print_file(machine)
        return
    long = ("source", "ours", *(field.name for field in fields(NPUConfig)))
    too_wide = () if console().width >= FULL_WIDTH else ("what",)
    print_rows(machine_rows(), format, leave_out=(*long, *too_wide))
    if format is Format.table:
        print("every field, and its sources: prema-gym hardware NAME", file=sys.stderr)


def _print_file(name: str) -> None:
    """A machine's fields, under comments on where they are from."""
    from prema_gym.files import to_toml
    from prema_gym.hardware import machines

    config = machines.read(name)
    for one in machines.MACHINES:
        if one.name == name:
            print(f"# {one.name}: {one.title}.\n# {one.source}.\n# Ours: {one.ours}.")
    print(to_toml(config.to_dict()), end="")
