"""In which form do libraries look for an observation? Wrappers, for singles and for vectors.

A flat table is Gymnasium's own ``FlattenObservation``. ``observation="features"`` and
``slot_order=…`` need no wrapper (`EnvSettings`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from prema_gym.envs.infos import ACTION_MASK
from prema_gym.errors import ConfigError

if TYPE_CHECKING:
    _VectorWrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:  # Gymnasium before 1.4 gives it no parameters
    _VectorWrapper = VectorWrapper

AnyEnv = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]
Shown = Callable[[Any, dict[str, Any]], Any]

RLLIB = ("observations", "action_mask")
"""Names that the action-masking examples of RLlib look for."""
TIANSHOU = ("obs", "mask")
"""Names that Tianshou looks for."""


def with_mask(env: AnyEnv, names: tuple[str, str] = RLLIB, *, mask_dtype: Any = np.int8) -> AnyEnv:  # noqa: ANN401 - as NumPy's
    """Show the mask beside what is seen: a dict of two arrays.

    Args:
        env: A `PremaNPUEnv` or a `PremaNPUVectorEnv`, wrapped or not.
        names: Keys of what is seen and of the mask: :data:`RLLIB`, :data:`TIANSHOU`, one's own.
        mask_dtype: Of the mask, 1 where an action is legal.
    """
    seen, mask = names

    def space(inner: spaces.Space[Any], actions: tuple[int, ...]) -> spaces.Space[Any]:
        return spaces.Dict({seen: inner, mask: spaces.Box(0, 1, actions, mask_dtype)})

    def shown(observation: Any, info: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
        return {seen: observation, mask: info[ACTION_MASK].astype(mask_dtype)}

    return _wrapped(env, space, shown)


def log_scale(env: AnyEnv) -> AnyEnv:
    """Bring every number to order one: x becomes sign(x) · log(1 + |x|).

    Columns span eight decades (a share of a millisecond, megabytes); an ordinary network learns
    from their logarithms.
    """

    def scaled(table: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.sign(table) * np.log1p(np.abs(table))

    def space(inner: spaces.Space[Any], _: tuple[int, ...]) -> spaces.Space[Any]:
        if not isinstance(inner, spaces.Box):
            raise ConfigError(f"log_scale takes an environment of tables, got one of {inner}")
        box = spaces.Box(scaled(inner.low), scaled(inner.high), dtype=np.float32)
        return box

    return _wrapped(env, space, lambda observation, _: scaled(observation))


def _wrapped(
    env: AnyEnv,
    space: Callable[[spaces.Space[Any], tuple[int, ...]], spaces.Space[Any]],
    shown: Shown,
) -> AnyEnv:
    if isinstance(env, VectorEnv):
        return _VectorView(env, space, shown)
    if isinstance(env, gymnasium.Env):
        return _View(env, space, shown)
    raise ConfigError(f"an environment must be one of Gymnasium's, got {env!r}")


def _num_actions(space: spaces.Space[Any]) -> int:
    if not isinstance(space, spaces.Discrete):
        raise ConfigError(f"the actions of an environment must be Discrete, got {space}")
    return int(space.n)


class _View(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A single environment whose observations are shown in another form."""

    def __init__(self, env: gymnasium.Env[Any, Any], space: Any, shown: Shown) -> None:  # noqa: ANN401
        super().__init__(env)
        self._shown = shown
        self.observation_space = space(env.observation_space, (_num_actions(env.action_space),))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._shown(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:  # noqa: ANN401
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._shown(observation, info), reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, where masked algorithms look for them."""
        masks: NDArray[np.bool_] = self.get_wrapper_attr("action_masks")()
        return masks


# The wrapper of vectors is the same but for the shapes.
class _VectorView(_VectorWrapper):
    """A vector environment whose observations are shown in another form."""

    def __init__(self, env: VectorEnv[Any, Any, Any], space: Any, shown: Shown) -> None:  # noqa: ANN401
        super().__init__(env)
        actions = _num_actions(env.single_action_space)
        self._shown = shown
        self.single_observation_space = space(env.single_observation_space, (actions,))
        self.observation_space = space(env.observation_space, (env.num_envs, actions))

    @property
    def autoreset_mode(self) -> gymnasium.vector.AutoresetMode:
        """When who ended starts anew, where libraries look for it; Gymnasium's wrappers hide it."""
        mode: gymnasium.vector.AutoresetMode = self.metadata["autoreset_mode"]
        return mode

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
        observations, infos = self.env.reset(**arguments)
        return self._shown(observations, infos), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            self._show_finals(infos)
        return self._shown(observations, infos), rewards, terminated, truncated, infos

    def _show_finals(self, infos: dict[str, Any]) -> None:
        """Show the last observations of episodes that ended in the same form."""
        masks = infos["final_info"][ACTION_MASK]
        for i in np.flatnonzero(infos["_final_obs"]):
            last = {ACTION_MASK: masks[i]}
            infos["final_obs"][i] = self._shown(infos["final_obs"][i], last)
