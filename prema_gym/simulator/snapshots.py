"""Can a simulation go on from this state? Its arrays are held against the ones they replace.

Compiled code takes shapes and types on trust, so whatever a state came through (a file, another
process, a user's hands) is checked before it is taken over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError
from prema_gym.simulator.state import State


def check_array(name: str, given: NDArray[Any], own: NDArray[Any]) -> None:
    """Hold an array of a state against the one it is to take the place of.

    Raises:
        ConfigError: It has another shape or type: compiled code would take it on trust.
    """
    if not isinstance(given, np.ndarray):
        raise ConfigError(f"state array {name} is a {type(given).__name__}, expected an array")
    if given.shape != own.shape:
        raise ConfigError(f"state array {name} has shape {given.shape}, expected {own.shape}")
    if given.dtype is not own.dtype and given.dtype != own.dtype:  # the latter takes longer
        raise ConfigError(f"state array {name} is {given.dtype}, expected {own.dtype}")
    if not given.flags.c_contiguous:
        raise ConfigError(f"state array {name} is not contiguous, expected one that is")


def check_state(given: State, own: State, *, record_timeline: bool) -> None:
    """Hold a state against the one it is to take the place of.

    Args:
        given: From another simulator, perhaps.
        own: The state so far.
        record_timeline: Whether the simulator keeps a timeline.

    Raises:
        ConfigError: The shapes or types differ, or only one of the two keeps a timeline.
    """
    for name in ("env", "task", "slots", "by_arrival", "observation", "mask", "upcoming", "loops"):
        check_array(name, getattr(given, name), getattr(own, name))
    like = own.timeline
    if np.shape(given.timeline) != like.shape:  # there may be room for more slices, or fewer
        slices = np.shape(given.timeline)[1:2] or (0,)
        like = np.empty((own.env.shape[0], *slices, 4), np.int64)
    check_array("timeline", given.timeline, like)
    if (given.timeline.shape[1] > 0) != record_timeline:
        kept = "none" if record_timeline else "one"
        raise ConfigError(f"the state was made with another record_timeline: it has {kept}")
