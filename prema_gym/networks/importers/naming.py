"""How does every layer get a name of its own? Files repeat names, or leave them out."""

from __future__ import annotations


class UniqueNames:
    """Hands out names, each once: a repeated one becomes ``name#2``, then ``name#3``."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, wanted: str) -> str:
        """``wanted``, or the first of its numbered forms that is free."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}#{number}"
        self._taken.add(name)
        return name
