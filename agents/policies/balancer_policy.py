"""What is the balancer network to the rest of the house? A policy with memory and preference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.agents.policies.learned import TrainedPolicy, batch_of
from prema_gym.agents.scorer.balancer import OF_SLOT, OF_TABLE, think
from prema_gym.agents.scorer.balancer_names import NUM_INPUTS, NUM_OF_ALL
from prema_gym.agents.scorer.balancer_shape import BalancerWeights, balancer_shape_of
from prema_gym.checks import check_fields, declared, number
from prema_gym.errors import ConfigError

Memory = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of slots (envs, slots, OF_SLOT) and of tables (envs, OF_TABLE)."""

_TIMES = number(0.01, 100.0)


@dataclass(frozen=True, kw_only=True)
class Preference:
    """What is preferred to what, beside the balanced setting.

    Attributes:
        fairness: What fairness is worth beside ANTT, times the balanced setting's.
        tail: The extra weight of the highest priority, times the balanced setting's.
    """

    fairness: float = declared(1.0, _TIMES, help="what fairness is worth, times the balanced")
    tail: float = declared(1.0, _TIMES, help="weight of the highest priority, times the balanced")

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def logs(self) -> NDArray[np.float32]:
        """As the network is shown it, float32 (1, 2)."""
        logs = np.log(np.array([[self.fairness, self.tail]]))
        return np.asarray(logs, dtype=np.float32)


class BalancerPolicy(TrainedPolicy):
    """The balancer network as a policy.

    Attributes:
        weights: The network.
        shape: Its sizes.
        preference: What it prefers.
    """

    def __init__(
        self,
        name: str,
        weights: BalancerWeights,
        about: Mapping[str, Any],
        preference: Preference | None = None,
    ) -> None:
        """Take a network.

        Args:
            name: What reports call it.
            weights: The network.
            about: Plain data with ``mechanisms``, as from ``weights_file.load_weights``.
            preference: None: balanced.

        Raises:
            ConfigError: The arrays do not fit together.
        """
        self.shape = balancer_shape_of(weights)
        super().__init__(
            name,
            about,
            "Run the task that a small neural network scores highest; ask it when a task has come, "
            "gone or is about to end, and else every 2 ms. It remembers how those fared that are "
            f"done ({self.shape.size} weights, shared by all tasks).",
        )
        self.weights = weights
        self.preference = Preference() if preference is None else preference
        self._logs = self.preference.logs  # made once: it takes longer than the network
        self.parameters = asdict(self.preference)

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Memory | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], Memory]:
        """Name an action for one table or for each of a batch.

        Args:
            observation: Table float32 (slots, columns), or a batch (envs, slots, columns).
            state: What the previous call on the same environments returned, None at first.
            episode_start: Where the state is to be forgotten, bool (envs,).
            deterministic: Ignored: always the highest score.
            action_masks: Ignored: the table says what is legal, and every action returned is.

        Returns:
            ``(actions, state)``, actions int64 of shape () for one table, (envs,) for a batch; 0
            where a table is empty.

        Raises:
            ConfigError: ``observation`` does not have one of the two shapes, or the state is of
                other environments.
        """
        tables = batch_of(observation)
        envs, slots = tables.shape[:2]
        thinking = Thinking(self.weights, envs, slots, self._logs)
        if state is not None:
            thinking.recall(state)
            if episode_start is not None:
                thinking.fresh |= np.asarray(episode_start, np.bool_)
        actions = np.zeros(envs, np.int64)
        thinking.choose(tables, np.ones(envs, np.bool_), actions)
        one = np.ndim(observation) == 2
        return (actions.squeeze(axis=0) if one else actions), thinking.memory


class Thinking:
    """The balancer network at work on a batch of episodes, with its memory.

    Attributes:
        memory: Of slots and of tables.
        fresh: Where nothing is remembered, bool (envs,).
        thought: Where the network was asked in the last call, bool (envs,).
        inputs: What it saw there, float32 (envs, slots, NUM_INPUTS), if that is kept.
        of_all: The same, float32 (envs, NUM_OF_ALL).
    """

    def __init__(
        self,
        weights: BalancerWeights,
        envs: int,
        slots: int,
        preference: NDArray[np.float32] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        """Begin ``envs`` episodes.

        Args:
            weights: The network.
            envs: Environments.
            slots: Slots of each.
            preference: float32 (envs or 1, 2), logarithms; None: balanced.
            keep: Keep what is seen, for training.
        """
        self._weights = weights
        self._preference = Preference().logs if preference is None else preference
        self.memory: Memory = (np.zeros((envs, slots, OF_SLOT)), np.zeros((envs, OF_TABLE)))
        self.fresh = np.ones(envs, np.bool_)
        self.thought = np.zeros(envs, np.bool_)
        rows = max(envs, 2) if keep else 1  # one row is working space
        self.inputs = np.zeros((rows, slots, NUM_INPUTS), np.float32)
        self.of_all = np.zeros((rows, NUM_OF_ALL), np.float32)

    def recall(self, state: Memory) -> None:
        """Go on from a copy of a memory.

        Raises:
            ConfigError: It is of other environments.
        """
        shapes = tuple(array.shape for array in self.memory)
        if tuple(np.shape(array) for array in state) != shapes:
            given = ", ".join(str(np.shape(array)) for array in state)
            raise ConfigError(f"the state of a balancer network is arrays {shapes}, got {given}")
        self.memory = (state[0].copy(), state[1].copy())
        self.fresh[:] = False

    def choose(
        self,
        tables: NDArray[np.float32],
        asked: NDArray[np.bool_],
        actions: NDArray[np.int64],
        luck: NDArray[np.float32] | None = None,
    ) -> None:
        """Write the slot to run where one is asked for, int64 (envs,); see :func:`.think`."""
        think(
            tables,
            asked,
            self.fresh,
            self._preference,
            self._weights,
            *self.memory,
            actions,
            self.thought,
            self.inputs,
            self.of_all,
            np.empty((0, tables.shape[1]), np.float32) if luck is None else luck,
        )
        self.fresh &= ~asked
