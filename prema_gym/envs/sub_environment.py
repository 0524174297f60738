"""What is there to see of one sub-environment of a batch? What ``call`` and ``get_attr`` reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.envs.episodes import Episodes
from prema_gym.envs.render import Renderer
from prema_gym.envs.settings import EnvSettings
from prema_gym.metrics import IntArray


def all_of(episodes: Episodes, renderer: Renderer) -> list[SubEnvironment]:
    """Return an object for each sub-environment of a batch."""
    return [SubEnvironment(episodes, renderer, i) for i in range(episodes.num_envs)]


class SubEnvironment:
    """One sub-environment of a batch, to look at."""

    def __init__(self, episodes: Episodes, renderer: Renderer, index: int) -> None:
        self._episodes = episodes
        self._renderer = renderer
        self._index = index

    @property
    def render_mode(self) -> str | None:
        """The render mode of all."""
        return self._episodes.settings.render_mode

    @property
    def settings(self) -> EnvSettings:
        """The settings of all."""
        return self._episodes.settings

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The options of a reset that hold for its next episode too; None: there are none."""
        return self._episodes.options

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, bool (actions,)."""
        return np.array(self._episodes.masks(np.array([self._index]))[0])

    def timeline(self) -> IntArray:
        """Return who ran when; see `PremaNPUEnv.timeline`."""
        return self._episodes.simulator.timeline(self._index)

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return a text or an image of the episode so far."""
        return self._renderer.render(self._episodes.simulator, self._index)

    def __getattr__(self, name: str) -> object:
        known = [one for one in dir(type(self)) if not one.startswith("_")]
        raise AttributeError(
            f"a sub-environment of a batch has no {name!r}, only {', '.join(known)}"
        )
