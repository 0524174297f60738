"""Policies and a small scenario that the tests of evaluation share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.evaluation.policy import Decider
from prema_gym.simulator import ORDER, PRESENT, PRIORITY, RUNNING
from prema_gym.workloads.scenario import Scenario

TINY = Scenario(
    name="tiny",
    networks=("alexnet", "mobilenet-v1"),
    batch_sizes=(1,),
    num_tasks=4,
    window_ms=2.0,
    priorities=(1, 9),
)

Tables = NDArray[np.float32]
Answer = tuple[NDArray[np.int64], object]


class Rule:
    """Runs the task with the least score; remembers nothing."""

    def __init__(
        self,
        score: Callable[[Tables], NDArray[np.float32]],
        mechanisms: tuple[str, ...] = ("checkpoint",),
    ) -> None:
        self.score = score
        self.mechanisms = mechanisms
        self.asked: list[int] = []

    def predict(
        self,
        observation: Tables,
        state: object = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> Answer:
        self.asked.append(len(observation))
        assert deterministic
        assert episode_start is not None
        assert action_masks is not None
        assert len(episode_start) == len(action_masks) == len(observation)
        score = np.where(observation[..., PRESENT] > 0, self.score(observation), np.inf)
        return score.argmin(axis=-1), state


def first_come(table: Tables) -> NDArray[np.float32]:
    return table[..., ORDER] - 100 * table[..., RUNNING]


def fcfs() -> Rule:
    return Rule(first_come)


def priority_first(mechanism: str = "checkpoint") -> Rule:
    return Rule(lambda t: 100 * -t[..., PRIORITY] + t[..., ORDER], (mechanism,))


def both() -> dict[str, Decider]:
    """The two rules above, by the names that reports give them."""
    return {"np-fcfs": fcfs(), "hpf": priority_first()}


class Asked:
    """The shortest estimate first, asked in Python for every table: no compiled loop."""

    mechanisms = ("checkpoint",)

    def __init__(self) -> None:
        self._policy = baselines.make("static-sjf")

    def predict(self, observation: Tables, **given: Any) -> tuple[Any, Any]:
        """Ask the rule."""
        return self._policy.predict(observation, **given)
