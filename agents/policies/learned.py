"""What is a learned scheduler to the rest of the house? An object with ``predict``, like any rule.

It sees the observation table and nothing else, needs no torch, and runs on any number of slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents import seeds
from prema_gym.agents.scorer.compiled import choose, score
from prema_gym.agents.scorer.shape import Weights, shape_of
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import NUM_COLUMNS

TRAINED_MECHANISMS = ("checkpoint",)
"""How policies trained here preempt."""


class TrainedPolicy:
    """What every trained policy says of itself.

    Attributes:
        name: What reports call it.
        mechanisms: The simulation's mechanisms, which its actions index.
        rule: What it does, in one sentence.
        source: How it came to be.
        about: What its file says of it: steps, seed, digest, …
        parameters: Value of each parameter by name.
        concurrent: It may be called from several threads at once.
        test_seeds: Seeds of workloads that no policy was trained or selected on.
    """

    test_seeds = seeds.TEST
    concurrent = True

    def __init__(self, name: str, about: Mapping[str, Any], rule: str) -> None:
        """Take what its file says of it, and its rule."""
        self.name = name
        self.about = dict(about)
        self.mechanisms: tuple[str, ...] = tuple(about["mechanisms"])
        self.rule = rule
        self.source = str(about.get("source", "trained by prema-gym train"))
        self.parameters: dict[str, object] = {}

    def __repr__(self) -> str:
        return f"<policy {self.name} ({', '.join(self.mechanisms)})>"


class LearnedPolicy(TrainedPolicy):
    """The scorer network as a policy: it remembers nothing and takes no parameters.

    Attributes:
        weights: The network.
        shape: Its sizes.
    """

    def __init__(self, name: str, weights: Weights, about: Mapping[str, Any]) -> None:
        """Take a network.

        Args:
            name: What reports call it.
            weights: The network.
            about: Plain data with ``mechanisms``, as from ``weights_file.load_weights``.

        Raises:
            ConfigError: The arrays do not fit together.
        """
        self.shape = shape_of(weights)
        rule = (
            "Run the task that a small neural network scores highest; ask it again at every "
            f"wake-up ({self.shape.size} weights, shared by all tasks)."
        )
        super().__init__(name, about, rule)
        self.weights = weights

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401 - handed through, whatever it is
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], Any]:
        """Name an action for one table or for each of a batch.

        Args:
            observation: Table float32 (slots, columns), or a batch (envs, slots, columns).
            state: Returned as it is.
            episode_start: Ignored: nothing is remembered between calls.
            deterministic: Ignored: always the highest score.
            action_masks: Ignored: the table says what is legal, and every action returned is.

        Returns:
            ``(actions, state)``, actions int64 of shape () for one table, (envs,) for a batch; 0
            where a table is empty.

        Raises:
            ConfigError: ``observation`` does not have one of the two shapes.
        """
        tables = batch_of(observation)
        actions = np.zeros(len(tables), np.int64)
        choose(tables, self.weights, np.ones(len(tables), np.bool_), actions)
        return (actions if np.ndim(observation) == 3 else actions.squeeze(axis=0)), state

    def scores(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Score of every action, float32 (envs, mechanisms · slots); −∞ where not legal."""
        tables = batch_of(observation)
        scores = np.empty((len(tables), tables.shape[1] * len(self.mechanisms)), np.float32)
        score(tables, self.weights, scores)
        return scores


def batch_of(observation: NDArray[np.float32]) -> NDArray[np.float32]:
    """Check the shape and return a contiguous batch (envs, slots, columns)."""
    tables = np.asarray(observation, dtype=np.float32)
    if tables.ndim not in (2, 3) or tables.shape[-1] != NUM_COLUMNS or tables.shape[-2] == 0:
        raise ConfigError(
            f"an observation has the shape (slots, {NUM_COLUMNS}) or "
            f"(envs, slots, {NUM_COLUMNS}), got {tables.shape}"
        )
    return np.ascontiguousarray(tables if tables.ndim == 3 else tables[np.newaxis])
