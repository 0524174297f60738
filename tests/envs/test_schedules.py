"""One policy through every path there is: one schedule, to the cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.envs.ended import RECORD_FIELDS
from prema_gym.envs.sb3 import PremaNPUVecEnv
from prema_gym.evaluation.playing import play_on
from prema_gym.simulator.simulator import Simulator
from prema_gym.workloads import sample_batch
from tests.envs.helpers import SETTINGS, catalog, go_on, play, single, vector

WORKLOADS = 200
Records = dict[str, NDArray[np.int64]]


def through_the_simulator(policy: baselines.Policy) -> Records:
    simulator = Simulator(catalog(), num_envs=WORKLOADS, slots=3, mechanisms=policy.mechanisms)
    play_on(simulator, policy, sample_batch(catalog(), range(WORKLOADS)))
    return {name: simulator.tasks[name] for name in RECORD_FIELDS}


def through_the_single_environment(policy: baselines.Policy) -> Records:
    env = single(mechanisms=policy.mechanisms, strict=True)
    rows = []
    for seed in range(WORKLOADS):
        _, info = play(env, lambda o, m: int(policy.predict(o, action_masks=m)[0]), seed=seed)
        rows.append(info["tasks"])
    return {name: np.stack([row[name] for row in rows]) for name in RECORD_FIELDS}


def through_the_vector(policy: baselines.Policy, mode: str) -> Records:
    envs = vector(WORKLOADS, mechanisms=policy.mechanisms, strict=True, autoreset_mode=mode)
    found: dict[int, dict[str, Any]] = {}
    observations, infos = envs.reset(seed=0)
    while len(found) < WORKLOADS:
        actions, _ = policy.predict(observations, action_masks=infos["action_mask"])
        observations, _, terminated, _, infos = envs.step(actions)
        last = infos.get("final_info", infos)
        for i in np.flatnonzero(terminated).tolist():
            found.setdefault(i, {name: last["tasks"][name][i] for name in RECORD_FIELDS})
    return {name: np.stack([found[i][name] for i in range(WORKLOADS)]) for name in RECORD_FIELDS}


def through_stable_baselines3(policy: baselines.Policy) -> Records:
    envs = PremaNPUVecEnv(WORKLOADS, mechanisms=policy.mechanisms, strict=True, **SETTINGS)
    envs.seed(0)
    found: dict[int, dict[str, Any]] = {}
    observations: Any = envs.reset()
    while len(found) < WORKLOADS:
        actions, _ = policy.predict(observations)
        observations, _, dones, infos = envs.step(actions)
        for i in np.flatnonzero(dones).tolist():
            found.setdefault(i, infos[i]["tasks"])
    return {name: np.stack([found[i][name] for i in range(WORKLOADS)]) for name in RECORD_FIELDS}


@pytest.mark.parametrize("name", ["dynamic-prema", "kill-token", "static-rrb"])
def test_every_path_gives_one_schedule(name: str) -> None:
    policy = baselines.make(name)
    expected = through_the_simulator(policy)
    assert expected["checkpoints"].sum() + expected["kills"].sum() > 50
    assert (expected["completion_cycles"] > 0).all()
    for records in (
        through_the_single_environment(policy),
        through_the_vector(policy, "NextStep"),
        through_the_vector(policy, "SameStep"),
        through_stable_baselines3(policy),
    ):
        for field in RECORD_FIELDS:
            np.testing.assert_array_equal(records[field], expected[field], err_msg=field)


@pytest.mark.small
def test_first_come_first_served_is_lindleys_recursion() -> None:
    env = single()
    for seed in range(10):
        _, info = play(env, go_on, seed=seed)
        tasks = info["tasks"]
        end = 0
        for i in range(len(tasks["arrival_cycles"])):
            end = max(end, int(tasks["arrival_cycles"][i])) + int(tasks["isolated_cycles"][i])
            assert tasks["completion_cycles"][i] == end


def test_the_slot_of_a_task_does_not_matter() -> None:
    """The same tasks chosen from a table of other size and order: the same schedule."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        few, many = single(slots=4), single(slots=9)
        _, info = few.reset(seed=seed)
        many.reset(seed=seed)
        over = False
        while not over:
            slot = int(rng.choice(np.flatnonzero(info["action_mask"])))
            # The n-th task in order of arrival is the same in both tables.
            shown, other = (e.simulator.observation[0] for e in (few, many))
            order = shown[slot, 3]
            twin = int(np.flatnonzero((other[:, 0] > 0) & (other[:, 3] == order))[0])
            _, reward, over, _, info = few.step(slot)
            assert many.step(twin)[1] == reward
