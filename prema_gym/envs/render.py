"""How is an episode shown? As text, as an image, or in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.simulator import Simulator
from prema_gym.views.episode import EpisodeView, view
from prema_gym.views.gantt import draw_gantt, figure_size
from prema_gym.views.raster import picture
from prema_gym.views.text import text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Renderer:
    """Shows environments of a simulator in one mode; holds the window, if there is one.

    Args:
        mode: "ansi", "rgb_array", "human" or None.
        frames_per_second: How long a window's frame stays at least.
    """

    def __init__(self, mode: str | None, frames_per_second: float) -> None:
        self._mode = mode
        self._fps = frames_per_second
        self._window: Figure | None = None

    def render(self, simulator: Simulator, row: int) -> str | NDArray[np.uint8] | None:
        """Show one environment; see `PremaNPUEnv.render`.

        Raises:
            ConfigError: "human" without a way to open a window.
            MissingExtraError: Matplotlib is needed and not installed.
        """
        episode = view(simulator, row)
        if self._mode == "ansi":
            return text(episode, simulator.tables()[row])
        if self._mode == "rgb_array":
            return picture(episode)
        self._show(episode)
        return None

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            from matplotlib import pyplot

            pyplot.close(self._window)
            self._window = None

    def _show(self, episode: EpisodeView) -> None:
        try:
            from matplotlib import pyplot
            from matplotlib.backend_bases import FigureManagerBase
        except ImportError:
            raise MissingExtraError("render_mode='human'", "matplotlib", "plot") from None
        if self._window is None:
            self._window = pyplot.figure(
                figsize=figure_size(episode.num_tasks), layout="constrained"
            )
            # A backend with windows has a way of its own to show them.
            manager = self._window.canvas.manager
            if manager is None or type(manager).show is FigureManagerBase.show:
                self.close()
                raise ConfigError(
                    "render_mode='human' needs a window, and Matplotlib's backend "
                    f"{pyplot.get_backend()!r} has none: use render_mode='rgb_array'"
                )
        draw_gantt(episode, self._window)
        pyplot.pause(1.0 / self._fps)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy opens its own window.
        return Renderer, (self._mode, self._fps)
