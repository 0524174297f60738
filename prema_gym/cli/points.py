"""Where does a sweep go on after a stop? A line of JSON for each point, written as it is known.

The first line says of which sweep they are. A line is appended whole and reaches the disk before
the next point is played, so a stop at any moment loses the points that are being played and at most
leaves a torn last line, which is found and played again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from prema_gym.errors import ConfigError
from prema_gym.evaluation.sweep import SweepPoint
from prema_gym.files import write_text

POINTS_FILE = "points.jsonl"


@dataclass
class Points:
    """The points of a sweep that are known.

    Attributes:
        known: Those that an earlier run of it left.
    """

    known: list[SweepPoint] = field(default_factory=list)
    _file: TextIO | None = None

    def keep(self, point: SweepPoint) -> None:
        """Write a new one; it is on the disk when this returns."""
        if self._file is not None:
            self._file.write(_line(point.to_dict()))
            self._file.flush()
            os.fsync(self._file.fileno())


@contextmanager
def kept_points(folder: Path | None, head: object) -> Iterator[Points]:
    """The points of a sweep in a folder, those known and those to come.

    Args:
        folder: Made if absent; None: nothing is kept.
        head: What tells this sweep from another one, plain data.

    Raises:
        ConfigError: The folder holds another sweep, or a line before the last is damaged.
    """
    if folder is None:
        yield Points()
        return
    path = folder / POINTS_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror}") from error
    known = _read(path, text, _line(head))
    # Whole or not at all: what is known outlives a stop here, too.
    write_text(path, _line(head) + "".join(_line(point.to_dict()) for point in known))
    with path.open("a", encoding="utf-8") as file:
        yield Points(known, file)


def _read(path: Path, text: str, head: str) -> list[SweepPoint]:
    """The points of a file, but for a last line that is torn."""
    first, *lines = text.splitlines(keepends=True) or [head]
    if first != head and not (not lines and head.startswith(first)):
        raise ConfigError(
            f"{path} is of another sweep (scenario, a file of it, promise, settings or version): "
            "give another --output, or remove it"
        )
    known = []
    for number, line in enumerate(lines, start=2):
        if not line.endswith("\n"):  # only the last one can be
            print(f"{path}, line {number} is torn: that point is played again", file=sys.stderr)
            break
        try:
            known.append(SweepPoint.from_dict(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(f"{path}, line {number} is damaged: remove it") from error
    return known


def _line(data: Any) -> str:  # noqa: ANN401 - plain data
    from prema_gym.views.records import strict

    return json.dumps(strict(data)) + "\n"
