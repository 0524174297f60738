"""On which source does a kernel's machine code depend? Its file, and every file that one imports.

Numba notices an edited function but not an edited function *it calls*, nor a changed constant
(numba issues 8851, 8926). Kernels here call each other across files.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
_BESIDE = ("agents", "baselines")
"""What a checkout keeps beside the package, and an installed one in it (setup.py)."""

# "from prema_gym.a import b, c" and "import prema_gym.a", the names perhaps in brackets.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(prema_gym[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(prema_gym[\w.]*))",
    re.MULTILINE,
)


def place_in_package(file: Path) -> str | None:
    """Where a file of ours lies in the package, the same in every installation; None: not ours."""
    if file.is_relative_to(PACKAGE):
        return file.relative_to(PACKAGE).as_posix()
    if any(file.is_relative_to(PACKAGE.parent / name) for name in _BESIDE):
        return file.relative_to(PACKAGE.parent).as_posix()
    return None


@lru_cache
def source_digest(file: Path) -> str:
    """Digest of a kernel's file and of every file of ours that it imports, at any remove.

    What it calls and which constants it reads is among these. Of a folder that is not ours every
    file counts: how those import each other is not for us to know. Paths do not count, so that two
    copies of one source have one digest.
    """
    folder = file.parent
    todo = {file} if place_in_package(file) is not None else {file, *folder.rglob("*.py")}
    sources: dict[Path, bytes] = {}
    while todo:
        path = todo.pop()
        sources[path] = path.read_bytes()
        todo |= _imported_by(sources[path].decode()) - sources.keys()
    placed = {place_in_package(path) or f"./{path.relative_to(folder)}": path for path in sources}
    digest = hashlib.sha256()
    for place in sorted(placed):
        digest.update(f"{place}\0{len(sources[placed[place]])}\0".encode())
        digest.update(sources[placed[place]])
    return digest.hexdigest()


def _file_of(module: str) -> Path | None:
    """The file of a module of ours; None if there is none (the name of a function, say)."""
    parts = module.split(".")[1:]
    for base in (PACKAGE, PACKAGE.parent):
        path = base.joinpath(*parts)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if parts and file.is_file():
                return file
    return None


def _imported_by(source: str) -> set[Path]:
    """The files of ours that a source imports, wherever in it."""
    found: set[Path | None] = set()
    for package, names, module in _IMPORT.findall(source):
        found.add(_file_of(package or module))
        found |= {_file_of(f"{package}.{name}") for name in re.findall(r"\w+", names) if package}
    return {path for path in found if path is not None}
