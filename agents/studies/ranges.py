"""What may be tuned, and between which values? Ranges as one types them: ``evolution.sigma=…``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError, UnknownNameError

FORM = "NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A/B/C"
PAIRED = ("seed", "eval_workloads", "eval_every", "scenario", "hardware", "objective")
"""Fields that must be the same in every trial, or scores would not be of the same workloads."""


@dataclass(frozen=True)
class Range:
    """Values of one field of the settings.

    Attributes:
        name: The field, with a point before it where it is in a table: ``evolution.sigma``.
        low: Least value; None for a choice.
        high: Greatest value.
        log: Whether logarithms are drawn.
        choices: The values of a choice.
    """

    name: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: tuple[object, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the field holds whole numbers."""
        return _kinds()[self.name] is int

    def draw(self, trial: Any) -> object:  # noqa: ANN401 - an Optuna trial
        """A value for one trial."""
        if self.choices:
            return trial.suggest_categorical(self.name, self.choices)
        if self.whole:
            return trial.suggest_int(self.name, self.low, self.high, log=self.log)
        return trial.suggest_float(self.name, self.low, self.high, log=self.log)


def read_ranges(texts: Sequence[str]) -> tuple[Range, ...]:
    """Read ranges.

    Args:
        texts: Each in one of the forms of :data:`FORM`.

    Raises:
        UnknownNameError: There is no such field, or none that can be tuned.
        ConfigError: No range is given, one twice, or one cannot be read.
    """
    if not texts:
        raise ConfigError(f"give at least one range to tune: {FORM}")
    found = tuple(map(_read, texts))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the range of {name!r} is given twice")
    return found


def _read(text: str) -> Range:
    name, equals, values = text.partition("=")
    kinds = _kinds()
    if not (equals and values):
        raise ConfigError(f"a range reads {FORM}, got {text!r}")
    if name in PAIRED:
        raise ConfigError(f"{name} cannot be tuned: all trials are judged on the same workloads")
    if name not in kinds:
        raise UnknownNameError("setting", name, kinds)
    kind = kinds[name]
    if "/" in values or ":" not in values:
        return Range(name, choices=tuple(_value(kind, part, text) for part in values.split("/")))
    low, high, *rest = values.split(":")
    if kind not in (int, float) or rest not in ([], ["log"]):
        raise ConfigError(f"a range reads {FORM}, got {text!r}")
    least, most = _value(kind, low, text), _value(kind, high, text)
    if not least <= most:
        raise ConfigError(f"a range goes from the lower value to the higher, got {text!r}")
    if rest and least <= 0:
        raise ConfigError(f"a range of logarithms is above 0, got {text!r}")
    return Range(name, low=least, high=most, log=bool(rest))


def _value(kind: Any, text: str, whole: str) -> Any:  # noqa: ANN401
    """One value as the field's type."""
    if kind is str:
        return text
    with suppress(ValueError):
        if kind is float:
            return float(text)
        if float(text).is_integer():
            return int(float(text))
    raise ConfigError(f"{text!r} is no {kind.__name__} in the range {whole!r}")


def _kinds() -> Mapping[str, Any]:
    """Type of each field that holds a number or a text, by its name."""
    found: dict[str, Any] = {}
    for name, kind in get_type_hints(TrainSettings).items():
        inside = get_type_hints(kind) if is_dataclass(kind) else {}
        of_fields = {one.name for one in fields(kind)} if is_dataclass(kind) else set()
        found |= {f"{name}.{inner}": inside[inner] for inner in inside if inner in of_fields}
        if not inside:
            found[name] = kind
    return {name: kind for name, kind in found.items() if kind in (int, float, str)}


def with_values(data: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """Settings as plain data, with the values of ranges in their places."""
    result = {name: dict(v) if isinstance(v, Mapping) else v for name, v in data.items()}
    for name, value in values.items():
        table, point, inner = name.partition(".")
        if point:
            result[table] = {**result.get(table, {}), inner: value}
        else:
            result[table] = value
    return result
