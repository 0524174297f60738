"""How are figures made and labelled? Matplotlib is imported here; texts stay as written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def plain(text: str) -> str:
    """A text that Matplotlib shows as it is: no formulas between dollars, no hidden names."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
