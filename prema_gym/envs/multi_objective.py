"""What does `gymnasium.make("PremaNPU-MO-v0")` return? The environment with a vector of rewards.

As MO-Gymnasium has it: ``step`` returns one reward for each objective, ``reward_space`` and
``reward_dim`` say which, and where the exact front is known ``pareto_front`` returns it. The table
is flat and log-scaled, since such agents take one vector and raw columns reach 10⁸ bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds import fronts, mean_front
from prema_gym.checks import list_of, one_of, whole
from prema_gym.envs.env import PremaNPUEnv
from prema_gym.envs.infos import REWARD_TERMS
from prema_gym.envs.rewards.terms import TERMS
from prema_gym.envs.vector import PremaNPUVectorEnv
from prema_gym.errors import ConfigError
from prema_gym.simulator import NUM_COLUMNS
from prema_gym.workloads import compile_scenario, sample_batch
from prema_gym.workloads.scenario import Scenario

OBJECTIVES = ("antt", "fairness")
"""The default, whose exact front is known."""
FRONT_WORKLOADS = 50
"""Workloads that a front is averaged over, from test seed 0."""
_NAMES = list_of(one_of("reward term", TERMS))

FloatArray = NDArray[np.float64]


def flat(tables: NDArray[np.float32]) -> NDArray[np.float32]:
    """Tables (…, slots, columns) as float32 (…, slots · columns): sign(x) · log(1 + |x|)."""
    scaled = np.copysign(np.log1p(np.abs(tables)), tables)
    return scaled.reshape(*tables.shape[:-2], -1)


def _weights(objectives: Sequence[str], arguments: dict[str, Any]) -> dict[str, float]:
    """The reward of the environment below, in which every objective is a term.

    Raises:
        ConfigError: No objective, or ``reward`` is given too.
        UnknownNameError: An objective that is no reward term.
    """
    if "reward" in arguments:
        raise ConfigError("this environment takes objectives=… in place of reward=…")
    return dict.fromkeys(_NAMES.check("objectives", objectives), 1.0)


def _reward_space(objectives: Sequence[str]) -> spaces.Box:
    """Any number: a term is paid in pieces, and corrected where it counts what may yet end."""
    return spaces.Box(-np.inf, np.inf, (len(objectives),), np.float32)


def _flat_space(slots: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (slots * NUM_COLUMNS,), np.float32)


class PremaNPUMOEnv(PremaNPUEnv):
    """`PremaNPUEnv` with a reward for each objective and a flat observation.

    Illegal actions are tolerated, as there: agents without masks work. The rewards of an episode
    add up, undiscounted, to the metrics that the terms stand for.

    Args:
        objectives: Names of reward terms (docs/rewards.md), in the order of the vector.
        **arguments: As for `PremaNPUEnv`, but for ``reward``.
    """

    def __init__(self, objectives: Sequence[str] = OBJECTIVES, **arguments: object) -> None:
        super().__init__(reward=_weights(objectives, arguments), **arguments)
        self.objectives = tuple(objectives)
        self.reward_space = _reward_space(self.objectives)
        self.reward_dim = len(self.objectives)
        self.observation_space = cast("Any", _flat_space(self.settings.slots))

    def step(self, action: Any) -> Any:  # noqa: ANN401 - a vector stands for Gymnasium's float
        """As `PremaNPUEnv.step`, with rewards float32 (objectives,)."""
        observation, _, terminated, truncated, info = super().step(action)
        terms = info[REWARD_TERMS]
        reward = np.array([terms[name] for name in self.objectives], np.float32)
        return observation, reward, terminated, truncated, info

    def _observation(self) -> NDArray[np.float32]:
        return flat(super()._observation())

    def pareto_front(self, gamma: float = 1.0) -> list[FloatArray]:
        """The exact front of means over workloads, in the order of the objectives.

        Args:
            gamma: Discount; only 1 adds up to metrics.

        Raises:
            ConfigError: The objectives are not antt and fairness, or γ is not 1.
        """
        if set(self.objectives) != set(OBJECTIVES) or gamma != 1.0:
            raise ConfigError(
                f"the front is known for {' and '.join(OBJECTIVES)} with gamma 1, got "
                f"{', '.join(self.objectives)} with {gamma}"
            )
        return exact_front(self.settings.checked_scenario, self.objectives)


class PremaNPUMOVectorEnv(PremaNPUVectorEnv):
    """`PremaNPUVectorEnv` with rewards float64 (N, objectives) and flat observations."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        objectives: Sequence[str] = OBJECTIVES,
        **arguments: Any,  # noqa: ANN401 - as for `PremaNPUVectorEnv`
    ) -> None:
        super().__init__(num_envs, reward=_weights(objectives, arguments), **arguments)
        self.objectives = tuple(objectives)
        self.reward_space = _reward_space(self.objectives)
        self.reward_dim = len(self.objectives)
        self.single_observation_space = _flat_space(self.settings.slots)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def step(self, actions: ArrayLike) -> Any:  # noqa: ANN401 - rewards have an axis more
        """As `PremaNPUVectorEnv.step`, with rewards float64 (N, objectives)."""
        observations, paid, terminated, truncated, info = super().step(actions)
        rewards = np.zeros((paid.size, self.reward_dim))
        terms = info.get(REWARD_TERMS, {})
        ended = info.get("final_info", {}).get(REWARD_TERMS, {})
        for k, name in enumerate(self.objectives):
            # With same-step autoreset the last rewards are with the last observation.
            rewards[:, k] = terms.get(name, 0.0) + np.asarray(ended.get(name, 0.0))
        if "final_obs" in info:
            last = info["final_obs"]
            for row in np.flatnonzero(info["_final_obs"]):
                last[row] = flat(last[row])
        return observations, rewards, terminated, truncated, info

    def _observations(self) -> NDArray[np.float32]:
        return flat(super()._observations())


def exact_front(
    scenario: Scenario, objectives: Sequence[str] = OBJECTIVES, workloads: int = FRONT_WORKLOADS
) -> list[FloatArray]:
    """Points of the exact front of ANTT and fairness, means over workloads of a scenario.

    Args:
        scenario: What is drawn; at most 12 tasks.
        objectives: ``antt`` and ``fairness`` in any order: ANTT counts as −ANTT, as it is paid.
        workloads: How many, from test seed 0.
    """
    count = whole().check("workloads", workloads)
    batch = sample_batch(compile_scenario(scenario), range(count))
    front = mean_front(
        fronts(batch.arrival_cycles, batch.isolated_cycles, batch.num_tasks, batch.priority)
    )
    values = {"antt": -front.antt, "fairness": front.fairness}
    return list(np.stack([values[name] for name in objectives], axis=1))
