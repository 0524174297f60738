"""How does a network come out of a file? The file's ending says which module of this room reads it.

``read_network("models/resnet18.onnx")`` gives the network and, as notes, what a reader of its
numbers should know: what was skipped, what was assumed. Scenarios and commands need only the file's
name, see :func:`prema_gym.networks.get`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.formats import endings, format_of
from prema_gym.networks.network import FixedPhases, Network, check_wiring

__all__ = ["Imported", "is_file", "read_network"]


@dataclass(frozen=True)
class Imported:
    """What came out of a file.

    Attributes:
        network: The network; its work for one input is all the work that the file describes.
        notes: One line each, with the file's name: what was skipped or assumed.
    """

    network: Network
    notes: tuple[str, ...] = ()


def is_file(name: object) -> bool:
    """Whether a network's name is the name of a file that can be imported."""
    return format_of(name) is not None


def read_network(
    path: str | os.PathLike[str], *, name: str | None = None, strict: bool = False
) -> Imported:
    """Read a network from a file of one of the ``FORMATS``: a SCALE-Sim table, an ONNX graph.

    Args:
        path: The file.
        name: What the network is called; the file's name without its ending by default.
        strict: Refuse a file with parts that would be skipped, instead of listing them in the
            notes.

    Raises:
        ConfigError: The file cannot be read, has another ending, or holds something that is not
            allowed; the message names the file, and the line or the operator.
        MissingExtraError: Reading such a file needs a package that is not installed.
    """
    file = os.fspath(path)
    kind = format_of(file)
    if kind is None:
        raise ConfigError(
            f"{file!r} is no network file: its name must end in {endings(named=True)}"
        )
    phases, notes = kind.read(file, strict=strict)
    check_wiring(phases)
    network = Network(
        name=Path(file).stem if name is None else name,
        title=Path(file).name,
        source=f"{kind.name} {file}",
        domain="custom",
        build=FixedPhases(phases),
    )
    return Imported(network, tuple(f"{file}: {note}" for note in notes))
