"""How do the fields of a record become options? By name, with their types, defaults and help.

A field ``sigma`` of a record under ``evolution`` is ``--evolution-sigma``; a table takes KEY=VALUE,
as often as wanted. An option that is not given leaves the field alone.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar, cast, get_origin, get_type_hints

import typer

from prema_gym.errors import ConfigError

F = TypeVar("F", bound=Callable[..., None])
Data = dict[str, Any]


@dataclass(frozen=True)
class FieldOption:
    """One option.

    Attributes:
        path: Names of the field and of the records around it.
        names: What it is called on the command line, the first made from the path.
        kind: Type of the field.
        field: The field.
    """

    path: tuple[str, ...]
    names: tuple[str, ...]
    kind: Any
    field: Field[Any]

    @property
    def parameter(self) -> str:
        """Name of the command's parameter."""
        return "_".join(self.path)

    @property
    def is_table(self) -> bool:
        """Whether it takes KEY=VALUE."""
        return (get_origin(self.kind) or self.kind) is dict

    @property
    def default(self) -> Any:  # noqa: ANN401 - of whatever type the field is
        """The field's default."""
        if self.field.default_factory is not MISSING:
            return self.field.default_factory()
        return self.field.default

    def annotation(self) -> object:
        """What Typer reads: the type and how the option is named, read and explained."""
        about: Data = {"help": self._help(), "show_default": False}
        if self.is_table:
            return Annotated[
                list[str] | None, typer.Option(*self.names, metavar="KEY=VALUE", **about)
            ]
        if self.kind is int:
            about["parser"] = read_whole
        about["metavar"] = {int: "N", float: "X"}.get(self.kind, "TEXT")
        return Annotated[self.kind | None, typer.Option(*self.names, **about)]

    def _help(self) -> str:
        """What the field is, in which unit, and what it is if nothing is given."""
        data, default = self.field.metadata, self.default
        if self.is_table:
            default = " ".join(f"{key}={value:g}" for key, value in default.items())
        shown = data["source"] if default is None else default
        unit = f" [{data['unit']}]" if data["unit"] else ""
        return f"{data['help']}{unit}" + (f" (default: {shown})" if shown != "" else "")


def field_options(
    record: type, aliases: Mapping[str, str], above: tuple[str, ...] = ()
) -> Iterator[FieldOption]:
    """Options of a record's fields, and of the records in it.

    Args:
        record: A dataclass of declared fields.
        aliases: A further name of an option, by the name that it has from its path.
        above: Names of the records around this one.
    """
    kinds = get_type_hints(record)
    for one in fields(record):
        kind, path = kinds[one.name], (*above, one.name)
        if is_dataclass(kind):
            yield from field_options(cast(type, kind), aliases, path)
            continue
        name = "--" + "-".join(path).replace("_", "-")
        names = (name, aliases[name]) if name in aliases else (name,)
        yield FieldOption(path, names, kind, one)


def with_options(options: tuple[FieldOption, ...]) -> Callable[[F], F]:
    """Let a command with ``**given`` take options; those not given are None."""

    def decorated(function: F) -> F:
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        made = [
            inspect.Parameter(
                option.parameter,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=option.annotation(),
            )
            for option in options
        ]
        cast(Any, function).__signature__ = signature.replace(parameters=[*own, *made])
        return function

    return decorated


def put(
    options: tuple[FieldOption, ...], given: Mapping[str, object], data: Mapping[str, Any]
) -> Data:
    """What a file holds, with the options that are given in their places.

    Args:
        options: All of them.
        given: Values by parameter; None where it is not given.
        data: Nested tables, as from a file.
    """
    result: Data = deepcopy(dict(data))
    for option in options:
        value = given[option.parameter]
        if value is None:
            continue
        place = result
        for name in option.path[:-1]:
            place = place.setdefault(name, {})
        name = option.path[-1]
        if option.is_table:
            value = place.get(name, option.default) | read_pairs(option.names[-1], value)
        place[name] = value
    return result


def read_whole(text: str) -> int:
    """Read a whole number: 1000000, 1_000_000 or 1e6.

    Raises:
        BadParameter: It is none.
    """
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if float(text).is_integer():
            return int(float(text))
    raise typer.BadParameter(
        f"must be a whole number, like 1000000, 1_000_000 or 1e6, got {text!r}"
    )


def read_pairs(option: str, texts: object) -> Data:
    """Read KEY=VALUE, the value as in JSON, or else as text."""
    pairs: Data = {}
    for text in cast("list[str]", texts):
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ConfigError(f"{option} must be KEY=VALUE, got {text!r}")
        pairs[key] = value
        with suppress(ValueError):
            pairs[key] = json.loads(value)
    return pairs
