"""Is a value given by the user usable? One place for the checks and their one-line messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from prema_gym.errors import ConfigError

IntOrPair = int | tuple[int, int]
"""One size for both directions, or (height, width)."""

Padding = int | tuple[int, int] | tuple[int, int, int, int]
"""One padding for all sides, (height, width), or (top, left, bottom, right) as ONNX orders it."""


def require_name(where: str, name: object, *, field: str = "name") -> None:
    """Raise ConfigError unless ``name`` is a non-empty string."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{where}: {field} must be a non-empty string, got {name!r}")


def require_int(where: str, field: str, value: object, *, minimum: int = 1) -> int:
    """Return ``value`` if it is an integer of at least ``minimum``, else raise ConfigError.

    A bool is refused: ``stride=True`` is a slip, not a stride of one.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ConfigError(f"{where}: {field} must be an integer >= {minimum}, got {value!r}")
    return value


def require_pair(where: str, field: str, value: object, *, minimum: int = 1) -> tuple[int, int]:
    """Return ``value`` as (height, width); a single integer stands for both.

    Raises:
        ConfigError: Neither an integer nor two integers, or one below ``minimum``.
    """
    if not isinstance(value, tuple):
        both = require_int(where, field, value, minimum=minimum)
        return both, both
    if len(value) != 2:
        raise ConfigError(f"{where}: {field} must be one integer or (height, width), got {value!r}")
    height, width = (require_int(where, field, size, minimum=minimum) for size in value)
    return height, width


def require_padding(where: str, value: object) -> tuple[int, int, int, int]:
    """Return ``value`` as (top, left, bottom, right), each >= 0.

    Raises:
        ConfigError: Not one, two or four integers, or a negative one.
    """
    if isinstance(value, tuple) and len(value) == 4:
        top, left, bottom, right = (
            require_int(where, "padding", size, minimum=0) for size in value
        )
        return top, left, bottom, right
    if isinstance(value, tuple) and len(value) != 2:
        raise ConfigError(
            f"{where}: padding must be one integer, (height, width) or "
            f"(top, left, bottom, right), got {value!r}"
        )
    height, width = require_pair(where, "padding", value, minimum=0)
    return height, width, height, width


# Annotation of a field → what it is called, and the types that a value may have.
_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "str": ("text in quotes", (str,)),
    "dict[str, float]": ("a table of numbers", (dict,)),
    "dict[str, Any]": ("a table", (dict,)),
}


def check_kinds(record: Any) -> None:  # noqa: ANN401 - any dataclass
    """Check that the fields of a dataclass hold what their annotations say.

    Fields of other types than numbers, texts and tables must hold what their default holds.

    Raises:
        ConfigError: One does not; it is named, with its value and what is allowed.
    """
    for field in fields(record):
        value = getattr(record, field.name)
        kind = str(field.type)
        what, types = _KINDS.get(kind, ("a table", ()))
        right = isinstance(value, types) if types else type(value).__name__ == kind
        if right and kind == "dict[str, float]":
            right = all(_is_number(item) for item in value.values())
        elif right and kind in ("int", "float"):
            right = _is_number(value)
        if not right:
            raise ConfigError(f"{field.name} must be {what}, given {value!r}")


def _is_number(value: object) -> bool:
    """Whether it is a number, which a truth value and NaN are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


@contextmanager
def place(where: str) -> Iterator[None]:
    """Within it, an error's message begins with where the mistake is: a file, and its section."""
    try:
        yield
    except ConfigError as error:
        error.args = (f"{where}: {error}",)
        raise


def damaged(path: Path, error: Exception) -> ConfigError:
    """What to say of a file that cannot be understood: which one, and why, in one line."""
    reason = (str(error) or "no reason given").splitlines()[0]
    return ConfigError(f"{path} is damaged ({type(error).__name__}: {reason})")
