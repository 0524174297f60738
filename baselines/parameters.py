"""How are a policy's parameters read from its name, and written into it? ``name:key=value,…``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prema_gym.errors import ConfigError, UnknownNameError


def read_parameters(
    text: str, given: Mapping[str, object], defaults: Mapping[str, object], where: str
) -> dict[str, Any]:
    """The parameters that differ from their defaults, in the order of these, with their types.

    Args:
        text: ``key=value,key=value``, or "".
        given: More of them, as Python values or text.
        defaults: Value of each parameter that there is.
        where: Whose they are, for messages.

    Raises:
        UnknownNameError: There is no such parameter.
        ConfigError: A value that is not allowed, or a parameter given twice.
    """
    values = dict(given)
    for key, written in _split(text, where):
        if key in values:
            raise ConfigError(f"parameter {key!r} of {where} is given twice")
        values[key] = written
    for key, value in values.items():
        if not defaults:
            raise ConfigError(f"{where} takes no parameters, given {key!r}")
        if key not in defaults:
            raise UnknownNameError("parameter", key, defaults, where)
        values[key] = _convert(value, defaults[key], f"parameter {key!r} of {where}")
    return {key: values[key] for key in defaults if key in values and values[key] != defaults[key]}


def name_with(base: str, changed: Mapping[str, object]) -> str:
    """A policy's name with the parameters that differ from their defaults."""
    parts = ",".join(f"{key}={as_text(value)}" for key, value in changed.items())
    return f"{base}:{parts}" if parts else base


def _split(text: str, where: str) -> list[tuple[str, str]]:
    """``a=1,b=2`` as pairs of text."""
    pairs = []
    for item in text.split(",") if text else []:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise ConfigError(f"parameters of {where} read key=value,key=value, got {item!r}")
        pairs.append((key, value))
    return pairs


def _convert(value: object, default: object, what: str) -> object:
    """``value`` as the type of ``default``."""
    kind, read = _READERS[type(default)]
    # A Python value takes the same way as text, so both are held to the same rules.
    try:
        return read(value if isinstance(value, str) else as_text(value))
    except (KeyError, ValueError):
        raise ConfigError(f"{what} must be {kind}, got {value!r}") from None


def as_text(value: object) -> str:
    """A value as a name carries it: ``make(policy.name)`` makes the same policy again."""
    if isinstance(value, tuple | list):
        return "/".join(map(as_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    # repr keeps every digit; the plain float sheds NumPy's own notation.
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


# By the type of a parameter's default: what its text must be, and how it is read.
_READERS: dict[type, tuple[str, Callable[[str], object]]] = {
    bool: ("true or false", lambda text: {"true": True, "false": False}[text.lower()]),
    int: ("an integer", int),
    float: ("a number", float),
    str: ("text", str),
    tuple: ("numbers separated by /", lambda text: tuple(map(float, text.split("/")))),
}
