"""What is kept of a batch, to continue from it later? Everything that moves; checked before use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.envs.rewards.ledger import LedgerState
from prema_gym.envs.settings import EnvSettings
from prema_gym.errors import ConfigError
from prema_gym.simulator.state import State

SHOWN_ONLY = ("strict", "info", "render_mode", "record_timeline")
"""Settings that change nothing about what is played; a timeline is checked by the simulator."""


class EpisodesState(NamedTuple):
    """What ``get_state()`` returns: copies of all that moves."""

    simulation: State
    totals: LedgerState
    over: NDArray[np.bool_]  # (B,)
    generators: tuple[Mapping[str, Any], ...]  # of each sub-environment, as NumPy gives it
    settings: EnvSettings
    options: Mapping[str, Any] | None = None  # those that hold


_KINDS: Mapping[str, type] = {
    "simulation": State,
    "totals": LedgerState,
    "generators": tuple,
    "settings": EnvSettings,
}


def check_kind(state: object) -> None:
    """Refuse what ``get_state()`` does not return.

    Raises:
        ConfigError: It is no state, or a part of it is of another kind.
    """
    if not isinstance(state, EpisodesState):
        raise ConfigError(f"a state must be what get_state() returned, got {state!r}")
    for part, kind in _KINDS.items():
        if not isinstance(getattr(state, part), kind):
            raise ConfigError(
                f"a state must be what get_state() returned; {part} of the given one is a "
                f"{type(getattr(state, part)).__name__}"
            )


def check_settings(given: EnvSettings, own: EnvSettings) -> None:
    """Refuse a state of an environment in which another game is played.

    Raises:
        ConfigError: A setting differs that changes what is played.
    """
    for field in fields(EnvSettings):
        if field.name in SHOWN_ONLY:
            continue
        if getattr(given, field.name) != getattr(own, field.name):
            raise ConfigError(
                f"the state was made with another {field.name} than this environment has"
            )


def check_generators(state: EpisodesState, num_envs: int) -> None:
    """Refuse a state without one generator for each sub-environment.

    Raises:
        ConfigError: It has another number.
    """
    if len(state.generators) != num_envs:
        raise ConfigError(
            f"the state has {len(state.generators)} generators, expected {num_envs}: it was made "
            "before a reset or with another number of sub-environments"
        )


def refuse_over(state: EpisodesState) -> None:
    """Refuse a state with episodes that are over, where nothing would start them anew.

    Raises:
        ConfigError: There is one.
    """
    if isinstance(state, EpisodesState) and np.any(state.over):
        raise ConfigError(
            "the state has episodes that are over and start anew in the next step; here they start "
            "anew in the step they end in"
        )
