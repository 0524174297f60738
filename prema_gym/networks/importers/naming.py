"""How does every layer get a name of its own? Files repeat names, or leave them out."""

from __future__ import annotations


class UniqueNames:
    """Hands out names, each once: a repeated one becomes ``name#2``, then ``name#3``."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def give(self, wanted: str) -> str:
        """``wanted``, or the first of its numbered forms that is free."""
        number = self._last.get(wanted, 1)  # all below are taken, too
        name = wanted if number == 1 else f"{wanted}#{number}"
        while name in self._taken:
            number += 1
            name = f"{wanted}#{number}"
        self._taken.add(name)
        self._last[wanted] = number
        return name
