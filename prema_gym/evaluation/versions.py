"""With which versions was something computed? Noted in every report."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("prema-gym", "numpy", "numba")
"""What a result depends on."""


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of packages, by name; "not installed" where one is not."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # prema-gym itself: run from a checkout
            found[package] = "not installed"
    return found
