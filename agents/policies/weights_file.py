"""How are a trained scheduler's weights kept in a file, so that nothing doubtful can be loaded?

One ``.npz``: the arrays of the network and one JSON text that says what they are. It is read
without pickle, so a file from elsewhere can carry no code, and every part is checked before use: a
damaged, missing or mismatched file gives one line that says so. Files are written beside their
place and then renamed, so a crash leaves the old one or the new one, never half of one.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np

from prema_gym.agents.scorer import balancer_names
from prema_gym.agents.scorer.balancer_shape import BalancerShape, BalancerWeights, balancer_shape_of
from prema_gym.agents.scorer.shape import ScorerShape, Weights, shape_of
from prema_gym.errors import ConfigError
from prema_gym.files import write_atomically
from prema_gym.simulator import MECHANISMS, column_names
from prema_gym.simulator.features import FEATURES

# What NumPy and `json` raise at bytes that mean nothing; an array's header is parsed as Python.
_DAMAGED = (ValueError, KeyError, TypeError, EOFError, SyntaxError, TokenError, zipfile.BadZipFile)

FORMAT = 1
"""Version of the layout; raised whenever an old file would be misread."""


AnyWeights = Weights | BalancerWeights


class Network(NamedTuple):
    """One kind of network that a file may hold.

    Attributes:
        name: What the file calls it.
        weights: The named tuple of its arrays.
        features: Names of what it sees; a file made for others is refused.
        shape_of: Checks the arrays, and says their sizes.
    """

    name: str
    weights: type[Any]
    features: tuple[str, ...]
    shape_of: Callable[[Any], ScorerShape | BalancerShape]


NETWORKS: dict[str, Network] = {
    network.name: network
    for network in (
        Network("scorer", Weights, tuple(name for name, _ in FEATURES), shape_of),
        Network(
            "balancer",
            BalancerWeights,
            tuple(
                name
                for names in (
                    balancer_names.INPUTS,
                    balancer_names.OF_ALL,
                    balancer_names.PREFERENCES,
                )
                for name, _ in names
            ),
            balancer_shape_of,
        ),
    )
}
"""Every kind of network, by its name."""


def save_weights(path: Path, weights: AnyWeights, about: Mapping[str, Any]) -> None:
    """Write a network and what is known about it.

    Args:
        path: Ends in ``.npz``.
        weights: The network.
        about: Plain data; ``mechanisms`` (names) is required, the rest is for reports.
    """
    network = next(kind for kind in NETWORKS.values() if isinstance(weights, kind.weights))
    described = {
        "format": FORMAT,
        "network": network.name,
        "features": list(network.features),
        "columns": list(column_names()),
        **about,
    }

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(described)), **weights._asdict())

    write_atomically(path, write)


def load_weights(path: Path) -> tuple[AnyWeights, dict[str, Any]]:
    """Read a network and what is known about it; ``about["digest"]`` names the file's content.

    Raises:
        ConfigError: The file is missing, damaged, or made for another table or network.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    if not zipfile.is_zipfile(io.BytesIO(content)):  # NumPy would advise to unpickle it
        raise _not_ours(path, f"{len(content)} bytes that are no .npz archive")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            network = _network_of(about)
            weights = network.weights(
                *(
                    np.ascontiguousarray(file[name], dtype=np.float32)
                    for name in network.weights._fields
                )
            )
    except (*_DAMAGED, OSError) as error:
        reason = f"{type(error).__name__}: {error}"
        if "allow_pickle" in reason:  # the same advice again
            reason = "an array of Python objects"
        raise _not_ours(path, reason) from None
    _check(path, network, weights, about)
    about["digest"] = hashlib.sha256(content).hexdigest()[:12]
    return weights, about


def _not_ours(path: Path, found: str) -> ConfigError:
    return ConfigError(
        f"{path} is damaged or not a trained scheduler (an .npz that prema-gym train wrote): "
        f"{found}"
    )


def _network_of(about: Any) -> Network:  # noqa: ANN401 - whatever a file holds
    """The kind of network that a file says it holds; files of old hold scorers."""
    return NETWORKS[about.get("network", "scorer") if isinstance(about, dict) else "scorer"]


def _check(path: Path, network: Network, weights: AnyWeights, about: object) -> None:
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else None
        raise ConfigError(f"{path} has the layout {found!r}, this version reads {FORMAT}")
    # The features read columns by name, so a table may have gained some since.
    columns = about.get("columns")
    for what, same in (
        ("features", about.get("features") == list(network.features)),
        ("columns", isinstance(columns, list) and set(map(str, columns)) <= set(column_names())),
    ):
        if not same:
            raise ConfigError(
                f"{path} was trained on other {what} than this version has: train it again"
            )
    mechanisms = about.get("mechanisms")
    if not isinstance(mechanisms, list) or any(m not in MECHANISMS for m in mechanisms):
        raise ConfigError(f"{path} names no known mechanisms, got {mechanisms!r}")
    try:
        shape = network.shape_of(weights)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if shape.mechanisms != len(mechanisms):
        raise ConfigError(
            f"{path} scores {shape.mechanisms} mechanisms and names {len(mechanisms)}"
        )
