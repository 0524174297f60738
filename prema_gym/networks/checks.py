"""Is a size given by the user usable? One place for the checks and their one-line messages."""

from __future__ import annotations

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
