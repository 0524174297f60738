"""What may a value be? A constraint is declared once, on the field, and worded once, here.

A dataclass declares its fields and has them held to it when it is made::

    @dataclass(frozen=True, kw_only=True)
    class Traffic:
        num_tasks: int = declared(8, whole(1, 1_000_000), unit="tasks", help="tasks of a workload")
        window_ms: float = declared(10.0, number(0.0, 1e9), unit="ms", help="arrival window")

        def __post_init__(self) -> None:
            check_fields(self)

A constraint that many fields share belongs to their type: with ``Size = Annotated[int, whole()]``,
``columns: Size`` is declared too, and a type checker still knows that it has no default.

Every message reads ``NAME must be WHAT IS ALLOWED, got VALUE``; :func:`prema_gym.errors.located`
puts the file or section in front. A record is read from a file by :func:`read_record`. Checks of
several fields together stay where the fields are. Source: ours.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from prema_gym.errors import ConfigError, UnknownNameError, located

R = TypeVar("R")

_TRUTH = (bool, np.bool_)


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
    least: int | None = 1,
    most: int | None = None,
    *,
    unit: str = "",
    from_float: bool = False,
) -> Constraint:
    """A whole number, of Python's or NumPy's. A truth value is a slip, not a number.

    Args:
        least: Smallest value allowed; None: any.
        most: Largest; None: any.
        unit: Of the number, for the message.
        from_float: Also take a float that is whole, as ``358e9`` is.
    """

    def accept(value: object) -> int:
        _refuse(isinstance(value, _TRUTH))
        if from_float and isinstance(value, float | np.floating) and value.is_integer():
            value = int(value)
        number = operator.index(value)  # type: ignore[arg-type]
        _refuse(least is not None and number < least)
        _refuse(most is not None and number > most)
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
        _refuse(isinstance(value, (*_TRUTH, str, bytes, np.complexfloating)))
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


def _span(least: float | None, most: float | None) -> str:
    """“ from 1 to 16”, “ of at least 1”, “ of at most 16” or nothing."""
    lower = "" if least is None or math.isinf(least) else _plain(least)
    upper = "" if most is None or math.isinf(most) else _plain(most)
    if lower and upper:
        return f" from {lower} to {upper}"
    if lower:
        return f" of at least {lower}"
    return f" of at most {upper}" if upper else ""


def _at_most(most: float) -> str:
    return f" and at most {_plain(most)}" if math.isfinite(most) else ""


def _plain(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def truth() -> Constraint:
    """True or false, and nothing that merely counts as one."""

    def accept(value: object) -> bool:
        _refuse(not isinstance(value, _TRUTH))
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
    data = stated(constraint, help=help, unit=unit, source=source)
    if factory is not None:
        return field(default_factory=factory, metadata=data)
    return field(default=default, metadata=data)


def stated(
    constraint: Constraint | None = None, *, help: str = "", unit: str = "", source: str = ""
) -> dict[str, Any]:
    """Say of a field without a default what :func:`declared` says of one with.

    Used as ``name: str = field(metadata=stated(text(), help="…"))``.
    """
    return {"constraint": constraint, "help": help, "unit": unit, "source": source}


def check_fields(record: object) -> None:
    """Hold the declared fields of a dataclass to their constraints; each is kept in its one form.

    Raises:
        ConfigError: A value is not allowed.
    """
    kind: type = type(record)
    for name, constraint in _declared_by(kind):
        value = getattr(record, name)
        kept = constraint.check(name, value)
        if kept is not value:
            object.__setattr__(record, name, kept)


@cache
def _declared_by(kind: type) -> tuple[tuple[str, Constraint], ...]:
    """The constraints of a dataclass's fields, by name: declared on the field or in its type."""
    found = {one.name: one.metadata.get("constraint") for one in fields(kind)}
    if not all(found.values()):
        types = _types_of_fields(kind)
        found = {name: one or _carried_by(types.get(name)) for name, one in found.items()}
    return tuple((name, one) for name, one in found.items() if one is not None)


def _types_of_fields(kind: type) -> dict[str, object]:
    """The types of a class's fields, or those of its nearest parent whose names can be looked up.

    A class inside a function, say, may have types that only a type checker can.
    """
    for parent in kind.__mro__:
        with suppress(NameError):
            return get_type_hints(parent, include_extras=True)
    return {}


def _carried_by(kind: object) -> Constraint | None:
    """The constraint in ``Annotated[kind, constraint]``, if it is one."""
    extras = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((one for one in extras if isinstance(one, Constraint)), None)


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
    known = fields(kind)  # type: ignore[arg-type]
    check_keys(data, [one.name for one in known], where, kind="field", note=note)
    for one in known:
        if one.name not in data and one.default is one.default_factory is MISSING:
            raise ConfigError(f"{where} must have {one.name}")
    with located(where):
        return kind(**data)


def plain(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Undo :func:`read_record`: a dataclass's fields as JSON and TOML take them, None left out."""
    named = {one.name: getattr(record, one.name) for one in fields(record)}
    return {name: _plain_value(value) for name, value in named.items() if value is not None}


def _plain_value(value: object) -> object:
    if is_dataclass(value):
        return plain(value)
    if isinstance(value, Mapping):
        return {name: _plain_value(item) for name, item in value.items()}
    return [_plain_value(item) for item in value] if isinstance(value, tuple) else value


def damaged(path: Path, error: Exception) -> ConfigError:
    """What to say of a file that cannot be understood: which one, and why, in one line."""
    reason = (str(error) or "no reason given").splitlines()[0]
    return ConfigError(f"{path} is damaged ({type(error).__name__}: {reason})")
