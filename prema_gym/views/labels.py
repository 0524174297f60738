"""How is a task called where there is little room? Its network's name gives way, in the middle."""

from __future__ import annotations

import re
from collections.abc import Callable

_PARTS = re.compile(r"(\d+ )(.*)( ×\d+ π=\d+)", re.DOTALL)


def shortened(label: str, fits: Callable[[str], bool]) -> str:
    """A label that fits; where it is cut, dots say so.

    Of a task's label (:attr:`prema_gym.views.episode.TaskView.label`) number, batch and priority
    stay, and the two ends of the network's name, which tell a file's versions apart.

    Args:
        label: The whole label.
        fits: Whether there is room for a text.
    """
    if fits(label):
        return label
    found = _PARTS.fullmatch(label)
    before, name, after = found.groups() if found else ("", label, "")
    for kept in range(len(name) - 1, -1, -1):
        short = f"{before}{name[: kept - kept // 2]}…{name[len(name) - kept // 2 :]}{after}"
        if fits(short):
            return short
    return f"{before}…{after}"
