"""Which files are networks? One line a format: how its files end, and which module reads them.

Names, scenarios, commands and pages know the formats from here alone. Another format is a module
beside this one and a line in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from prema_gym.errors import MissingExtraError
from prema_gym.networks.network import Phase


@dataclass(frozen=True, kw_only=True)
class NetworkFormat:
    """One kind of file that a network can come from.

    Attributes:
        ending: How a file's name ends, in lower case.
        name: What such a file is.
        reads: What is read of it, in a line for readers.
        module: The module of this room that reads it: ``read(path, strict=…)`` gives phases, and
            notes on what was skipped or assumed; what it reads in part is an error if ``strict``.
        extra: The extra of this package that reading needs, if any.
    """

    ending: str
    name: str
    reads: str
    module: str
    extra: str = ""

    def read(self, path: str, *, strict: bool) -> tuple[tuple[Phase, ...], list[str]]:
        """The phases of a file, and notes.

        Raises:
            ConfigError: The file cannot be read, or holds something that is not allowed.
            MissingExtraError: A package of ``extra`` is not installed.
        """
        reader = import_module(f"{__package__}.{self.module}")
        try:
            phases, notes = reader.read(path, strict=strict)
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
        extra="networks",
    ),
)


def format_of(name: object) -> NetworkFormat | None:
    """The format of a file of this name; None if no network is read from such a file."""
    if not isinstance(name, str):
        return None
    return next((one for one in FORMATS if name.lower().endswith(one.ending)), None)


def endings(*, named: bool = False) -> str:
    """All endings, as in "must end in …"; ``named``: each with what such a file is."""
    return " or ".join(f"{one.ending} ({one.name})" if named else one.ending for one in FORMATS)
