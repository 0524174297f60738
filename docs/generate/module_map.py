"""What is where? Every module with the question it answers, from its own first line."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOPS = ("prema_gym", "baselines", "agents")
WIDTH = 26
"""Columns before the questions."""


def modules() -> str:
    """The tree of packages and modules; a package's line is that of its ``__init__``."""
    lines = [line for top in TOPS for line in _lines(ROOT / top, 0)]
    return "\n".join(["```", *lines, "```"]) + "\n"


def _lines(folder: Path, depth: int) -> list[str]:
    lines = [_line(f"{folder.name}/", folder / "__init__.py", depth)]
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name)):
        if path.is_dir() and (path / "__init__.py").exists():
            lines += _lines(path, depth + 1)
        elif path.suffix == ".py" and path.stem != "__init__":
            lines.append(_line(path.name, path, depth + 1))
    return lines


def _line(name: str, file: Path, depth: int) -> str:
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return f"{'  ' * depth + name:{WIDTH}}{text.splitlines()[0] if text else ''}".rstrip()


PARTS = {"modules": modules}
