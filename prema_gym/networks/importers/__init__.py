"""How does a network come out of a file? The file's ending says which module of this room reads it.

``read_network("models/resnet18.onnx")`` gives the network and, as notes, what a reader of its
numbers should know: what was skipped, what was assumed. Scenarios and commands need only the file's
name, see :func:`prema_gym.networks.get`; how to read it may follow the name behind a ``?``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.formats import Reading, endings, format_of, split_name
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
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    lenient: bool = False,
    dims: Mapping[str, int] | None = None,
) -> Imported:
    """Read a network from a file of one of the ``FORMATS``: a SCALE-Sim table, an ONNX graph.

    Args:
        path: The file; how to read it may follow, as in ``model.onnx?t=128&lenient``.
        name: What the network is called; the file's name without its ending by default.
        lenient: Read a file of whose work a part is lost (operators that are not known, rows that
            are wrong); the notes say what.
        dims: Sizes of open axes of a graph's inputs, by their symbol; one without a symbol is
            called ``INPUT[AXIS]``.

    Raises:
        ConfigError: The file cannot be read, has another ending, or holds something that is not
            allowed; the message names the file, and the line or the operator.
        UnknownNameError: No open axis is called as one of ``dims``.
        MissingExtraError: Reading such a file needs a package that is not installed.
    """
    given = os.fspath(path)
    kind = format_of(given)
    if kind is None:
        raise ConfigError(
            f"{given!r} is no network file: its name must end in {endings(named=True)}"
        )
    file, reading = split_name(given)
    reading = reading.joined(Reading(lenient=lenient, dims=dims or {}))
    phases, notes = kind.read(file, reading)
    check_wiring(phases)
    network = Network(
        name=Path(file).stem if name is None else name,
        title=Path(file).name,
        source=f"{kind.name} {file}",
        domain="custom",
        build=FixedPhases(phases),
    )
    return Imported(network, tuple(f"{file}: {note}" for note in notes))
