"""How are many sub-environments stepped at once? The native vector: one compiled call a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from prema_gym.checks import truth
from prema_gym.envs import infos
from prema_gym.envs.actions import checked_actions
from prema_gym.envs.ended import EndedEpisodes
from prema_gym.envs.episodes import Episodes, Step
from prema_gym.envs.generators import seeds_of, split_mask
from prema_gym.envs.on_demand import OnDemand
from prema_gym.envs.render import Renderer
from prema_gym.envs.settings import EnvSettings
from prema_gym.envs.snapshots import EpisodesState, refuse_over
from prema_gym.envs.spaces import action_space, batched
from prema_gym.envs.step import Transition
from prema_gym.envs.sub_environment import all_of
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.metrics import IntArray
from prema_gym.simulator import Simulator

Observations = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RENDER_MODES = ("ansi", "rgb_array")  # one window for many would show nothing

_REWARD_TERMS = infos.present(infos.REWARD_TERMS)
_UNKNOWN = -1  # as Gymnasium marks a generator that was not made from a seed


class PremaNPUVectorEnv(VectorEnv[Observations, ArrayLike, NDArray[Any]]):
    """``num_envs`` sub-environments, each a `PremaNPUEnv`, stepped together.

    What a sub-environment does is what `PremaNPUEnv` does: number *i* after ``reset(seed=s)``
    equals, bit for bit, the single environment after ``reset(seed=s + i)``. Spaces, rewards, ends
    and the keys of ``info`` are described there. ``gymnasium.make_vec("PremaNPU-v0", num_envs=N)``
    makes this class.

    Results are arrays with the sub-environments on the first axis: observations float32
    (N, slots, columns), rewards float64 (N,), terminations and truncations bool (N,). ``info`` is
    laid out as by Gymnasium's own vector environments: for each key an array (N, …), or a dict of
    such arrays, and under ``_key`` a bool (N,) that says whom it belongs to.
    ``info["action_mask"]`` is bool (N, actions), as is ``action_masks()``. ``episode_metrics`` and
    ``tasks`` are worked out when they are first read; the task arrays of shorter workloads are
    padded with zeros.

    Autoreset (``autoreset_mode``, also in ``metadata``): with "NextStep" (default) the step after
    the end of an episode resets the sub-environment: its action is ignored, its reward 0. With
    "SameStep" the ending step does: it returns the new episode's observation, and the last one's in
    ``info["final_obs"]`` (an object array, None elsewhere) and ``info["final_info"]``. With
    "Disabled" nobody is reset before ``reset(options={"reset_mask": bool (N,)})`` says whom; until
    then a step changes nothing there and has reward 0.

    Options given at a reset, or to :meth:`set_options`, hold for every episode that starts later,
    until the next reset without a ``reset_mask`` or the next :meth:`set_options`.

    Args:
        num_envs: Sub-environments (N).
        autoreset_mode: `AutoresetMode` or its value: "NextStep", "SameStep" or "Disabled".
        max_episode_steps: Truncate an episode after so many steps, as `gymnasium.make` does by a
            wrapper; the least of it and ``max_decisions`` counts.
        copy: Return arrays that never change later. False: observations and ``action_mask`` are the
            engine's own memory, which the next step overwrites; all else is new in each step.
        threads: Threads among which they are split, no more than there are processors; useful from
            some 500 sub-environments on. After a step those beside the caller's look out for the
            next one for a millisecond or two, yielding to other work, then they sleep.
        **arguments: As for `PremaNPUEnv`; a ``workload`` may have one row for each.

    Raises:
        ConfigError: A value that is not allowed.
        UnknownNameError: An unknown argument, scenario, reward, mechanism or mode.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        threads: int = 1,
        max_episode_steps: int | None = None,
        **arguments: object,
    ) -> None:
        settings = EnvSettings.of(
            f"{type(self).__name__}.__init__",
            arguments,
            ("num_envs", "autoreset_mode", "copy", "threads", "max_episode_steps"),
        ).within(max_episode_steps)
        if settings.render_mode not in (None, *RENDER_MODES):
            raise UnknownNameError("render_mode", str(settings.render_mode), RENDER_MODES)
        self.settings = settings
        self.render_mode = settings.render_mode
        self.copy: bool = truth().check("copy", copy)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "render_fps": 10,
            "autoreset_mode": self.autoreset_mode,
        }
        self._episodes = Episodes(settings, num_envs, threads, fresh=self.copy)
        self.num_envs = self._episodes.num_envs
        self.single_observation_space = settings.seen.space(settings.slots)
        self.single_action_space = action_space(settings.slots, len(settings.mechanisms))
        self.observation_space = batched(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._renderer = Renderer(settings.render_mode, self.metadata["render_fps"])
        self._seeds = [_UNKNOWN] * self.num_envs
        self._everyone = np.ones(self.num_envs, np.bool_)
        self._term_keys = [(name, infos.present(name)) for name in self._episodes.ledger.names]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Start a new episode in every sub-environment, or in those of a mask.

        Args:
            seed: Number *i* gets ``seed + i``, or ``seed[i]``; None: each goes on with its
                generator.
            options: As for `PremaNPUEnv`, for all that start an episode until the next reset; and
                ``reset_mask``, bool (N,): reset these alone, which keeps the options that hold
                if no others are given.

        Raises:
            ConfigError: Seeds or options that are not allowed.
            WorkloadError: A workload that does not fit.
        """
        episodes, seeds = self._episodes, seeds_of(seed, self.num_envs)
        chosen, workload_options = split_mask(options, self.num_envs)
        if chosen is None:
            rows, source = episodes.everyone, episodes.source(workload_options)
        elif not episodes.started:
            raise ConfigError("the first reset is of every sub-environment: leave out reset_mask")
        else:
            rows = np.flatnonzero(chosen)
            seeds = [own if here else None for own, here in zip(seeds, chosen, strict=True)]
            source = episodes.source(workload_options or episodes.options)
        for i, used in episodes.seed(seeds).items():
            self._seeds[i] = used
        episodes.reset(rows, source)
        return self._observations(), self._infos()

    def set_options(self, options: Mapping[str, Any] | None) -> None:
        """Let every episode that starts from now on be drawn as ``reset(options=…)`` would.

        The episodes that are being played go on; None goes back to the settings.

        Raises:
            ConfigError: Options that are not allowed.
            WorkloadError: A workload that does not fit.
        """
        self._episodes.draw_from(self._episodes.source(options))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Call a method of each sub-environment, or read an attribute; see `SubEnvironment`.

        Raises:
            AttributeError: There is none of that name; the message has those there are.
        """
        found = [getattr(one, name) for one in all_of(self._episodes, self._renderer)]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each sub-environment; see :meth:`call`."""
        return self.call(name)

    def set_attr(self, name: str, values: object) -> None:
        """Refuse: what can be set is set for all, by arguments or :meth:`set_options`.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(
            f"{name!r} cannot be set in the sub-environments of a batch: give it when the "
            "environment is made, or change the workloads by set_options()"
        )

    def step(self, actions: ArrayLike) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        """Take one decision in every sub-environment; see the class.

        Args:
            actions: Whole numbers (N,).

        Raises:
            IllegalActionError: Another shape or type, or an illegal action and ``strict`` is set.
            gymnasium.error.ResetNeeded: There was no reset.
        """
        episodes = self._episodes
        if not episodes.started:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        checked = checked_actions(actions, self.num_envs)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            return self._step_and_reset(checked)
        return self._step_then_wait(checked)

    def action_masks(self) -> Flags:
        """Return the legal actions of every sub-environment, bool (N, actions)."""
        return self._episodes.legal()

    @property
    def simulator(self) -> Simulator:
        """The simulations, to read from; their arrays are the engine's own memory."""
        return self._episodes.simulator

    def timeline(self, index: int) -> IntArray:
        """Return who ran when in one sub-environment's episode; see `PremaNPUEnv.timeline`.

        Raises:
            ConfigError: There is no such sub-environment, or no timeline is kept.
        """
        if not 0 <= index < self.num_envs:
            raise ConfigError(f"index must be from 0 to {self.num_envs - 1}, got {index}")
        return self._episodes.simulator.timeline(index)

    def get_state(self) -> EpisodesState:
        """Return a copy of everything that moves, for :meth:`set_state`."""
        return self._episodes.get_state()

    def set_state(self, state: EpisodesState) -> None:
        """Continue from a state of a vector environment with the same arguments.

        Raises:
            ConfigError: The state is of an environment with other sizes.
        """
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            refuse_over(state)
        self._episodes.set_state(state)

    def render(self) -> tuple[Any, ...] | None:
        """Show every sub-environment, as ``render_mode`` says: a text or an image for each."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() does nothing: make the environment with render_mode="
                + " or ".join(map(repr, RENDER_MODES))
            )
            return None
        if not self._episodes.started:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        simulator = self._episodes.simulator
        return tuple(self._renderer.render(simulator, i) for i in range(self.num_envs))

    def __del__(self) -> None:
        # Gymnasium closes here, and closing waits for threads, which a collection must not: it can
        # run anywhere. They end by themselves (`worker_pool`).
        pass

    def __copy__(self) -> PremaNPUVectorEnv:
        return deepcopy(self)

    def close(self, **kwargs: Any) -> None:  # noqa: ANN401 - as Gymnasium's
        """End the threads. A later step starts them anew, so this counts each time."""
        self._episodes.close()
        super().close(**kwargs)

    @property
    def np_random(self) -> Any:  # noqa: ANN401 - Gymnasium declares one generator here
        """The generators, one for each: a tuple, as in Gymnasium's own vector environments."""
        return self._episodes.rngs

    @np_random.setter
    def np_random(self, value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, Iterable):
            raise ConfigError(
                f"np_random must be a generator for each sub-environment, got {value!r}"
            )
        self._episodes.rngs = tuple(value)
        self._seeds = [_UNKNOWN] * self.num_envs

    @property
    def np_random_seed(self) -> Any:  # noqa: ANN401
        """The seeds the generators were made from, one for each; −1 where it is not known."""
        return tuple(self._seeds)

    def _step_then_wait(
        self, actions: IntArray
    ) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        """Next-step autoreset: who ended one step ago starts anew in this one. Or nobody does."""
        restart = self.autoreset_mode is AutoresetMode.NEXT_STEP
        step = self._episodes.step(actions, restart=restart)
        info = self._infos(step, idle=step.restarted.size)
        if step.episodes is not None and self.settings.info == "all":
            info.update(_ending(step.episodes, step.ended, self.num_envs))
        return self._results(step.transition, info)

    def _step_and_reset(
        self, actions: IntArray
    ) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        """Same-step autoreset: who ends starts anew at once."""
        episodes = self._episodes
        # Restarted are only those whose reset an error or interrupt kept from happening.
        step = episodes.step(actions)
        transition, ended = step.transition, step.ended
        finals: dict[str, Any] = {}
        if step.episodes is not None:
            finals = self._finals(step, step.episodes)
            episodes.reset(ended)
            transition.rise[:, ended] = 0.0
            transition.stepped[ended] = False
            transition.now_ms[ended] = episodes.now_ms(ended)
            transition.illegal_actions[ended] = 0
        info = self._infos(step, idle=step.restarted.size + ended.size)
        info.update(finals)
        return self._results(transition, info)

    def _results(
        self, transition: Transition, info: dict[str, Any]
    ) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        terminated, truncated = transition.terminated, transition.truncated
        return self._observations(), transition.reward, terminated, truncated, info

    def _observations(self) -> Observations:
        # With `copy` this array is given up before the next step or reset writes one.
        return self._episodes.observations()

    def _infos(self, step: Step | None = None, idle: int = 0) -> dict[str, Any]:
        """Info of all as they stand, and the reward terms of a step for all but ``idle``."""
        episodes = self._episodes
        if step is None:
            now_ms, illegal_actions = episodes.now_ms(), episodes.illegal_actions()
        else:
            now_ms, illegal_actions = step.transition.now_ms, step.transition.illegal_actions
        # The mask is given up as the observation is.
        info = infos.standing_of_all(
            episodes.masks(), now_ms, illegal_actions, self._everyone.copy()
        )
        if step is None or idle == self.num_envs or self.settings.info == "mask":
            return info
        stepped = step.transition.stepped
        terms: dict[str, Any] = {}
        for (name, present), values in zip(self._term_keys, step.transition.rise, strict=True):
            terms[name], terms[present] = values, stepped
        info[infos.REWARD_TERMS], info[_REWARD_TERMS] = terms, stepped
        return info

    def _finals(self, step: Step, episodes: EndedEpisodes) -> dict[str, Any]:
        """``final_obs`` and ``final_info`` of the sub-environments whose episode ended."""
        batch, ended, num_envs = self._episodes, step.ended, self.num_envs
        final_obs = np.full(num_envs, None, dtype=object)
        for row, table in zip(ended.tolist(), batch.observations(ended), strict=True):
            final_obs[row] = table
        now = infos.standing(batch.masks(ended), batch.now_ms(ended), batch.illegal_actions(ended))
        rise = step.transition.rise[:, ended]
        everything = self.settings.info == "all"
        if everything:
            now[infos.REWARD_TERMS] = dict(zip(batch.ledger.names, rise, strict=True))

        def final_info() -> dict[str, Any]:
            spread = infos.spread(num_envs, ended, now)
            return {**spread, **(_ending(episodes, ended, num_envs) if everything else {})}

        return {
            **infos.belonging({"final_obs": final_obs}, infos.flags_of(num_envs, ended)),
            **infos.belonging(
                {"final_info": OnDemand(final_info)}, infos.flags_of(num_envs, ended)
            ),
        }


def _ending(episodes: EndedEpisodes, rows: IntArray, num_envs: int) -> dict[str, Any]:
    """Metrics and task records of episodes that ended, worked out when they are read."""
    values = {
        infos.EPISODE_METRICS: OnDemand(lambda: infos.spread(num_envs, rows, episodes.metrics())),
        infos.TASKS: OnDemand(lambda: infos.spread(num_envs, rows, episodes.task_arrays())),
    }
    return infos.belonging(values, infos.flags_of(num_envs, rows))


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    names = [mode.value for mode in AutoresetMode]
    value = given.value if isinstance(given, AutoresetMode) else str(given)
    if value not in names:
        raise UnknownNameError("autoreset_mode", value, names)
    return AutoresetMode(value)
