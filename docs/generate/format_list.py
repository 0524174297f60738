"""Which files are networks? The table of docs/bring-your-own.md, from the code."""

from __future__ import annotations

from docs.generate.sections import table
from prema_gym.networks.importers.formats import FORMATS


def formats() -> str:
    """Every format of a network's file: ending, what it is and needs, what is read."""
    rows = [
        (
            f"`{one.ending}`",
            one.name + (f"; needs `pip install '.[{one.extra}]'`" if one.extra else ""),
            one.reads,
        )
        for one in FORMATS
    ]
    return table(("ending", "what it is", "what is read"), rows)


PARTS = {"formats": formats}
