from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
from itertools import pairwise
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from prema_gym.envs import PremaNPUVectorEnv, episodes
from prema_gym.envs.on_demand import OnDemand
from prema_gym.envs.step import Job
from prema_gym.errors import ConfigError, IllegalActionError
from prema_gym.simulator import MECHANISMS
from prema_gym.workloads import TaskSpec, WorkloadBatch, sample, sample_batch
from tests.envs.helpers import (
    COPYING,
    SMALL,
    assert_same,
    catalog,
    random_legal,
    single,
    tasks,
    vector,
)

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
# Drains are asked again: held drains would leave too few decisions to reach the limit.
MIXED: dict[str, Any] = {
    "mechanisms": MECHANISMS,
    "sticky_drain": False,
    "reward": "balanced",
    "max_decisions": 120,
}


def collections_of_steps(envs: Any, steps: int, seed: int = 0) -> list[Any]:
    """Reset, then random legal actions (the same for equal masks); everything returned."""
    rng = np.random.default_rng(1)
    results: list[Any] = [envs.reset(seed=seed)]
    mask = results[0][1]["action_mask"]
    for _ in range(steps):
        results.append(envs.step(random_legal(mask, rng)))
        mask = results[-1][4]["action_mask"]
    return results


def ends(results: list[Any]) -> int:
    return sum(int((step[2] | step[3]).sum()) for step in results[1:])


@pytest.mark.parametrize("mode", MODES)
def test_it_is_gymnasiums_own_vector_of_single_environments(mode: AutoresetMode) -> None:
    """Everything returned is equal, bit for bit: dtypes, info keys, nesting and key masks too."""
    native = vector(6, autoreset_mode=mode, **MIXED)
    twin = SyncVectorEnv([lambda: single(**MIXED)] * 6, autoreset_mode=mode)
    results = collections_of_steps(native, 400, seed=3)
    assert ends(results) > 12
    assert any(step[3].any() for step in results[1:]), "some were truncated"
    assert_same(results, collections_of_steps(twin, 400, seed=3))
    assert native.observation_space == twin.observation_space
    assert native.action_space == twin.action_space
    assert native.metadata["autoreset_mode"] is mode


@pytest.mark.small
@pytest.mark.parametrize("mode", MODES)
def test_a_vector_of_one_is_the_single_environment(mode: AutoresetMode) -> None:
    env, envs = single(**MIXED), vector(1, autoreset_mode=mode, **MIXED)
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=4)
    observations, infos = envs.reset(seed=4)
    np.testing.assert_array_equal(observations[0], observation)
    over = False
    while not over:
        action = int(random_legal(info["action_mask"], rng))
        observation, reward, terminated, truncated, info = env.step(action)
        observations, rewards, terminations, truncations, infos = envs.step([action])
        assert (rewards[0], terminations[0], truncations[0]) == (reward, terminated, truncated)
        over = terminated or truncated
        if over and mode is AutoresetMode.SAME_STEP:
            np.testing.assert_array_equal(infos["final_obs"][0], observation)
            infos = infos["final_info"]
        else:
            np.testing.assert_array_equal(observations[0], observation)
    assert {name for name in infos["tasks"] if name[0] != "_"} == set(info["tasks"])
    for name, value in info["episode_metrics"].items():
        np.testing.assert_equal(infos["episode_metrics"][name][0], value)
    # Then the next episode.
    observation, info = env.reset()
    if mode is AutoresetMode.NEXT_STEP:
        observations, rewards, terminations, truncations, infos = envs.step([2])
        assert (rewards[0], terminations[0], truncations[0]) == (0.0, False, False)
        assert not infos.get("_reward_terms", np.zeros(1, bool)).any()
    np.testing.assert_array_equal(observations[0], observation)


def test_processes_give_the_same_numbers() -> None:
    """Workers are started anew (spawn), so they import and register by themselves."""

    arguments: dict[str, Any] = {"scenario": SMALL, "slots": 3}
    make = gymnasium.make_vec
    native = make("prema_gym:PremaNPU-v0", num_envs=3, **arguments)
    workers = make(
        "prema_gym:PremaNPU-v0",
        num_envs=3,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
        **arguments,
    )
    assert isinstance(native, PremaNPUVectorEnv)
    assert isinstance(workers, AsyncVectorEnv)
    try:
        assert_same(collections_of_steps(native, 60), collections_of_steps(workers, 60))
    finally:
        workers.close()


@pytest.mark.parametrize("mode", MODES)
def test_threads_change_nothing(mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "num_cpus", lambda: 20)
    one = collections_of_steps(vector(7, autoreset_mode=mode, **MIXED), 150)
    for threads in (2, 3, 20):
        envs = vector(7, autoreset_mode=mode, threads=threads, **MIXED)
        assert_same(collections_of_steps(envs, 150), one)
        envs.close()


@pytest.mark.small
def test_sub_environments_have_their_own_seeds() -> None:
    envs = vector(8)
    observations, infos = envs.reset(seed=20)
    for i in range(8):
        own, info = single().reset(seed=20 + i)
        np.testing.assert_array_equal(observations[i], own)
        np.testing.assert_array_equal(infos["action_mask"][i], info["action_mask"])
    assert len({row.tobytes() for row in observations}) == 8
    by_list, _ = vector(3).reset(seed=[22, None, 20])
    np.testing.assert_array_equal(by_list[0], observations[2])
    np.testing.assert_array_equal(by_list[2], observations[0])
    with pytest.raises(ConfigError, match="one for each of 8 sub-environments, got 2 seeds"):
        envs.reset(seed=[1, 2])
    # An unseeded reset goes on, whatever happened in others.
    again, _ = envs.reset()
    alone = single()
    alone.reset(seed=25)
    np.testing.assert_array_equal(again[5], alone.reset()[0])
    one, two = vector(2).reset()[0], vector(2).reset()[0]
    assert not np.array_equal(one, two)
    assert len(envs.np_random) == 8
    assert envs.np_random_seed == tuple(range(20, 28))


@pytest.mark.small
@pytest.mark.parametrize("mode", MODES)
def test_generators_can_be_exchanged(mode: AutoresetMode) -> None:
    """The next episodes are drawn from the new ones, each kind of generator as by hand."""
    envs = vector(2, autoreset_mode=mode, max_decisions=3)
    envs.reset(seed=0)
    kinds = (np.random.MT19937, np.random.PCG64DXSM)
    envs.np_random = [np.random.Generator(kind(9)) for kind in kinds]
    assert envs.np_random_seed == (-1, -1)
    wanted = [sample(catalog(), np.random.Generator(kind(9))) for kind in kinds]
    for _ in range(4):  # to the limit, and into the next episode
        envs.step([0, 0])
    arrivals = envs.simulator.tasks["arrival_cycles"]
    for own, workload in zip(arrivals, wanted, strict=True):
        assert own[: workload.num_tasks].tolist() == workload.arrival_cycles.tolist()
    kept = envs.np_random
    for wrong, message in (
        ([np.random.default_rng(0)], "one for each of 2 sub-environments, got 1"),
        ([1, 2], "a generator must be a numpy.random.Generator, got 1"),
        ([kept[0], np.random.Generator(kept[0].bit_generator)], "cannot share a generator"),
    ):
        with pytest.raises(ConfigError, match=message):
            envs.np_random = wrong
        assert envs.np_random == kept


def test_a_state_in_another_order_of_memory_is_refused() -> None:
    envs = vector(3)
    envs.reset(seed=0)
    state = envs.get_state()
    for name in ("task", "slots", "mask"):
        turned = np.asfortranarray(getattr(state.simulation, name))
        with pytest.raises(ConfigError, match=f"state array {name} is not contiguous"):
            envs.set_state(state._replace(simulation=state.simulation._replace(**{name: turned})))
    envs.set_state(state)
    # Where episodes that are over are refused, which looks at this part first.
    same_step = vector(3, autoreset_mode=AutoresetMode.SAME_STEP)
    same_step.reset(seed=0)
    with pytest.raises(ConfigError, match="state array over is a NoneType"):
        same_step.set_state(same_step.get_state()._replace(over=cast(Any, None)))


@pytest.mark.small
def test_generators_alone_are_no_reset() -> None:
    envs = vector(2)
    envs.np_random = [np.random.default_rng(i) for i in (1, 2)]
    for one in (envs, pickle.loads(pickle.dumps(envs))):
        with pytest.raises(gymnasium.error.ResetNeeded):
            one.step([0, 0])
    with pytest.raises(ConfigError, match=r"np_random must be a generator for each .*, got None"):
        envs.np_random = None
    with pytest.raises(ConfigError, match="seed must be a whole number"):
        envs.reset(seed=True)


@pytest.mark.parametrize("threads", [1, 2])
def test_generators_outlive_the_step_that_draws_from_them(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal's handler, or another thread, may exchange them while compiled code runs."""
    monkeypatch.setattr(episodes, "num_cpus", lambda: 2)

    def last_observation(exchange: bool) -> np.ndarray:
        envs = vector(16, threads=threads, max_decisions=1)
        envs.reset(seed=0)
        envs.step(np.zeros(16, np.int64))  # all are over now
        stepper = envs._episodes._stepper
        play = stepper.play

        def disturbed(job: Job) -> int:
            if exchange:
                envs.np_random = [np.random.default_rng(i) for i in range(100, 116)]
                gc.collect()
                junk = [bytearray(b"\xff" * size) for size in range(40, 400)] * 3
                del junk
            return play(job)

        monkeypatch.setattr(stepper, "play", disturbed)
        observations = envs.step(np.zeros(16, np.int64))[0]
        envs.close()
        return observations

    np.testing.assert_array_equal(last_observation(True), last_observation(False))


def arrays_in(result: Any) -> list[np.ndarray]:
    if isinstance(result, np.ndarray) and result.dtype != object:
        return [result]
    if isinstance(result, dict):
        return [a for value in result.values() for a in arrays_in(value)]
    if isinstance(result, tuple | list | np.ndarray):
        return [a for value in result for a in arrays_in(value)]
    return []


@pytest.mark.parametrize("mode", MODES)
def test_what_was_returned_never_changes(mode: AutoresetMode) -> None:
    envs = vector(4, autoreset_mode=mode, **MIXED)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    kept: list[Any] = []
    frozen: list[Any] = []
    for _ in range(130):
        step = envs.step(random_legal(infos["action_mask"], rng))
        infos = step[4]
        kept.append(step)
        frozen.append(copy.deepcopy(step))
    assert ends([None, *kept]) > 3
    assert_same(kept, frozen)
    for before, after in pairwise(kept[:40]):
        for one in arrays_in(before):
            assert not any(np.shares_memory(one, other) for other in arrays_in(after))


@pytest.mark.small
def test_what_was_returned_may_be_written_into() -> None:
    envs, twin = (vector(4, strict=True, render_mode="ansi", **MIXED) for _ in range(2))
    observations, infos = envs.reset(seed=0)
    twin.reset(seed=0)
    rng = np.random.default_rng(3)
    for _ in range(60):
        observations *= 7.0
        infos["action_mask"][...] = ~infos["action_mask"]
        np.testing.assert_array_equal(envs.action_masks(), twin.action_masks())
        assert envs.render() == twin.render()
        with pytest.raises(IllegalActionError, match="illegal in sub-environment"):
            envs.step(np.argmin(twin.action_masks(), axis=1))
        actions = random_legal(twin.action_masks(), rng)
        observations, *one, infos = envs.step(actions)
        table, *other, _ = twin.step(actions)
        np.testing.assert_array_equal(observations, table)
        assert_same(tuple(one), tuple(other))


def test_a_given_batch_is_copied() -> None:
    batch = sample_batch(catalog(), range(3))
    envs, twin = (vector(3, workload=batch) for _ in range(2))
    twin.reset(seed=0)
    expected = twin.action_masks(), twin.step(twin.action_masks().argmax(axis=1))[:4]
    batch.profile[...] = 10**7
    batch.num_tasks[...] = 5000
    envs.reset(seed=0)
    np.testing.assert_array_equal(envs.action_masks(), expected[0])
    assert_same(envs.step(envs.action_masks().argmax(axis=1))[:4], expected[1])


def test_a_state_with_what_was_written_into_shows_what_is() -> None:
    envs, other = vector(2, **MIXED), vector(2, copy=False, **MIXED)
    observations, infos = envs.reset(seed=0)
    table, mask = observations.copy(), infos["action_mask"].copy()
    observations[...], infos["action_mask"][...] = 7.0, True
    other.set_state(envs.get_state())
    np.testing.assert_array_equal(other.simulator.observation, table)
    np.testing.assert_array_equal(other.simulator.mask, mask)


def test_states_with_episodes_that_are_over_need_the_next_step_mode() -> None:
    envs = vector(3, **MIXED)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    while not envs.simulator.done.any():
        envs.step(random_legal(envs.action_masks(), rng))
    state = envs.get_state()
    vector(3, **MIXED).set_state(state)
    with pytest.raises(ConfigError, match="episodes that are over"):
        vector(3, autoreset_mode="SameStep", **MIXED).set_state(state)


def test_live_views_on_request() -> None:
    plain, live = vector(4), vector(4, copy=False)
    expected = collections_of_steps(plain, 50)
    rng = np.random.default_rng(1)
    observations, infos = live.reset(seed=0)
    for step in expected[1:]:
        np.testing.assert_array_equal(observations, live.simulator.observation)
        action = random_legal(infos["action_mask"], rng)
        observations, rewards, _, _, infos = live.step(action)
        np.testing.assert_array_equal(observations, step[0])
        np.testing.assert_array_equal(rewards, step[1])
        np.testing.assert_array_equal(infos["action_mask"], step[4]["action_mask"])
    assert np.shares_memory(observations, live.step(action)[0])
    assert not np.shares_memory(rewards, live.step(action)[1])


def test_masks_of_many() -> None:
    """20 000 random masked steps: no illegal action, and no empty mask."""
    envs = vector(50, mechanisms=MECHANISMS, strict=True)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    for _ in range(400):
        mask = envs.action_masks()
        assert mask.shape == (50, 9)
        assert mask.dtype == np.bool_
        assert mask.any(axis=1).all()
        np.testing.assert_array_equal(mask, infos["action_mask"])
        _, _, _, _, infos = envs.step(random_legal(mask, rng))
        assert not infos["illegal_actions"].any()


@pytest.mark.small
def test_actions_that_are_not_allowed() -> None:
    envs = vector(3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step([0, 0, 0])
    _, infos = envs.reset(seed=0)
    for actions in ([0, 0], [[0, 0, 0]], [0.0, 0.0, 0.0], 0):
        with pytest.raises(IllegalActionError, match=r"whole numbers of shape \(3,\)"):
            envs.step(actions)
    wrong = np.array([0, -5, 99])
    assert envs.step(wrong)[4]["illegal_actions"].tolist() == [0, 1, 1]
    envs = vector(3, strict=True)
    envs.reset(seed=0)
    with pytest.raises(
        IllegalActionError, match="action -5 is illegal in sub-environment 1; legal now"
    ):
        envs.step(wrong)
    np.testing.assert_array_equal(envs.action_masks(), infos["action_mask"])


@pytest.mark.small
@pytest.mark.parametrize("strict", [False, True])
def test_workloads_without_a_decision(strict: bool) -> None:
    lonely = tasks(TaskSpec(network="alexnet"))
    envs = vector(2, workload=lonely, strict=strict)
    envs.reset()
    for _ in range(3):
        _, rewards, terminated, truncated, infos = envs.step([0, 0])
        assert rewards.tolist() == [-1.0, -1.0]
        assert terminated.all()
        assert not truncated.any()
        assert infos["episode_metrics"]["antt"].tolist() == [1.0, 1.0]
        # The action of the step that resets is ignored, however illegal.
        observations, rewards, terminated, truncated, infos = envs.step([2, -7])
        assert rewards.tolist() == [0.0, 0.0]
        assert not (terminated | truncated).any()
        assert infos["action_mask"].tolist() == [[True, False, False]] * 2
        assert not observations.any()
    envs = vector(2, workload=lonely, autoreset_mode="SameStep")
    envs.reset()
    for _ in range(3):
        _, rewards, terminated, _, infos = envs.step([0, 0])
        assert rewards.tolist() == [-1.0, -1.0]
        assert terminated.all()
        assert infos["final_info"]["episode_metrics"]["antt"].tolist() == [1.0, 1.0]


@pytest.mark.small
def test_a_batch_of_given_workloads() -> None:
    one = tasks(*[TaskSpec(network="alexnet")] * 2)
    two = sample(catalog(), np.random.default_rng(0))
    envs = vector(2, workload=WorkloadBatch.of([one, two]))
    rng = np.random.default_rng(0)
    for _ in range(2):
        envs.reset()
        found: dict[int, np.ndarray] = {}
        while len(found) < 2:
            step = envs.step(random_legal(envs.action_masks(), rng))
            for i in np.flatnonzero(step[2]):
                found[int(i)] = step[4]["tasks"]["isolated_cycles"][i]
        width = len(found[0])
        assert found[0].tolist() == one.isolated_cycles.tolist() + [0] * (width - 2)
        assert found[1].tolist() == two.isolated_cycles.tolist()


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle", "state"])
def test_copies_continue_identically(how: str) -> None:
    envs = vector(3, threads=2, **MIXED)
    collections_of_steps(envs, 30)
    if how == "state":
        twin = vector(3, **MIXED)
        twin.set_state(envs.get_state())
    else:
        twin = COPYING[how](envs)
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(250):
        actions = random_legal(envs.action_masks(), rng)
        step = envs.step(actions)
        assert_same(step, twin.step(actions))
        count += int((step[2] | step[3]).sum())
    assert count > 3
    envs.close()
    twin.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    code = (
        "import os, gymnasium, numpy as np\n"
        "envs = gymnasium.make_vec('prema_gym:PremaNPU-v0', num_envs=8, threads=2, slots=8)\n"
        "envs.reset(seed=0)\n"
        "envs.step(np.zeros(8, np.int64))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    envs.step(np.zeros(8, np.int64))\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    # A child that waited for threads it does not have would wait for ever.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "7", done.stderr


def test_make_vec_takes_arguments_and_gymnasiums_wrappers_work() -> None:
    envs = gymnasium.make_vec(
        "PremaNPU-v0",
        num_envs=4,
        vectorization_mode="vector_entry_point",
        scenario=SMALL,
        slots=3,
        mechanisms=("checkpoint", "kill"),
        max_decisions=50,
    )
    assert type(envs) is PremaNPUVectorEnv
    assert envs.spec is not None
    assert envs.spec.id == "PremaNPU-v0"
    assert envs.single_action_space == gymnasium.spaces.Discrete(6)
    wrapped = RecordEpisodeStatistics(envs)
    results = collections_of_steps(wrapped, 60)
    lengths = [step[4]["episode"]["l"] for step in results[1:] if "episode" in step[4]]
    assert lengths
    listed = DictInfoToList(vector(4, max_decisions=50))
    rng = np.random.default_rng(0)
    _, infos = listed.reset(seed=0)
    while not any("episode_metrics" in info for info in infos):
        mask = np.stack([info["action_mask"] for info in infos])
        _, rewards, _, _, infos = listed.step(random_legal(mask, rng))
    ended = [i for i, info in enumerate(infos) if "episode_metrics" in info]
    for i in ended:
        assert infos[i]["episode_metrics"]["decisions"] <= 50
        assert rewards[i] == pytest.approx(infos[i]["reward_terms"]["antt"])


@pytest.mark.small
def test_rendering_needs_a_mode() -> None:
    envs = vector(2)
    envs.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert envs.render() is None
    envs = vector(2, render_mode="ansi")
    envs.reset(seed=0)
    frames = envs.render()
    assert frames is not None
    assert len(frames) == 2
    assert frames[0] != frames[1]
    assert envs.timeline(1).shape[1] == 4


@pytest.mark.small
def test_on_demand_is_a_dict() -> None:
    calls = []

    def build() -> dict[str, int]:
        calls.append(1)
        return {"a": 1, "b": 2}

    full = {"a": 1, "b": 2}
    readers: dict[str, Any] = {
        "dict": lambda d: dict(d) == full,
        "unpack": lambda d: {**d} == full,
        "merge": lambda d: d | {} == full and {} | d == full,
        "equal": lambda d: d == full and not d != full,  # noqa: SIM202
        "len": lambda d: len(d) == 2,
        "bool": lambda d: bool(d),
        "iterate": lambda d: list(d) == ["a", "b"] and list(reversed(d)) == ["b", "a"],
        "item": lambda d: d["a"] == 1,
        "get": lambda d: d.get("a") == 1 and d.get("c", 5) == 5,
        "in": lambda d: "a" in d and "c" not in d,
        "keys": lambda d: list(d.keys()) == ["a", "b"],
        "values": lambda d: list(d.values()) == [1, 2],
        "items": lambda d: list(d.items()) == [("a", 1), ("b", 2)],
        "copy": lambda d: d.copy() == full and copy.copy(d) == full and copy.deepcopy(d) == full,
        "pickle": lambda d: pickle.loads(pickle.dumps(d)) == full,
        "repr": lambda d: repr(d) == repr(full),
        "update": lambda d: d.update(c=3) is None and d == {**full, "c": 3},
        "set": lambda d: d.__setitem__("a", 5) is None and d == {"a": 5, "b": 2},
        "setdefault": lambda d: d.setdefault("a", 9) == 1,
        "delete": lambda d: d.__delitem__("a") is None and d == {"b": 2},
        "pop": lambda d: d.pop("a") == 1 and d.popitem() == ("b", 2),
        "clear": lambda d: d.clear() is None and d == {},
        "join": lambda d: d.__ior__({"c": 3}) == {**full, "c": 3},
        "json": lambda d: json.loads(json.dumps(d)) == full,
        "json, indented": lambda d: json.loads(json.dumps(d, indent=1)) == full,
    }
    for name, reader in readers.items():
        calls.clear()
        lazy = OnDemand(build)
        assert isinstance(lazy, dict)
        assert not calls
        assert reader(lazy), name
        assert len(calls) == 1, name
    with pytest.raises(KeyError):
        OnDemand(build)["c"]


def test_what_is_read_late_is_what_was_true_then() -> None:
    def last_infos(read_at_once: bool) -> list[dict[str, Any]]:
        envs = vector(4, max_decisions=40, autoreset_mode="SameStep")
        rng = np.random.default_rng(0)
        _, infos = envs.reset(seed=0)
        kept = []
        for _ in range(200):
            _, _, _, _, infos = envs.step(random_legal(infos["action_mask"], rng))
            if "final_info" in infos:
                kept.append(infos["final_info"])
                if read_at_once:
                    assert kept[-1]["episode_metrics"]["antt"].any()
                    assert kept[-1]["tasks"]["arrival_cycles"].any()
        return kept

    early, late = last_infos(True), last_infos(False)
    assert len(early) > 5
    assert_same(early, late)


def test_equal_seeds_draw_equal_workloads_in_a_batch() -> None:
    drawn = sample_batch(catalog(), range(30, 34))
    envs = vector(4, max_decisions=1)
    envs.reset(seed=30)
    _, _, _, truncated, infos = envs.step(np.zeros(4, int))
    assert truncated.all()
    np.testing.assert_array_equal(infos["tasks"]["profile"], drawn.profile)


def step_often(envs: PremaNPUVectorEnv) -> int:
    """Take 2 000 steps; return how many episodes ended."""
    return sum(int(envs.step(np.zeros(envs.num_envs, np.int64))[2].sum()) for _ in range(2000))


@pytest.mark.parametrize("mode", MODES)
def test_an_error_as_an_episode_ends_loses_no_end(mode: AutoresetMode) -> None:
    failed: list[int] = []

    def fails_once(simulator: Any) -> Any:
        if simulator.done.any() and not failed:
            failed.append(1)
            raise RuntimeError("not now")
        return -simulator.env["now_cycles"] / 1e6

    envs = vector(4, reward=fails_once, autoreset_mode=mode)
    envs.reset(seed=0)
    with pytest.raises(RuntimeError, match="not now"):
        step_often(envs)
    stands = envs.simulator.done.copy()
    _, _, terminated, truncated, infos = envs.step(np.zeros(4, np.int64))
    assert (terminated | truncated)[stands].all()
    key = "_episode_metrics" if mode is AutoresetMode.NEXT_STEP else "_final_info"
    assert infos[key][stands].all()
    assert step_often(envs) > 40


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("late", [0, 1, 2, 5])
@pytest.mark.parametrize("num_envs", [1, 2, 5])
def test_an_error_in_any_step_leaves_a_sane_batch(
    mode: AutoresetMode, late: int, num_envs: int
) -> None:
    """It fails so many steps after the first end: in the step that restarts it, say."""
    fail: list[bool] = []

    def minus_the_time(simulator: Any) -> Any:
        if fail:
            fail.clear()
            raise ValueError("once")
        return -simulator.env["now_cycles"] / 7e5  # ms

    envs = vector(num_envs, reward=minus_the_time, autoreset_mode=mode)
    rng = np.random.default_rng(late)
    envs.reset(seed=1)

    def step() -> Any:
        return envs.step(random_legal(envs.action_masks(), rng))

    while not step()[2].any():
        pass
    for _ in range(late):
        step()
    fail.append(True)
    with pytest.raises(ValueError, match="once"):
        step()
    whole = np.zeros(num_envs, np.bool_)  # episodes that began after the failure
    returns, ends = np.zeros(num_envs), np.zeros(num_envs, np.int64)
    for _ in range(1500):
        _, rewards, terminated, _, infos = step()
        returns += rewards
        for i in np.flatnonzero(terminated):
            last = infos if mode is AutoresetMode.NEXT_STEP else infos["final_info"]
            if whole[i]:
                makespan = last["episode_metrics"]["makespan_ms"][i]
                assert returns[i] == pytest.approx(-makespan, abs=1e-6)
            whole[i], returns[i] = True, 0.0
            ends[i] += 1
        assert envs._episodes.over_rows.tolist() == np.flatnonzero(envs._episodes.over).tolist()
    # None stands, none is restarted again and again.
    assert (ends > 5).all()


def test_an_interrupt_before_a_reset_leaves_none_standing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    envs = vector(4, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=0)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(envs._episodes, "reset", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step_often(envs)
    monkeypatch.undo()
    stands = envs.simulator.done.copy()
    assert stands.any()
    observations, rewards, terminated, truncated, infos = envs.step(np.zeros(4, np.int64))
    # They start anew, for nothing.
    assert not (terminated | truncated)[stands].any()
    assert not rewards[stands].any()
    assert not infos["_reward_terms"][stands].any()
    assert observations[stands].any(axis=(1, 2)).all()
    assert (infos["now_ms"][stands] < 20).all()


@pytest.mark.parametrize("seed", [1.5, "abc", [1, 1.7, 3], np.array([1.5, 2, 3]), ["1", "2", "3"]])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    with pytest.raises(ConfigError, match=r"seed must be a whole number"):
        vector(3).reset(seed=seed)
