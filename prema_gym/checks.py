"""What may a value be? A constraint is declared once, on the field, and worded once, here.

A dataclass declares its fields and has them held to it when it is made::

    @dataclass(frozen=True, kw_only=True)
    class Traffic:
        num_tasks: int = declared(8, whole(1, 1_000_000), unit="tasks", help="tasks of a workload")
        window_ms: float = declared(10.0, number(0.0, 1e9), unit="ms", help="arrival window")

        def __post_init__(self) -> None:
            check_fields(self)

Every message reads ``NAME must be WHAT IS ALLOWED, got VALUE``; :func:`prema_gym.errors.located`
puts the file or section in front. A record is read from a file by :func:`read_record`. Checks of
several fields together stay where the fields are. Source: ours.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from prema_gym.errors import ConfigError, UnknownNameError, located

R = TypeVar("R")


@dataclass(frozen=True)
class Constraint:
    """What a value may be.

    Attributes:
        allowed: What is allowed, as in "NAME must be …".
        accept: Returns the value in the form it is kept in; raises TypeError or ValueError for a
            value that is not allowed.
    """

    allowed: str
    accept: Callable[[object], Any]

    def check(self, name: str, value: object) -> Any:  # noqa: ANN401 - whatever it keeps
        """Return ``value`` in the form it is kept in.

        Raises:
            ConfigError: It is not allowed; the message has name, what is allowed, and value.
        """
        try:
            return self.accept(value)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ConfigError):  # says itself what is wrong
                raise
            raise ConfigError(f"{name} must be {self.allowed}, got {value!r}") from None


def _refuse(wrong: bool) -> None:
    if wrong:
        raise ValueError


def whole(
    least: int = 1, most: int | None = None, *, unit: str = "", from_float: bool = False
) -> Constraint:
    """A whole number, of Python's or NumPy's. A truth value is a slip, not a number.

    Args:
        least: Smallest value allowed.
        most: Largest; None: any.
        unit: Of the number, for the message.
        from_float: Also take a float that is whole, as ``358e9`` is.
    """

    def accept(value: object) -> int:
        _refuse(isinstance(value, bool | np.bool_))
        if from_float and isinstance(value, float | np.floating) and value.is_integer():
            value = int(value)
        number = operator.index(value)  # type: ignore[arg-type]
        _refuse(number < least or (most is not None and number > most))
        return number

    of = f" of {unit}" if unit else ""
    return Constraint(f"a whole number{of}{_span(least, most)}", accept)


def number(
    least: float = -math.inf, most: float = math.inf, *, above: float | None = None, unit: str = ""
) -> Constraint:
    """A finite number, of Python's or NumPy's, kept as a float.

    Args:
        least: Smallest value allowed.
        most: Largest.
        above: It must also be larger than this.
        unit: Of the number, for the message.
    """

    def accept(value: object) -> float:
        _refuse(isinstance(value, bool | np.bool_ | str | bytes))
        found = float(value)  # type: ignore[arg-type]
        _refuse(not (math.isfinite(found) and least <= found <= most))
        _refuse(above is not None and not found > above)
        return found

    of = f" of {unit}" if unit else ""
    finite = "" if math.isfinite(most) else "finite "
    span = _span(least, most) if above is None else f" above {above:g}{_at_most(most)}"
    return Constraint(f"a {finite}number{of}{span}", accept)


def positive(most: float = math.inf, *, unit: str = "") -> Constraint:
    """A finite number above 0."""
    return number(above=0.0, most=most, unit=unit)


def _span(least: float, most: float | None) -> str:
    """“ from 1 to 16”, “ of at least 1”, “ of at most 16” or nothing."""
    bounded = most is not None and math.isfinite(most)
    if math.isfinite(least) and bounded:
        return f" from {least:g} to {_plain(most)}"
    if math.isfinite(least):
        return f" of at least {least:g}"
    return f" of at most {_plain(most)}" if bounded else ""


def _at_most(most: float) -> str:
    return f" and at most {_plain(most)}" if math.isfinite(most) else ""


def _plain(value: float | None) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def truth() -> Constraint:
    """True or false, and nothing that merely counts as one."""

    def accept(value: object) -> bool:
        _refuse(not isinstance(value, bool | np.bool_))
        return bool(value)

    return Constraint("true or false", accept)


def text(*, empty: bool = False) -> Constraint:
    """A text."""

    def accept(value: object) -> str:
        _refuse(not isinstance(value, str) or not (value or empty))
        return str(value)

    return Constraint("a text" if empty else "a non-empty text", accept)


def one_of(kind: str, names: Iterable[str] | Callable[[], Iterable[str]]) -> Constraint:
    """One of some names; the message for another one has the nearest.

    Args:
        kind: What the names are of, as in "unknown KIND 'x'".
        names: The names, or a function that lists them (for tables that grow).
    """

    def known() -> list[str]:
        return list(names() if callable(names) else names)

    def accept(value: object) -> str:
        if not isinstance(value, str) or value not in known():
            raise UnknownNameError(kind, str(value), known())
        return value

    return Constraint(f"the name of a {kind}", accept)


def optional(inner: Constraint) -> Constraint:
    """None, or what ``inner`` allows."""
    return Constraint(
        f"{inner.allowed}, or None", lambda value: None if value is None else inner.accept(value)
    )


def infinite(inner: Constraint) -> Constraint:
    """Positive infinity, or what ``inner`` allows."""
    return Constraint(
        f"{inner.allowed}, or inf",
        lambda value: math.inf if value == math.inf else inner.accept(value),
    )


def list_of(inner: Constraint, *, distinct: bool = True, empty: bool = False) -> Constraint:
    """A list or tuple, kept as a tuple, each element as ``inner`` allows."""

    def accept(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError
        _refuse(not (value or empty))
        kept = tuple(map(inner.accept, value))
        _refuse(distinct and any(one in kept[:i] for i, one in enumerate(kept)))
        return kept

    kind = "list" if empty else "non-empty list"
    different = " without repeats" if distinct else ""
    return Constraint(f"a {kind}{different}, each {inner.allowed}", accept)


def table_of(inner: Constraint) -> Constraint:
    """A table: values by name, each as ``inner`` allows; kept as a dict."""

    def accept(value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError
        _refuse(not all(isinstance(key, str) for key in value))
        return {key: inner.accept(item) for key, item in value.items()}

    return Constraint(f"a table, each value {inner.allowed}", accept)


def anything() -> Constraint:
    """Whatever is given; what it means is checked elsewhere."""
    return Constraint("anything", lambda value: value)


def instance(kind: type, what: str) -> Constraint:
    """An object of a class, which checks itself."""

    def accept(value: object) -> object:
        _refuse(not isinstance(value, kind))
        return value

    return Constraint(what, accept)


def declared(
    default: Any = None,  # noqa: ANN401 - a field's default may be anything
    constraint: Constraint | None = None,
    *,
    factory: Callable[[], Any] | None = None,
    help: str = "",
    unit: str = "",
    source: str = "",
) -> Any:  # noqa: ANN401 - it stands for the field, of whatever type
    """Declare a field of a dataclass: its default, what it may be, and what to say of it.

    Args:
        default: Its default; not with ``factory``.
        constraint: What :func:`check_fields` holds it to.
        factory: Makes the default, where it can change.
        help: What it is, in a line: for command lines and pages.
        unit: Of its value.
        source: Why the default is what it is.
    """
    data = {"constraint": constraint, "help": help, "unit": unit, "source": source}
    if factory is not None:
        return field(default_factory=factory, metadata=data)
    return field(default=default, metadata=data)


def check_fields(record: Any) -> None:  # noqa: ANN401 - any dataclass
    """Hold the declared fields of a dataclass to their constraints; each is kept in its one form.

    Raises:
        ConfigError: A value is not allowed.
        UnknownNameError: A name is not known.
    """
    for one in fields(record):
        constraint = one.metadata.get("constraint")
        if constraint is not None:
            kept = constraint.check(one.name, getattr(record, one.name))
            object.__setattr__(record, one.name, kept)


def check_keys(
    given: Iterable[object], known: Iterable[str], where: str, *, kind: str = "key", note: str = ""
) -> None:
    """Refuse a key that is not known; the message has the nearest one.

    Args:
        given: The keys.
        known: Those that may be given.
        where: Where they are from.
        kind: What they are called.
        note: What else to say.

    Raises:
        UnknownNameError: One is not known.
    """
    allowed = list(known)
    for key in given:
        if key not in allowed:
            raise UnknownNameError(kind, str(key), allowed, where, note=note)


def read_record(kind: type[R], data: object, where: str, *, note: str = "") -> R:
    """Make a dataclass from named values, as a file gives them; absent fields keep their defaults.

    Args:
        kind: The dataclass.
        data: Values by field name.
        where: Where they are from, for messages.
        note: What else to say of a key that is no field.

    Raises:
        UnknownNameError: A key is no field.
        ConfigError: This is no table, or a value is not allowed.
    """
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where} must be a table of values by name, got {data!r}")
    check_keys(data, [one.name for one in fields(kind)], where, kind="field", note=note)  # type: ignore[arg-type]
    with located(where):
        return kind(**data)


def damaged(path: Path, error: Exception) -> ConfigError:
    """What to say of a file that cannot be understood: which one, and why, in one line."""
    reason = (str(error) or "no reason given").splitlines()[0]
    return ConfigError(f"{path} is damaged ({type(error).__name__}: {reason})")


# What follows goes as its rooms declare their fields.

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
    for one in fields(record):
        value = getattr(record, one.name)
        kind = str(one.type)
        what, types = _KINDS.get(kind, ("a table", ()))
        right = isinstance(value, types) if types else type(value).__name__ == kind
        if right and kind == "dict[str, float]":
            right = all(_is_number(item) for item in value.values())
        elif right and kind in ("int", "float"):
            right = _is_number(value)
        if not right:
            raise ConfigError(f"{one.name} must be {what}, given {value!r}")


def _is_number(value: object) -> bool:
    """Whether it is a number, which a truth value and NaN are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
