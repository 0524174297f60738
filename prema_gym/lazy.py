"""How does a package offer names without loading what is behind them? On first use.

Importing a room then compiles nothing and loads neither Numba nor torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_first_use(
    package: str, names_of: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Args:
        package: Its ``__name__``.
        names_of: Public names by the module, inside the package, that holds them.
    """
    home = {name: module for module, names in names_of.items() for name in names}

    def get_attribute(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return get_attribute, lambda: sorted({*home, *vars(sys.modules[package])})
