"""How do the validations of a training run lie in a file? As CSV, a line each."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from prema_gym.checks import damaged
from prema_gym.errors import ConfigError
from prema_gym.files import write_text_atomically

NEEDED = {"timesteps", "wall_s", "score"}
"""Columns that every such file has."""


def read_rows(path: Path) -> list[dict[str, str]]:
    """The lines of a file, values by column; none where there is no file.

    Raises:
        ConfigError: It is damaged.
    """
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise damaged(path, error) from None
    if not text.endswith("\n"):
        raise ConfigError(f"{path} is damaged: its last line has no end")
    reader = csv.DictReader(io.StringIO(text))
    rows = list(reader)
    if not rows or not set(reader.fieldnames or ()) >= NEEDED:
        raise ConfigError(f"{path} is damaged: it holds no evaluation")
    for line, row in enumerate(rows, start=2):
        try:
            int(row["timesteps"]), [float(value) for value in row.values()]
        except (KeyError, TypeError, ValueError):
            raise ConfigError(f"{path} is damaged in line {line}") from None
    return rows


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """Write lines, at least one, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[-1]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text_atomically(path, text.getvalue())
