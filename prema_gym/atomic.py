"""How is a file written so that a reader never meets half of it? Beside its place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` fill a file beside ``path``, then rename it into place.

    Args:
        path: Where the file belongs; its folder exists.
        write: Called with the temporary path, which keeps the suffix.

    Raises:
        OSError: The file cannot be written; nothing is left behind.
    """
    # The same folder makes the rename atomic; the process id keeps two writers apart.
    beside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())  # a rename may otherwise outlive its content
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file so that a crash never leaves half of it."""
    write_atomically(path, lambda beside: beside.write_text(text, encoding="utf-8"))
