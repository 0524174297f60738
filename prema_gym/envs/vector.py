"""How are many copies stepped at once? The native vector environment: one compiled call a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from prema_gym.envs.episodes import (
    Episodes,
    EpisodesState,
    Step,
    action_space,
    observation_space,
    refuse_over,
)
from prema_gym.envs.infos import OnDemand, Records, spread
from prema_gym.envs.render import Renderer
from prema_gym.envs.settings import EnvSettings
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.metrics import IntArray

Observations = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

AUTORESET_MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
RENDER_MODES = ("ansi", "rgb_array")  # one window for many copies would show nothing

_UNKNOWN = -1  # as Gymnasium marks a generator that was not made from a seed


class PremaNPUVectorEnv(VectorEnv[Observations, ArrayLike, NDArray[Any]]):
    """``num_envs`` copies of `PremaNPUEnv`, stepped together.

    What a copy does is what `PremaNPUEnv` does: copy *i* after ``reset(seed=s)`` equals, bit for
    bit, the single environment after ``reset(seed=s + i)``. Spaces, rewards, ends and the keys of
    ``info`` are described there. ``gymnasium.make_vec("PremaNPU-v0", num_envs=N)`` makes this
    class.

    Results are arrays with the copies on the first axis: observations float32 (N, slots, columns),
    rewards float64 (N,), terminations and truncations bool (N,). ``info`` is laid out as by
    Gymnasium's own vector environments: for each key an array (N, …), or a dict of such arrays, and
    under ``_key`` a bool (N,) that says which copies it belongs to. ``info["action_mask"]`` is bool
    (N, actions), as is ``action_masks()``. ``episode_metrics`` and ``tasks`` are worked out when
    they are first read; the task arrays of shorter workloads are padded with zeros.

    Autoreset (``metadata["autoreset_mode"]``): with "NextStep" (default) the step after the end of
    an episode resets the copy: its action is ignored, its reward 0. With "SameStep" the ending step
    does: it returns the new episode's observation, and the last one's in ``info["final_obs"]`` (an
    object array, None elsewhere) and ``info["final_info"]``.

    Args:
        num_envs: Copies (N).
        autoreset_mode: `AutoresetMode` or its value, "NextStep" or "SameStep".
        copy: Return arrays that never change later. False: observations and ``action_mask`` are the
            engine's own memory, which the next step overwrites; all else is new in each step.
        threads: Threads among which the copies are split, no more than there are processors; useful
            from some 500 copies on. After a step those beside the caller's look out for the next
            one for a millisecond or two, giving way to other work, then they sleep.
        **arguments: As for `PremaNPUEnv`; a ``workload`` may have one row for each copy.

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
        **arguments: object,
    ) -> None:
        settings = EnvSettings.of(arguments, ("num_envs", "autoreset_mode", "copy", "threads"))
        if settings.render_mode not in (None, *RENDER_MODES):
            raise UnknownNameError("render_mode", str(settings.render_mode), RENDER_MODES)
        if not isinstance(copy, bool):
            raise ConfigError(f"copy must be True or False, got {copy!r}")
        self.settings = settings
        self.render_mode = settings.render_mode
        self.copy = copy
        self._mode = _autoreset_mode(autoreset_mode)
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "render_fps": 10,
            "autoreset_mode": self._mode,
        }
        self._episodes = Episodes(settings, num_envs, threads, fresh=copy)
        self.num_envs = self._episodes.num_envs
        self.single_observation_space = observation_space(settings.slots)
        self.single_action_space = action_space(settings)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._renderer = Renderer(settings.render_mode, self.metadata["render_fps"])
        self._seeds = [_UNKNOWN] * self.num_envs
        self._everyone = np.ones(self.num_envs, np.bool_)
        self._term_keys = [(name, f"_{name}") for name in self._episodes.ledger.names]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Start a new episode in every copy.

        Args:
            seed: Copy *i* gets ``seed + i``, or ``seed[i]``; None: each goes on with its generator.
            options: As for `PremaNPUEnv`, for all copies.

        Raises:
            ConfigError: Another number of seeds than copies, or options that are not allowed.
            WorkloadError: A workload that does not fit.
        """
        episodes, seeds = self._episodes, _seeds(seed, self.num_envs)
        source = episodes.source(options)
        for i, used in episodes.seed(seeds).items():
            self._seeds[i] = used
        episodes.reset(episodes.everyone, source)
        return self._observations(), self._infos()

    def step(self, actions: ArrayLike) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        """Take one decision in every copy; see the class.

        Args:
            actions: Whole numbers (N,).

        Raises:
            IllegalActionError: Another shape or type, or an illegal action and ``strict`` is set.
            gymnasium.error.ResetNeeded: There was no reset.
        """
        episodes = self._episodes
        if not episodes.started:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        checked = episodes.checked_actions(actions)
        if self._mode is AutoresetMode.NEXT_STEP:
            return self._step_then_wait(checked)
        return self._step_and_reset(checked)

    def action_masks(self) -> Flags:
        """Return the legal actions of every copy, bool (N, actions)."""
        return self._episodes.simulator.legal()

    def timeline(self, copy: int) -> IntArray:
        """Return who ran when in one copy's episode so far; see `PremaNPUEnv.timeline`.

        Raises:
            ConfigError: There is no such copy, or no timeline is kept.
        """
        if not 0 <= copy < self.num_envs:
            raise ConfigError(f"copies are 0 to {self.num_envs - 1}, given {copy}")
        return self._episodes.simulator.timeline(copy)

    def get_state(self) -> EpisodesState:
        """Return a copy of everything that moves, for :meth:`set_state`."""
        return self._episodes.get_state()

    def set_state(self, state: EpisodesState) -> None:
        """Continue from a state of a vector environment with the same arguments.

        Raises:
            ConfigError: The state is of an environment with other sizes.
        """
        if self._mode is AutoresetMode.SAME_STEP:
            refuse_over(state)
        self._episodes.set_state(state)

    def render(self) -> tuple[Any, ...] | None:
        """Show every copy, in the way that ``render_mode`` says: a text or an image for each."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() does nothing: make the environment with render_mode="
                + " or ".join(map(repr, RENDER_MODES))
            )
            return None
        simulator = self._episodes.simulator
        return tuple(self._renderer.render(simulator, i) for i in range(self.num_envs))

    def __del__(self) -> None:
        # Gymnasium closes here, and closing waits for threads, which a collection must not: it can
        # run anywhere. They go home by themselves (`crew`).
        pass

    def __copy__(self) -> PremaNPUVectorEnv:
        return deepcopy(self)

    def close(self, **kwargs: Any) -> None:  # noqa: ANN401 - as Gymnasium's
        """End the threads. A later step starts them anew, so this counts each time."""
        self._episodes.close()
        super().close(**kwargs)

    @property
    def np_random(self) -> Any:  # noqa: ANN401 - Gymnasium declares one generator here
        """The generators, one a copy: a tuple, as in Gymnasium's own vector environments."""
        return self._episodes.rngs

    @np_random.setter
    def np_random(self, value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, Iterable):
            raise ConfigError(f"np_random takes a generator for each copy, got {value!r}")
        self._episodes.rngs = tuple(value)
        self._seeds = [_UNKNOWN] * self.num_envs

    @property
    def np_random_seed(self) -> Any:  # noqa: ANN401
        """The seeds the generators were made from, one a copy; −1 where it is not known."""
        return tuple(self._seeds)

    def _step_then_wait(
        self, actions: IntArray
    ) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        """Next-step autoreset: copies that ended one step ago start anew in this one."""
        episodes = self._episodes
        step = episodes.step(actions)
        payment = step.payment
        infos = self._infos(step, idle=step.restarted.size)
        if step.records is not None:
            _add_ending(infos, self.num_envs, step.ended, step.records)
        return (
            self._observations(),
            payment.reward,
            payment.terminated,
            payment.truncated,
            infos,
        )

    def _step_and_reset(
        self, actions: IntArray
    ) -> tuple[Observations, Floats, Flags, Flags, dict[str, Any]]:
        """Same-step autoreset: copies that end start anew at once."""
        episodes = self._episodes
        # Restarted are only copies whose reset an error or interrupt kept from happening.
        step = episodes.step(actions)
        payment, ended = step.payment, step.ended
        finals: dict[str, Any] = {}
        if step.records is not None:
            finals = self._finals(step, step.records)
            episodes.reset(ended)
            payment.rise[:, ended] = 0.0
            payment.stepped[ended] = False
            payment.now_ms[ended] = episodes.now_ms(ended)
            payment.illegal_actions[ended] = 0
        infos = self._infos(step, idle=step.restarted.size + ended.size)
        infos.update(finals)
        return (
            self._observations(),
            payment.reward,
            payment.terminated,
            payment.truncated,
            infos,
        )

    def _observations(self) -> Observations:
        # With `copy` this array is given up before the next step or reset writes one.
        return self._episodes.simulator.observation

    def _infos(self, step: Step | None = None, idle: int = 0) -> dict[str, Any]:
        """Info of the copies as they stand, and the reward terms of a step for all but ``idle``."""
        episodes = self._episodes
        everyone = self._everyone.copy()
        if step is None:
            now_ms, illegal_actions = episodes.now_ms(), episodes.illegal_actions()
        else:
            now_ms, illegal_actions = step.payment.now_ms, step.payment.illegal_actions
        infos: dict[str, Any] = {
            "action_mask": episodes.simulator.mask,  # given up as the observation is
            "_action_mask": everyone,
            "now_ms": now_ms,
            "_now_ms": everyone,
            "illegal_actions": illegal_actions,
            "_illegal_actions": everyone,
        }
        if step is None or idle == self.num_envs:
            return infos
        stepped = step.payment.stepped
        terms: dict[str, Any] = {}
        for (name, present), values in zip(self._term_keys, step.payment.rise, strict=True):
            terms[name], terms[present] = values, stepped
        infos["reward_terms"], infos["_reward_terms"] = terms, stepped
        return infos

    def _finals(self, step: Step, records: Records) -> dict[str, Any]:
        """``final_obs`` and ``final_info`` of the copies that ended."""
        episodes, ended = self._episodes, step.ended
        simulator = episodes.simulator
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row, table in zip(ended.tolist(), simulator.observation[ended], strict=True):
            final_obs[row] = table
        now = {
            "action_mask": simulator.mask[ended],
            "now_ms": episodes.now_ms(ended),
            "illegal_actions": episodes.illegal_actions(ended),
            "reward_terms": dict(
                zip(episodes.ledger.names, step.payment.rise[:, ended], strict=True)
            ),
        }
        num_envs = self.num_envs

        def final_info() -> dict[str, Any]:
            info = spread(num_envs, ended, now)
            _add_ending(info, num_envs, ended, records)
            return info

        return {
            "final_obs": final_obs,
            "_final_obs": _mask(num_envs, ended),
            "final_info": OnDemand(final_info),
            "_final_info": _mask(num_envs, ended),
        }


def _add_ending(info: dict[str, Any], num_envs: int, rows: IntArray, records: Records) -> None:
    """Add metrics and task records of the copies that ended, worked out when they are read."""
    here = _mask(num_envs, rows)
    info["episode_metrics"] = OnDemand(lambda: spread(num_envs, rows, records.metrics()))
    info["_episode_metrics"] = here
    info["tasks"] = OnDemand(lambda: spread(num_envs, rows, records.task_arrays()))
    info["_tasks"] = here


def _mask(num_envs: int, rows: IntArray) -> Flags:
    mask = np.zeros(num_envs, np.bool_)
    mask[rows] = True
    return mask


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    names = [mode.value for mode in AUTORESET_MODES]
    value = given.value if isinstance(given, AutoresetMode) else str(given)
    if value not in names:
        raise UnknownNameError("autoreset_mode", value, names)
    return AutoresetMode(value)


def _seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return [int(seed) + i for i in range(num_envs)]
    if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str):
        raise ConfigError(f"seed must be a whole number, one for each copy, or None, got {seed!r}")
    if len(seed) != num_envs:
        raise ConfigError(
            f"{len(seed)} seeds for {num_envs} copies: give one a copy, or one number"
        )
    for own in seed:
        if own is not None and (isinstance(own, bool) or not isinstance(own, int | np.integer)):
            raise ConfigError(f"a seed is a whole number or None, got {own!r} in {seed!r}")
    return [None if own is None else int(own) for own in seed]
