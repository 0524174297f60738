"""How are figures made and labelled? Matplotlib is imported here; texts stay as written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures, which say the format."""


def new(what: str, size_inches: tuple[float, float], dpi: int) -> Figure:
    """An empty figure.

    Args:
        what: What asks for it, for the message where Matplotlib is missing.
        size_inches: Width and height.
        dpi: Pixels an inch.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(what, "matplotlib", "plot") from None
    return Figure(figsize=size_inches, dpi=dpi, layout="constrained")


def check_picture(path: Path) -> None:
    """Say before the work, not after it, that a picture cannot be written.

    Raises:
        ConfigError: Its ending says no format, or the folder is not there.
    """
    if path.suffix not in PICTURES:
        raise ConfigError(f"{path} must end in {', '.join(PICTURES)}: the ending says the format")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")


def write_picture(path: Path, figure: Figure) -> None:
    """Write a figure whole or not at all.

    Raises:
        ConfigError: It cannot be written.
    """
    check_picture(path)
    try:
        write_atomically(path, figure.savefig)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error


def plain(text: str) -> str:
    """A text that Matplotlib shows as it is: no formulas between dollars, no hidden names."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
