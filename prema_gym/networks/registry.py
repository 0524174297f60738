"""Which networks have a name? Those of the zoo, those that a user registers, and files.

Scenarios, workload files and the command line know networks by name alone, so a name means one
network for as long as the process lives: whatever was worked out for it stays true. A name that is
a file's (``models/resnet18.onnx``) stands for its absolute path, and means what the file held when
it was first asked for.
"""

from __future__ import annotations

import os
import re

from prema_gym.errors import ConfigError, UnknownNameError, located
from prema_gym.files import remember
from prema_gym.networks.importers import is_file, read_network
from prema_gym.networks.importers.formats import endings, join_name, split_name
from prema_gym.networks.network import Network, check_wiring
from prema_gym.networks.zoo import ZOO

_NETWORKS: dict[str, Network] = {network.name: network for network in ZOO}
_NOTES: dict[str, tuple[str, ...]] = {}

# A name is also a word of a command line, a cell of a table and a value in a file.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def names() -> tuple[str, ...]:
    """Names of all networks, in the order of a listing: the zoo's, then registered and files."""
    return tuple(_NETWORKS)


def get(name: str, *, where: str = "") -> Network:
    """The network called ``name``.

    Args:
        name: A name of the zoo, or of a network registered in this process, or a file of one of
            the formats in :mod:`prema_gym.networks.importers.formats`, from the current folder. A
            file is read once per process and then known by its absolute path.
        where: What the name came from, for the message.

    Raises:
        UnknownNameError: No network has that name; the message gives the nearest one.
        ConfigError: The file cannot be read or imported.
        MissingExtraError: A file that needs a package which is not installed.
    """
    known_as = full_name(name)
    network = _NETWORKS.get(known_as) if isinstance(known_as, str) else None
    if network is not None:
        return network
    if not is_file(name):
        note = (
            f"a file's name ends in {endings()}; "
            "a network of your own: prema_gym.networks.register(network), in every process"
        )
        known = (each for each in _NETWORKS if not is_file(each))
        raise UnknownNameError("network", str(name), known, where, note=note)
    imported = read_network(name, name=known_as)
    _NOTES[known_as] = imported.notes
    return _NETWORKS.setdefault(known_as, imported.network)


def notes(name: str) -> tuple[str, ...]:
    """What was skipped or assumed when a network's file was read; nothing for other networks."""
    return _NOTES.get(full_name(name), ())


def full_name(name: str) -> str:
    """A network's name, or the absolute path of its file: the same from every folder."""
    if not is_file(name) or name in _NETWORKS:
        return name
    path, reading = split_name(name)
    return remember(join_name(os.path.realpath(path), reading), name)


def register(network: Network) -> None:
    """Make a network of your own known by its name, in this process.

    A name is never given to another network, since results of the first may be kept; registering an
    equal network again changes nothing. Another process (a spawned worker, say) has to
    register too: put the call at the top level of a module that it imports.

    Args:
        network: Anything but a name already taken. If a decoder runs once per output step, it needs
            ``input_lengths``: output lengths are drawn as a multiple of the input's.

    Raises:
        ConfigError: Not a `Network`, a name that is taken or is not letters, digits, ``.``, ``_``
            and ``-``, layers that do not follow from each other, or output steps without
            ``input_lengths``.
    """
    if not isinstance(network, Network):
        raise ConfigError(f"register takes a Network, got {network!r}")
    name = network.name
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"network {name!r}: a registered name is letters, digits, '.', '_' and '-', "
            "the first a letter or digit"
        )
    if name in _NETWORKS:
        if _NETWORKS[name] == network:
            return
        raise ConfigError(f"network {name!r}: the name is taken; choose another one")
    with located(network.where):
        check_wiring(network.phases())
    if network.has_output_steps and not network.is_recurrent:
        raise ConfigError(
            f"network {name!r}: has output steps, so give its input_lengths; (1, 1) for an input "
            "of fixed size"
        )
    _NETWORKS[name] = network
