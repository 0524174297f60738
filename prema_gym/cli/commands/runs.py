"""`prema-gym runs`: how well does each algorithm train, over its seeds?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prema_gym.cli.options import FormatOption
from prema_gym.cli.printing import Format, print_rows


def runs(
    folder: Annotated[list[Path], typer.Argument(help="Folders of training runs.")],
    format: FormatOption = Format.table,
) -> None:
    """Compare training runs: an algorithm a line, its ratios to PREMA as mean [least, most]."""
    from prema_gym.agents.studies.seeds import runs_table, shown

    records = runs_table(folder)
    print_rows(shown(records) if format is Format.table else records, format)
