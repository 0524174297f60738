"""How does a mistake in a file say where it is? What settings and run folders share for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from prema_gym.errors import ConfigError

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
