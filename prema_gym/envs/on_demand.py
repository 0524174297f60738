"""How is what few read worked out only when it is read? In a dict that fills itself then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class OnDemand(dict[str, Any]):
    """A dict that is filled when it is first read.

    The metrics of the few episodes that end in a step cost as much as the step of a thousand
    sub-environments; who does not read them does not pay for them. What is read is the same as if
    it had been computed at once: the function given holds copies. A copy or pickle is a plain dict.
    """

    def __init__(
        self, build: Callable[[], Mapping[str, Any]] | None = None, /, **items: object
    ) -> None:
        # Not empty until it is filled: `json` asks for the size of the bare dict, and for nothing
        # more where that is 0. From items it is filled at once: Gymnasium's wrappers make mappings
        # of the same type anew from what is in them.
        super().__init__({"": None} if build is not None else items)
        self._build: Callable[[], Mapping[str, Any]] | None = build

    def _fill(self) -> None:
        if self._build is not None:
            build, self._build = self._build, None
            dict.clear(self)
            dict.update(self, build())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _filled_first(name: str) -> Callable[..., Any]:
    plain = getattr(dict, name)

    def read(self: OnDemand, *args: object, **kwargs: object) -> object:
        self._fill()
        return plain(self, *args, **kwargs)

    read.__name__ = name
    return read


# Every way to look into a dict.
for _name in (
    *("__getitem__", "__contains__", "__iter__", "__len__", "__eq__", "__ne__", "__repr__"),
    "__reversed__",
    *("__or__", "__ror__", "copy", "get", "items", "keys", "values", "pop", "popitem"),
    *("setdefault", "update", "__setitem__", "__delitem__", "__ior__", "clear"),
):
    setattr(OnDemand, _name, _filled_first(_name))
