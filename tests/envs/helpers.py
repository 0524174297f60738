"""A small scenario and the few loops that the tests of this room share."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from prema_gym.envs import PremaNPUEnv, PremaNPUVectorEnv
from prema_gym.workloads import Catalog, Scenario, TaskSpec, compile_scenario, workload_from_tasks
from prema_gym.workloads.workload import Workload

# Four tasks of 0.5 to 9 ms within 2 ms: some 50 to 300 decisions, compiled in a tenth of a second.
SMALL = Scenario(
    name="small",
    networks=("alexnet", "mobilenet-v1", "googlenet", "rnn-sa"),
    batch_sizes=(1, 4),
    num_tasks=4,
    window_ms=2.0,
)
# Three slots for four tasks: the queue is used.
SETTINGS: dict[str, Any] = {"scenario": SMALL, "slots": 3}

Choose = Callable[[NDArray[np.float32], NDArray[np.bool_]], int]


def catalog() -> Catalog:
    return compile_scenario(SMALL)


def tasks(*specs: TaskSpec) -> Workload:
    return workload_from_tasks(catalog(), list(specs))


def single(**arguments: Any) -> PremaNPUEnv:
    return PremaNPUEnv(**{**SETTINGS, **arguments})


def vector(num_envs: int, **arguments: Any) -> PremaNPUVectorEnv:
    return PremaNPUVectorEnv(num_envs, **{**SETTINGS, **arguments})


def random_legal(mask: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """A random legal action for each row of a mask (…, actions)."""
    return np.asarray((rng.random(mask.shape) * mask).argmax(axis=-1))


def chooser(seed: int) -> Choose:
    rng = np.random.default_rng(seed)
    return lambda observation, mask: int(random_legal(mask, rng))


def go_on(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
    """Never preempt: the running task, else the earliest arrival."""
    running = np.flatnonzero(observation[:, 1])
    if running.size:
        return int(running[0])
    order = np.where(observation[:, 0] > 0, observation[:, 3], np.inf)
    return int(order.argmin())


def play(
    env: gymnasium.Env[Any, Any], choose: Choose, **reset: Any
) -> tuple[list[float], dict[str, Any]]:
    """Play one episode; return its rewards and the info of its last step."""
    observation, info = env.reset(**reset)
    rewards: list[float] = []
    over = False
    while not over:
        action = choose(observation, info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards, info


COPYING: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}
"""Every way to copy an environment."""


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """Hold two nested results equal, bit for bit; NaN equals NaN."""
    if isinstance(one, dict):
        assert isinstance(other, dict), where
        assert set(one) == set(other), (where, set(one) ^ set(other))
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif (isinstance(one, np.ndarray) and one.dtype == object) or isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    else:
        np.testing.assert_array_equal(one, other, err_msg=where)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, where
