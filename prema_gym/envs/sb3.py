"""How does Stable-Baselines3 train on the native batch? As one of its vectorised environments.

Needs the ``train`` extra. Works with ``MaskablePPO``, ``PPO``, ``DQN``, ``A2C``, ``VecNormalize``,
``evaluate_policy`` and ``get_action_masks``. What the sub-environments do is described in
:class:`prema_gym.envs.env.PremaNPUEnv`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from prema_gym.envs import infos as keys
from prema_gym.envs.actions import checked_actions
from prema_gym.envs.ended import EndedEpisodes
from prema_gym.envs.episodes import Episodes, Step
from prema_gym.envs.generators import seeds_of
from prema_gym.envs.render import Renderer
from prema_gym.envs.settings import EnvSettings
from prema_gym.envs.snapshots import EpisodesState, refuse_over
from prema_gym.envs.spaces import action_space
from prema_gym.envs.sub_environment import all_of
from prema_gym.envs.vector import RENDER_MODES
from prema_gym.errors import ConfigError, MissingExtraError, UnknownNameError
from prema_gym.metrics import METRICS, IntArray
from prema_gym.simulator import Simulator

try:
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor
except ImportError as error:
    raise MissingExtraError("prema_gym.envs.sb3", "stable_baselines3", "train") from error

METRIC_NAMES = tuple(metric.name for metric in METRICS)


def make_sb3_env(
    num_envs: int,
    *,
    seed: int | None = None,
    threads: int = 1,
    monitor_file: str | None = None,
    **arguments: object,
) -> VecMonitor:
    """Make a Stable-Baselines3 environment of ``num_envs`` sub-environments.

    Args:
        num_envs: Sub-environments.
        seed: Number *i* starts from ``seed + i``; None: from fresh entropy. A model's own ``seed``
            argument, or ``env.seed()``, replaces it.
        threads: Threads among which they are split.
        monitor_file: Also write reward, length and metrics of each episode to this CSV file.
        **arguments: As for `PremaNPUEnv`.

    Returns:
        They in a ``VecMonitor``: the last ``info`` of an episode has, under ``"episode"``,
        its reward ``r``, length ``l``, time ``t`` and every metric by name; beside it
        ``terminal_observation``, ``TimeLimit.truncated``, and what `PremaNPUEnv` gives in a last
        step.

    Raises:
        ConfigError: A value that is not allowed.
        UnknownNameError: An unknown argument, scenario, reward or mechanism.
    """
    env = PremaNPUVecEnv(num_envs, threads=threads, **arguments)
    if seed is not None:
        env.seed(seed)
    return VecMonitor(env, monitor_file, info_keywords=METRIC_NAMES)


class PremaNPUVecEnv(VecEnv):
    """The native batch behind the interface of Stable-Baselines3; made by :func:`make_sb3_env`.

    Who ends is reset at once. ``env_method``, ``get_attr`` and ``set_attr`` reach an object per
    sub-environment (:class:`.SubEnvironment`). Only the last ``info`` of an episode holds more than
    ``TimeLimit.truncated``: building dicts would cost more than the step.
    """

    def __init__(self, num_envs: int, *, threads: int = 1, **arguments: object) -> None:
        settings = EnvSettings.of(
            "make_sb3_env",
            arguments,
            ("num_envs", "seed", "threads", "monitor_file"),
        )
        if settings.render_mode not in (None, *RENDER_MODES):
            raise UnknownNameError("render_mode", str(settings.render_mode), RENDER_MODES)
        if settings.info != "all":
            raise ConfigError("info must be 'all' here: a monitor reads the metrics of an episode")
        self._episodes = Episodes(settings, num_envs, threads)
        self._renderer = Renderer(settings.render_mode, frames_per_second=10)
        self._sub_envs = all_of(self._episodes, self._renderer)
        self._actions: IntArray | None = None
        super().__init__(
            num_envs,
            settings.seen.space(settings.slots),
            action_space(settings.slots, len(settings.mechanisms)),
        )

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next reset: ``seed + i`` for number *i*; None: from fresh entropy.

        Raises:
            ConfigError: It is no whole number.
        """
        if seed is None:
            return super().seed(None)
        self._seeds = seeds_of(seed, self.num_envs)
        return self._seeds

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set what the workloads of the next episodes are like, as ``reset(options=…)`` does.

        They hold from the next episode of each sub-environment on, so that a callback can make
        training harder step by step; a reset() after the next one goes back to the settings.

        Raises:
            ConfigError: A value that is not allowed, or another one for each sub-environment.
        """
        each = options if isinstance(options, list) else [options]
        if any(one is not each[0] and one != each[0] for one in each):
            raise ConfigError("options must be the same for every sub-environment")
        self._episodes.draw_from(self._episodes.source(each[0]))
        super().set_options(options)

    def reset(self) -> NDArray[np.float32]:
        """Start a new episode in every sub-environment, with the seeds and options set before."""
        episodes = self._episodes
        source = episodes.source(self._options[0])
        episodes.seed(self._seeds)
        episodes.reset(episodes.everyone, source)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [
            keys.standing(mask, now, 0)
            for mask, now in zip(
                np.array(episodes.masks()), episodes.now_ms().tolist(), strict=True
            )
        ]
        return np.array(episodes.observations())

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for :meth:`step_wait`."""
        self._actions = checked_actions(actions, self.num_envs)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Take one decision in every sub-environment, and reset those that end."""
        if self._actions is None or not self._episodes.started:
            raise gymnasium.error.ResetNeeded("call reset(), then step_async(), before step_wait()")
        episodes = self._episodes
        # Restarted are only those whose reset an error or interrupt kept from happening.
        step = episodes.step(self._actions)
        self._actions = None
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        if step.episodes is not None:
            self._fill_last_infos(infos, step, step.episodes)
            episodes.reset(step.ended)
        transition = step.transition
        return (
            np.array(episodes.observations()),
            transition.reward.astype(np.float32),
            transition.terminated | transition.truncated,
            infos,
        )

    def _fill_last_infos(
        self, infos: list[dict[str, Any]], step: Step, last: EndedEpisodes
    ) -> None:
        episodes, ended = self._episodes, step.ended
        metrics, tasks = last.metrics(), last.task_arrays()
        now_ms, illegal = episodes.now_ms(ended), episodes.illegal_actions(ended)
        rise = step.transition.rise
        masks, tables = np.array(episodes.masks(ended)), np.array(episodes.observations(ended))
        for k, i in enumerate(ended.tolist()):
            own = keys.metrics_of(metrics, k)
            count = int(last.env["num_tasks"][k])
            infos[i] = {
                **own,  # where VecMonitor looks for them
                "TimeLimit.truncated": bool(step.transition.truncated[i]),
                "terminal_observation": tables[k].copy(),
                **keys.standing(masks[k].copy(), float(now_ms[k]), int(illegal[k])),
                keys.REWARD_TERMS: dict(
                    zip(episodes.ledger.names, rise[:, i].tolist(), strict=True)
                ),
                keys.EPISODE_METRICS: own,
                keys.TASKS: {name: values[k, :count] for name, values in tasks.items()},
            }

    @property
    def simulator(self) -> Simulator:
        """The simulations, to read from; their arrays are the engine's own memory."""
        return self._episodes.simulator

    def get_state(self) -> EpisodesState:
        """Return a copy of everything that moves, for :meth:`set_state`."""
        return self._episodes.get_state()

    def set_state(self, state: EpisodesState) -> None:
        """Continue from a state of an environment with the same arguments, generators included.

        Raises:
            ConfigError: The state is of an environment with other sizes.
        """
        refuse_over(state)
        self._episodes.set_state(state)

    def close(self) -> None:
        """End the threads."""
        self._episodes.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return an image of every sub-environment."""
        images = [one.render() for one in self._sub_envs]
        return [image if isinstance(image, np.ndarray) else None for image in images]

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return an attribute of some sub-environments."""
        return [getattr(self._sub_envs[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(
        self, attr_name: str, value: object, indices: int | Iterable[int] | None = None
    ) -> None:
        """Set an attribute of some sub-environments; those that they have cannot be set."""
        for i in self._get_indices(indices):
            setattr(self._sub_envs[i], attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: object,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: object,
    ) -> list[Any]:
        """Call a method of some sub-environments."""
        return [
            getattr(self._sub_envs[i], method_name)(*method_args, **method_kwargs)
            for i in self._get_indices(indices)
        ]

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: int | Iterable[int] | None = None,
    ) -> list[bool]:
        """Return False for each: they are not wrapped one by one."""
        return [False for _ in self._get_indices(indices)]
