"""Which files are networks? One line a format: how its files end, and which module reads them.

Names, scenarios, commands and pages know the formats from here alone. Another format is a module
beside this one and a line in the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated

from prema_gym.checks import check_fields, table_of, truth, whole
from prema_gym.errors import ConfigError, MissingExtraError, located
from prema_gym.networks.network import Phase

_SIZE = re.compile("[0-9]{1,9}")
_LENIENT = "lenient"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is to be read: what may follow its name, ``?t=128&lenient``.

    Attributes:
        lenient: Whether a part of its work may be lost.
        dims: Sizes of open axes, by name; 0 for one that holds nothing.

    Raises:
        ConfigError: A size is not a whole number of at least 0.
    """

    lenient: Annotated[bool, truth()] = False
    dims: Annotated[Mapping[str, int], table_of(whole(0))] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        words = [f"{name}={size}" for name, size in sorted(self.dims.items())]
        return "&".join([*words, *([_LENIENT] if self.lenient else [])])

    def joined(self, other: Reading) -> Reading:
        """What this one or another one says, the other one's sizes first."""
        return Reading(
            lenient=self.lenient or other.lenient, dims={**self.dims, **dict(other.dims)}
        )

    @classmethod
    def parse(cls, words: Iterable[str]) -> Reading:
        """Read it from words such as ``t=128`` and ``lenient``.

        Raises:
            ConfigError: A word is neither.
        """
        lenient, dims = False, {}
        for word in words:
            name, equals, size = word.rpartition("=")
            if word == _LENIENT:
                lenient = True
            elif name and equals and _SIZE.fullmatch(size):
                dims[name] = int(size)
            else:
                raise ConfigError(f"the size of an axis must be NAME=SIZE, got {word!r}")
        return cls(lenient=lenient, dims=dims)


@dataclass(frozen=True, kw_only=True)
class NetworkFormat:
    """One kind of file that a network can come from.

    Attributes:
        ending: How a file's name ends, in lower case.
        name: What such a file is.
        reads: What is read of it, in a line for readers.
        module: The module of this room that reads it: ``read(path, lenient=…)`` gives phases, and
            notes on what was skipped or assumed; what it reads in part is an error unless
            ``lenient``.
        has_axes: Whether its inputs may have open axes: ``read`` then takes ``dims``, too.
        extra: The extra of this package that reading needs, if any.
    """

    ending: str
    name: str
    reads: str
    module: str
    has_axes: bool = False
    extra: str = ""

    def read(self, path: str, reading: Reading) -> tuple[tuple[Phase, ...], list[str]]:
        """The phases of a file, and notes.

        Raises:
            ConfigError: The file cannot be read, or holds something that is not allowed.
            MissingExtraError: A package of ``extra`` is not installed.
        """
        reader = import_module(f"{__package__}.{self.module}")
        if reading.dims and not self.has_axes:
            raise ConfigError(f"{path}: a {self.name} has no open axes, got {reading}")
        axes = {"dims": reading.dims} if self.has_axes else {}
        try:
            phases, notes = reader.read(path, lenient=reading.lenient, **axes)
        except ModuleNotFoundError as error:
            if not self.extra:
                raise
            raise MissingExtraError(f"reading {path}", str(error.name), self.extra) from None
        return phases, notes


FORMATS = (
    NetworkFormat(
        ending=".csv",
        name="SCALE-Sim table",
        reads="one layer a row; the header says whether convolutions or products (M, N, K)",
        module="scalesim",
    ),
    NetworkFormat(
        ending=".onnx",
        name="ONNX graph",
        reads="operators and sizes, never weights: they may be missing",
        module="onnx_graph",
        has_axes=True,
        extra="networks",
    ),
)


def format_of(name: object) -> NetworkFormat | None:
    """The format of a file of this name; None if no network is read from such a file."""
    if not isinstance(name, str):
        return None
    path = name.partition("?")[0].lower()
    return next((one for one in FORMATS if path.endswith(one.ending)), None)


def split_name(name: str) -> tuple[str, Reading]:
    """A file's name as its path, and how to read it.

    Raises:
        ConfigError: What follows the ``?`` is not understood.
    """
    path, _, query = name.partition("?")
    with located(repr(name)):
        return path, Reading.parse(filter(None, query.split("&")))


def join_name(path: str, reading: Reading) -> str:
    """The one name of a file that is read in this way."""
    return f"{path}?{reading}" if str(reading) else path


def endings(*, named: bool = False) -> str:
    """All endings, as in "must end in …"; ``named``: each with what such a file is."""
    return " or ".join(f"{one.ending} ({one.name})" if named else one.ending for one in FORMATS)
