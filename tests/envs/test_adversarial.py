"""Whatever the actions: no crash, nothing out of its space, and what must hold holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from prema_gym.bounds import srpt_completions
from prema_gym.envs import PremaNPUEnv, PremaNPUVectorEnv
from prema_gym.envs.ended import EndedEpisodes
from prema_gym.hardware import NPUConfig
from prema_gym.simulator import MECHANISMS
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.state import IDLE, RUN, TRUNCATED
from prema_gym.workloads import Scenario
from tests.envs.helpers import SMALL, random_legal

# Corners of the workload and of the machine.
SCENARIOS: dict[str, Scenario] = {
    "small": SMALL,
    "one task": replace(SMALL, num_tasks=1),
    "full queue": replace(SMALL, num_tasks=20, window_ms=0.0),
    "bursts": replace(SMALL, num_tasks=9, arrival="burst", burst_size=3, window_ms=20.0),
    "rare": replace(SMALL, arrival="poisson", window_ms=5_000.0),
    "slow memory": replace(SMALL, hardware=NPUConfig(dram_bytes_per_s=10_000_000)),
    "no memory for contexts": replace(SMALL, hardware=NPUConfig(dram_bytes=0)),
    "large": Scenario(networks=("vgg-16", "rnn-mt1"), batch_sizes=(16,), num_tasks=3, window_ms=0),
    "long quantum": replace(SMALL, quantum_ms=50.0),
}


def check_records(records: Simulator | EndedEpisodes) -> None:
    """What must hold of workloads that were played to an end (docs/simulator.md, "Records")."""
    present, tasks, env = records.task_present, records.tasks, records.env
    total = {
        name: np.where(present, tasks[name], 0).sum(axis=1) for name in tasks.dtype.names or ()
    }
    elapsed = env["busy_cycles"] + env["switching_cycles"] + env["idle_cycles"]
    np.testing.assert_array_equal(elapsed, env["now_cycles"])
    # No work is lost and none is done twice, but for what was killed.
    np.testing.assert_array_equal(
        env["busy_cycles"], total["executed_cycles"] + total["killed_cycles"]
    )
    np.testing.assert_array_equal(
        env["switching_cycles"], total["checkpoint_cycles"] + total["restore_cycles"]
    )
    finished = present & (tasks["completion_cycles"] >= 0)
    truncated = env["status"] == TRUNCATED
    assert (finished.all(axis=1, where=present) == ~truncated).all()
    last = np.where(finished, tasks["completion_cycles"], 0).max(axis=1)
    np.testing.assert_array_equal(last[~truncated], env["now_cycles"][~truncated])
    done = tasks[finished]
    assert (done["executed_cycles"] == done["isolated_cycles"]).all()
    alone = done["arrival_cycles"] + done["isolated_cycles"]
    assert (done["completion_cycles"] >= alone + done["killed_cycles"]).all()
    assert (done["first_run_cycles"] >= done["arrival_cycles"]).all()
    running = total["dispatches"] - finished.sum(axis=1) - total["checkpoints"] - total["kills"]
    assert ((running == 0) | (truncated & (running == 1))).all()


def check_step(envs: PremaNPUVectorEnv, observations: Any, rewards: Any, infos: Any) -> None:
    assert observations.dtype == np.float32
    assert envs.observation_space.contains(observations)
    assert np.isfinite(observations).all()
    assert np.isfinite(rewards).all()
    assert (rewards <= 0).all()
    assert infos["action_mask"].any(axis=1).all()
    absent = observations[:, :, 0] == 0
    assert not observations[absent].any()
    check_order(envs.simulator)


def check_order(simulator: Simulator) -> None:
    """The engine's list of who is present: their slots, as they arrived; places are ranks."""
    state, tasks = simulator.engine_arguments[0], simulator.tasks
    for b, record in enumerate(simulator.env):
        slots = state.by_arrival[b, : record["admitted"] - record["finished"]]
        occupants = state.slots[b, slots]
        assert sorted(slots.tolist()) == np.flatnonzero(state.slots[b] >= 0).tolist()
        assert (np.diff(occupants) > 0).all()
        assert tasks[b, occupants]["order"].tolist() == list(range(len(slots)))


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("legal", [True, False])
def test_a_hundred_thousand_steps(name: str, legal: bool) -> None:
    """9 scenarios × (legal, anything) × 120 environments × 60 steps = 129 600 steps."""
    envs = PremaNPUVectorEnv(
        120, scenario=SCENARIOS[name], slots=5, mechanisms=MECHANISMS, max_decisions=40
    )
    rng = np.random.default_rng(0)
    observations, infos = envs.reset(seed=1)
    ended = 0
    for _ in range(60):
        mask = infos["action_mask"]
        actions = random_legal(mask, rng) if legal else rng.integers(-2, 18, 120)
        before = infos["illegal_actions"]
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        check_step(envs, observations, rewards, infos)
        assert not (terminated & truncated).any()
        over = np.flatnonzero(terminated | truncated)
        if legal:
            assert not infos["illegal_actions"].any()
        else:
            assert (infos["illegal_actions"] <= before + 1).all()
        if over.size:
            simulator = envs.simulator
            check_records(
                EndedEpisodes(simulator.catalog, *(words[over] for words in simulator.words))
            )
            ended += over.size
    assert ended > 60


def check_timeline(env: PremaNPUEnv, slices: NDArray[np.int64]) -> None:
    """One thing at a time: slices tile the time, and each task's runs add up to its work."""
    simulator = env.simulator
    tasks, record = simulator.tasks[0], simulator.env[0]
    assert slices[0, 2] == 0
    assert (slices[1:, 2] == slices[:-1, 3]).all()
    assert slices[-1, 3] == record["now_cycles"]
    assert (slices[:, 3] > slices[:, 2]).all()
    for i in range(int(record["num_tasks"])):
        own = slices[slices[:, 0] == i]
        runs = own[own[:, 1] == RUN]
        ran = int((runs[:, 3] - runs[:, 2]).sum())
        assert ran == tasks[i]["executed_cycles"] + tasks[i]["killed_cycles"]
        if own.size:
            assert own[0, 2] >= tasks[i]["arrival_cycles"]
    assert (slices[slices[:, 1] == IDLE, 0] == -1).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(sorted(SCENARIOS)),
    slots=st.integers(1, 6),
    mechanisms=st.permutations(MECHANISMS).flatmap(
        lambda order: st.integers(1, 3).map(lambda n: tuple(order[:n]))
    ),
    sticky=st.booleans(),
    seed=st.integers(0, 2**32),
    actions=st.lists(st.integers(-1, 18), min_size=5, max_size=60),
)
def test_any_stream_of_actions(
    name: str,
    slots: int,
    mechanisms: tuple[str, ...],
    sticky: bool,
    seed: int,
    actions: list[int],
) -> None:
    env = PremaNPUEnv(
        scenario=SCENARIOS[name],
        slots=slots,
        mechanisms=mechanisms,
        sticky_drain=sticky,
        max_decisions=len(actions),
        record_timeline=True,
    )
    observation, info = env.reset(seed=seed)
    now = info["now_ms"]
    for action in actions:
        assert env.observation_space.contains(observation)
        assert info["action_mask"].any()
        observation, reward, terminated, truncated, info = env.step(action)
        assert np.isfinite(reward)
        assert info["now_ms"] >= now
        now = info["now_ms"]
        check_timeline(env, env.timeline())
        if terminated or truncated:
            break
    assert terminated or truncated
    simulator = env.simulator
    check_records(simulator)
    if terminated and env.settings.slots >= simulator.max_tasks:
        # Nothing beats preempting for free by shortest remaining time.
        tasks = simulator.tasks[0]
        best = srpt_completions(tasks["arrival_cycles"], tasks["isolated_cycles"])
        assert tasks["completion_cycles"].sum() >= best.sum()


def test_never_preempting_is_no_way_to_go_on_for_ever() -> None:
    """Going on moves to the next event each time; killing for ever is cut off."""
    env = PremaNPUEnv(scenario=SMALL, slots=4)
    observation, info = env.reset(seed=0)
    now, over = -1.0, False
    while not over:
        running = np.flatnonzero(observation[:, 1])
        action = int(running[0]) if running.size else int(np.flatnonzero(info["action_mask"])[0])
        observation, _, over, _, info = env.step(action)
        assert info["now_ms"] > now
        now = info["now_ms"]

    env = PremaNPUEnv(scenario=SMALL, slots=4, mechanisms=("kill",), max_decisions=500)
    observation, info = env.reset(seed=0)
    truncated = terminated = False
    total = 0.0
    while not (terminated or truncated):
        waiting = np.flatnonzero((observation[:, 0] > 0) & (observation[:, 1] == 0))
        observation, reward, terminated, truncated, info = env.step(int(waiting[0]))
        total += reward
    assert truncated
    assert info["episode_metrics"]["decisions"] == 500
    assert total < -info["episode_metrics"]["unfinished"], "it is not paid for"
