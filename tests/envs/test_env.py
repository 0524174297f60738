from __future__ import annotations

import copy
import dataclasses
import pickle
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor

import prema_gym
from prema_gym.envs import EnvSettings, PremaNPUEnv, reward_names
from prema_gym.envs.infos import KEYS
from prema_gym.envs.rewards.terms import TERMS
from prema_gym.envs.snapshots import EpisodesState
from prema_gym.errors import ConfigError, IllegalActionError, UnknownNameError
from prema_gym.simulator import MECHANISMS
from prema_gym.simulator.observation import COLUMNS, ESTIMATED_MS, PRESENT, RUNNING
from prema_gym.workloads import TaskSpec, sample, sample_batch, save_workload
from prema_gym.workloads.fields import TASK_FIELDS
from tests.envs.helpers import (
    COPYING,
    SMALL,
    assert_same,
    catalog,
    chooser,
    go_on,
    play,
    random_legal,
    single,
    tasks,
    vector,
)

DOCUMENT = PremaNPUEnv.__doc__ or ""


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading of the class docstring."""
    section = DOCUMENT.split(f"## {heading}")[1].split("## ")[0]
    rows = [line.strip() for line in section.splitlines() if line.strip().startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


# --- the specification ---------------------------------------------------------------------------


@pytest.mark.small
def test_the_documented_columns_are_the_space() -> None:
    def interval(low: float, high: float) -> str:
        left = "(-inf" if low == -np.inf else f"[{low:g}"
        return f"{left}, {'inf)' if high == np.inf else f'{high:g}]'}"

    documented = table("Observation space")
    assert documented == [[c.name, c.unit, interval(c.low, c.high), c.meaning] for c in COLUMNS]
    assert prema_gym.observation_columns() == COLUMNS
    space = single().observation_space
    assert isinstance(space, gymnasium.spaces.Box)
    assert space.shape == (3, len(COLUMNS))
    assert space.dtype == np.float32
    for i, column in enumerate(COLUMNS):
        assert (space.low[:, i] == column.low).all()
        # A rank is below the number of rows.
        assert (space.high[:, i] == (2 if column.name == "order" else column.high)).all()
    sample = space.sample()
    assert space.contains(sample)
    assert np.abs(sample).max() < 1e3, "an unbounded column is sampled as such"


def test_a_space_fits_a_screen() -> None:
    one, many = single().observation_space, vector(5).observation_space
    for space in (one, many, pickle.loads(pickle.dumps(many)), copy.deepcopy(one)):
        assert len(str(space)) < 240
        assert "\n" not in str(space)
    assert "inf" in str(one)
    assert "-inf" in str(one)
    assert many == gymnasium.vector.utils.batch_space(one, 5)


@pytest.mark.small
def test_the_documented_arguments_are_the_settings() -> None:
    documented = {row[0]: row[2] for row in table("Arguments")}
    assert list(documented) == [f.name for f in dataclasses.fields(EnvSettings)]
    for field in dataclasses.fields(EnvSettings):
        written = documented[field.name].replace(" ", "").replace("'", '"')
        assert written == repr(field.default).replace(" ", "").replace("'", '"'), field.name
    effects = {row[0]: row[3] for row in table("Arguments")}
    assert effects == {f.name: f.metadata["help"] for f in dataclasses.fields(EnvSettings)}


@pytest.mark.small
def test_the_documented_reward_terms_are_the_terms() -> None:
    documented = {row[0]: row for row in table("Reward")}
    assert tuple(documented) == reward_names()
    for name, term in TERMS.items():
        assert documented[name] == [name, term.total, term.paid, term.unfinished], name


def test_the_documented_info_keys_are_the_keys() -> None:
    assert table("Info") == [list(key) for key in KEYS]
    where = {key.name: key.given for key in KEYS}
    env = single()
    _, at_reset = env.reset(seed=0)
    _, _, _, _, in_step = env.step(0)
    _, at_end = play(env, go_on)
    assert set(at_reset) == {key for key, places in where.items() if "reset" in places}
    assert set(in_step) == {
        key
        for key, places in where.items()
        if re.search(r"\bstep\b", places) and places != "last step"
    }
    assert set(at_end) == set(where)
    assert re.search(r"v0: first release", DOCUMENT)


@pytest.mark.small
def test_action_space_and_mask() -> None:
    for mechanisms in (("checkpoint",), ("checkpoint", "kill"), MECHANISMS):
        env = single(mechanisms=mechanisms)
        assert env.action_space == gymnasium.spaces.Discrete(3 * len(mechanisms))
        observation, info = env.reset(seed=1)
        mask = info["action_mask"].reshape(len(mechanisms), 3)
        present, running = observation[:, PRESENT] > 0, observation[:, RUNNING] > 0
        assert running.any()
        for i in range(len(mechanisms)):
            assert mask[i].tolist() == (present & (~running | (i == 0))).tolist()
        np.testing.assert_array_equal(env.action_masks(), info["action_mask"])


# --- reset and seeds -----------------------------------------------------------------------------


@pytest.mark.small
def test_seeds_repeat_and_so_do_the_resets_after_them() -> None:
    one, two = single(), single()
    assert_same(play(one, chooser(0), seed=7), play(two, chooser(0), seed=7))
    np.random.seed(1)  # noqa: NPY002 - global state must not matter
    random.seed(1)
    again = play(one, chooser(1))
    np.random.seed(2)  # noqa: NPY002
    random.seed(2)
    assert_same(again, play(two, chooser(1)))
    assert_same(one.reset(seed=0), two.reset(seed=0))
    assert not np.array_equal(one.reset(seed=0)[0], one.reset(seed=1)[0])
    assert not np.array_equal(single().reset()[0], single().reset()[0])


@pytest.mark.small
def test_a_seed_draws_the_workload_that_sampling_draws() -> None:
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        env = single()
        for reset in ({"seed": seed}, {}):
            drawn = sample(catalog(), rng)
            _, info = play(env, go_on, **reset)
            for name in TASK_FIELDS:
                np.testing.assert_array_equal(info["tasks"][name], getattr(drawn, name))


@pytest.mark.small
def test_options_hold_for_one_episode() -> None:
    env, plain = single(), single()
    options = {"num_tasks": 2, "window_ms": 0.0, "priorities": [9], "batch_shares": [1, 9]}
    _, info = play(env, go_on, seed=5, options=options)
    assert info["tasks"]["arrival_cycles"].tolist() == [0, 0, 0, 0]
    assert info["tasks"]["priority"].tolist() == [9, 9, 0, 0], "zeros where there is no task"
    plain.reset(seed=5, options=options)
    assert_same(play(env, chooser(0)), play(plain, chooser(0)))
    _, info = play(env, go_on)
    assert len(info["tasks"]["arrival_cycles"]) == SMALL.num_tasks


@pytest.mark.small
def test_options_may_make_workloads_longer() -> None:
    env = single()
    env.reset(seed=0)
    _, info = play(env, go_on, seed=1, options={"num_tasks": 6})
    assert len(info["tasks"]["arrival_cycles"]) == 6
    same = sample_batch(catalog(), [1])
    _, info = play(env, go_on, seed=1)
    np.testing.assert_array_equal(info["tasks"]["profile"], same.profile[0])


@pytest.mark.small
def test_options_that_are_not_allowed() -> None:
    env = single()
    workload = sample(catalog(), np.random.default_rng(0))
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"num_task": 3}, "did you mean 'num_tasks'"),
        ({"hardware": {}}, "unknown reset option 'hardware'"),
        ({"num_tasks": 0}, "num_tasks"),
        ({"workload": 3}, "workload must be"),
        ({"workload": workload, "num_tasks": 3}, "drawn or given, not both"),
    )
    for options, message in refused:
        with pytest.raises(ConfigError) as error:
            env.reset(seed=0, options=options)
        assert message in str(error.value)
    assert env.reset(seed=0, options={})[0].any()
    # A workload that was given stays, unless another one is.
    given = single(workload=workload)
    redrawn: tuple[dict[str, Any], ...] = ({"sla_factor": 2.0}, {"num_tasks": 2})
    for options in redrawn:
        with pytest.raises(ConfigError, match=f"made with a workload: .* by {next(iter(options))}"):
            given.reset(options=options)
    assert given.reset(options={"workload": workload})[0].any()


@pytest.mark.small
def test_a_given_workload_is_replayed(tmp_path: Path) -> None:
    workload = sample(catalog(), np.random.default_rng(11))
    path = tmp_path / "workload.json"
    save_workload(path, workload, catalog())
    drawn = play(single(), chooser(0), seed=11)
    for given in (workload, path, str(path)):
        env = single(workload=given)
        assert_same(play(env, chooser(0)), drawn)
        assert_same(play(env, chooser(0), seed=3), drawn)
        assert_same(play(single(), chooser(0), options={"workload": given}), drawn)


# --- ends ----------------------------------------------------------------------------------------


@pytest.mark.small
def test_a_limit_truncates_and_the_last_completion_terminates() -> None:
    rewards, info = play(single(max_decisions=None), go_on, seed=2)
    steps = len(rewards)
    assert info["episode_metrics"]["unfinished"] == 0
    for limit, finished in ((steps - 1, False), (steps, True), (steps + 1, True)):
        env = single(max_decisions=limit)
        observation, info = env.reset(seed=2)
        for _ in range(min(limit, steps)):
            step = env.step(go_on(observation, info["action_mask"]))
            observation, _, terminated, truncated, info = step
        assert (terminated, truncated) == (finished, not finished), limit
        assert info["action_mask"].any()
    assert info["episode_metrics"]["decisions"] == steps


@pytest.mark.small
def test_the_horizon_truncates_at_a_decision() -> None:
    env = single(horizon_ms=2.0)
    _, info = play(env, go_on, seed=0)
    assert info["now_ms"] >= 2.0
    assert info["episode_metrics"]["unfinished"] > 0
    # Past the horizon before the first decision: the first step says so.
    env = single(horizon_ms=1e-6)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [True, False, False]
    _, _, terminated, truncated, info = env.step(0)
    assert (terminated, truncated) == (False, True)
    assert info["episode_metrics"]["decisions"] == 0


@pytest.mark.small
def test_a_workload_without_a_decision_has_one_step() -> None:
    lonely = tasks(TaskSpec(network="alexnet", arrival_ms=1.0))
    for strict in (False, True):
        env = single(workload=lonely, strict=strict)
        observation, info = env.reset()
        assert not observation.any()
        assert info["action_mask"].tolist() == [True, False, False]
        observation, reward, terminated, truncated, info = env.step(0)
        assert reward == pytest.approx(-1.0)
        assert (terminated, truncated) == (True, False)
        assert info["episode_metrics"]["antt"] == 1.0


@pytest.mark.small
def test_steps_out_of_order() -> None:
    env = single()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    play(env, go_on, seed=0)
    last = env.action_masks()
    for action in (0, 2):
        observation, reward, terminated, truncated, info = env.step(action)
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert not observation.any()
        assert "episode_metrics" not in info
        np.testing.assert_array_equal(info["action_mask"], last)


def test_the_metrics_are_those_of_an_evaluation() -> None:
    from prema_gym.evaluation.playing import PlaySettings
    from prema_gym.evaluation.playing import play as play_batch
    from prema_gym.metrics import values_of

    class GoOn:
        def predict(
            self, observation: NDArray[np.float32], action_masks: Any = None, **_: Any
        ) -> tuple[NDArray[np.int64], None]:
            pairs = zip(observation, action_masks, strict=True)
            return np.array([go_on(o, m) for o, m in pairs], np.int64), None

    batch = sample_batch(catalog(), range(5))
    evaluated = values_of(play_batch(GoOn(), catalog(), batch, PlaySettings(slots=3)))
    for seed in range(5):
        _, info = play(single(), go_on, seed=seed)
        assert_same(info["episode_metrics"], {n: float(v[seed]) for n, v in evaluated.items()})


# --- illegal actions -----------------------------------------------------------------------------


def states(env: PremaNPUEnv, count: int, seed: int) -> Any:
    """Random legal play, stopping in ``count`` states with the mask there."""
    choose = chooser(seed)
    observation, info = env.reset(seed=seed)
    for _ in range(count):
        yield observation, info["action_mask"]
        step = env.step(choose(observation, info["action_mask"]))
        observation, _, terminated, truncated, info = step
        if terminated or truncated:
            observation, info = env.reset()


def test_the_mask_is_exactly_what_is_accepted() -> None:
    """In 5 000 states, each action on a copy: counted as illegal where the mask says so."""
    env = single(mechanisms=MECHANISMS)
    probe = single(mechanisms=MECHANISMS)
    for _, mask in states(env, 5000, seed=0):
        here = env.get_state()
        for action, legal in enumerate(mask):
            probe.set_state(here)
            before = int(here.simulation.env["illegal_actions"][0])
            _, _, _, _, info = probe.step(action)
            assert info["illegal_actions"] == before + (not legal)


def test_an_illegal_action_goes_on() -> None:
    """It does what going on does, apart from being counted."""
    env = single(mechanisms=MECHANISMS)
    probe = single(mechanisms=MECHANISMS)
    count = 0
    for observation, mask in states(env, 60, seed=1):
        here = env.get_state()
        probe.set_state(here)
        legal = probe.step(go_on(observation, mask))
        illegal = [*np.flatnonzero(~mask).tolist(), -1, mask.size, 10**30]
        for action in illegal:
            probe.set_state(here)
            step = probe.step(action)
            count += 1
            assert_same(step[:4], legal[:4])
            assert step[4]["illegal_actions"] == legal[4]["illegal_actions"] + 1
    assert count > 300


@pytest.mark.small
def test_strict_raises_and_changes_nothing() -> None:
    env = single(strict=True)
    _observation, info = env.reset(seed=0)
    wrong = int(np.flatnonzero(~info["action_mask"])[0])
    for action in (wrong, -1, 3, 99, 2**62):
        with pytest.raises(IllegalActionError, match=f"^action {action} is illegal .* legal now"):
            env.step(action)
    for action in (10**30, -(10**5000)):
        with pytest.raises(IllegalActionError, match="bits is illegal"):
            env.step(action)
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"])
    _rewards, info = play(env, go_on, seed=0)
    assert info["illegal_actions"] == 0


@pytest.mark.small
def test_what_an_action_may_be() -> None:
    env = single()
    wholes: list[Any] = [0, np.int64(0), np.array(0), np.uint8(0), False]
    for action in wholes:
        env.reset(seed=0)
        assert env.step(action)[4]["illegal_actions"] == 0
    others: list[Any] = [0.0, "0", None, np.array([0, 1])]
    for action in others:
        with pytest.raises(IllegalActionError, match="an action must be a whole number"):
            env.step(action)


# --- what arguments do ---------------------------------------------------------------------------


@pytest.mark.small
def test_the_estimate_is_what_is_shown() -> None:
    for arguments, oracle in (
        ({}, False),
        ({"oracle": True}, True),
        ({"estimate": "oracle"}, True),
    ):
        env = single(**arguments)
        shown, _ = env.reset(seed=0)
        _, info = play(env, go_on, seed=0)
        field = "isolated_cycles" if oracle else "estimated_cycles"
        known = info["tasks"][field] / 700_000
        present = shown[shown[:, PRESENT] > 0, ESTIMATED_MS]
        assert all(np.isclose(known, value, rtol=1e-6).any() for value in present)


@pytest.mark.small
def test_kill_and_drain_do_what_they_say() -> None:
    three = tasks(*[TaskSpec(network="googlenet")] * 3)
    env = single(mechanisms=MECHANISMS, sticky_drain=True, workload=three)
    env.reset()
    env.step(0)
    observation, *_ = env.step(0)
    assert observation[:, RUNNING].tolist() == [1, 0, 0]
    here, records = env.get_state(), env.simulator

    env.step(3 + 2)  # kill 0, run 2
    assert records.tasks["kills"].tolist() == [[1, 0, 0]]
    assert records.tasks["killed_cycles"][0, 0] > 0
    env.set_state(here)

    observation, *_ = env.step(6 + 2)  # drain 0, then run 2: asked again when 2 has started
    records = env.simulator
    assert (records.tasks["completion_cycles"] >= 0).tolist() == [[True, False, False]]
    assert records.tasks["drains"].tolist() == [[1, 0, 0]]
    assert observation[:, RUNNING].tolist() == [0, 0, 1]


@pytest.mark.small
def test_more_tasks_than_slots_wait_in_a_queue() -> None:
    env = single(slots=2)
    _, info = play(env, go_on, seed=0, options={"window_ms": 0.0})
    assert info["episode_metrics"]["unfinished"] == 0
    order = np.argsort(info["tasks"]["completion_cycles"], kind="stable")
    assert order.tolist() == [0, 1, 2, 3]


@pytest.mark.small
def test_the_timeline_is_kept_on_request() -> None:
    env = single(record_timeline=True)
    rewards, info = play(env, chooser(0), seed=0)
    slices = env.timeline()
    assert slices[0, 2] == 0
    assert (slices[1:, 2] == slices[:-1, 3]).all()
    assert slices[-1, 3] == info["tasks"]["completion_cycles"].max()
    assert_same((rewards, info), play(single(), chooser(0), seed=0))
    with pytest.raises(ConfigError, match="record_timeline"):
        single().timeline()


# --- copies and states ---------------------------------------------------------------------------


def continue_alike(one: Any, other: Any, steps: int) -> None:
    rng = np.random.default_rng(9)
    for _ in range(steps):
        mask = one.action_masks()
        action = int(random_legal(mask, rng))
        step = one.step(action)
        assert_same(step, other.step(action))
        if step[2] or step[3]:
            assert_same(one.reset(), other.reset())  # the generators are alike too


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("reward", ["antt", "balanced"])
def test_copies_continue_identically(how: str, reward: str) -> None:
    env = single(reward=reward, mechanisms=MECHANISMS, record_timeline=True)
    env.reset(seed=3)
    for _ in range(10):
        env.step(int(random_legal(env.action_masks(), np.random.default_rng(0))))
    twin = COPYING[how](env)
    before = env.timeline()
    continue_alike(env, twin, 250)
    assert not np.array_equal(before, env.timeline())
    np.testing.assert_array_equal(env.timeline(), twin.timeline())


@pytest.mark.small
def test_a_copy_is_independent() -> None:
    env = single()
    observation, info = env.reset(seed=0)
    mask = env.action_masks()
    for twin in (copy.copy(env), copy.deepcopy(env)):
        play(twin, chooser(0))
        np.testing.assert_array_equal(env.action_masks(), mask)
    assert_same(env.reset(seed=0), (observation, info))


@pytest.mark.small
def test_pickles_are_small() -> None:
    env = single()
    env.reset(seed=0)
    assert len(pickle.dumps(env)) < 20_000  # the compiled scenario is rebuilt, not stored


def test_states_bring_everything_back() -> None:
    env, other = single(reward="balanced"), single(reward="balanced")
    env.reset(seed=5)
    for _ in range(5):
        env.step(int(random_legal(env.action_masks(), np.random.default_rng(0))))
    here = env.get_state()
    rewards = [play_on(env) for _ in range(2)]
    env.set_state(here)
    assert [play_on(env) for _ in range(2)] == rewards
    other.set_state(here)
    assert [play_on(other) for _ in range(2)] == rewards


def play_on(env: PremaNPUEnv) -> list[float]:
    """Play to the end of the episode, and start the next."""
    rng, rewards, over = np.random.default_rng(1), [], False
    while not over:
        _, reward, terminated, truncated, _ = env.step(int(random_legal(env.action_masks(), rng)))
        rewards.append(reward)
        over = terminated or truncated
    env.reset()
    return rewards


@pytest.mark.small
def test_states_of_longer_workloads_fit_too() -> None:
    env, other = single(), single()
    env.reset(seed=0, options={"num_tasks": 7})
    here = env.get_state()
    other.set_state(here)
    assert play_on(env) == play_on(other)
    for arguments in ({"slots": 5}, {"reward": "balanced"}):
        with pytest.raises(ConfigError, match=f"another {next(iter(arguments))}"):
            single(**arguments).set_state(here)


def test_a_refused_state_changes_nothing() -> None:
    env = single(reward="antt")
    env.reset(seed=3)
    total = 0.0
    for _ in range(4):
        total += env.step(int(random_legal(env.action_masks(), np.random.default_rng(0))))[1]
    unborn = single()
    foreign: list[tuple[PremaNPUEnv, str]] = [
        (single(slots=5), "another slots"),
        (single(reward="balanced"), "another reward"),
        (single(reward="stp"), "another reward"),
        (single(oracle=True), "another estimate"),
        (single(mechanisms=("kill",)), "another mechanisms"),
        (single(record_timeline=True), "another record_timeline"),
        (single(scenario=replace(SMALL, num_tasks=2)), "another scenario"),
        # As many slots and tasks, but other networks: its profiles mean something else here.
        (single(scenario=replace(SMALL, networks=("alexnet",))), "another scenario"),
    ]
    for other, message in foreign:
        other.reset(seed=0)
        with pytest.raises(ConfigError, match=message):
            env.set_state(other.get_state())
    with pytest.raises(ConfigError, match="made before a reset"):
        env.set_state(unborn.get_state())
    with pytest.raises(ConfigError, match="a state must be what get_state"):
        env.set_state(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="another slots"):
        unborn.set_state(foreign[0][0].get_state())
    with pytest.raises(gymnasium.error.ResetNeeded):
        unborn.step(0)  # it is as if nothing had happened
    other = single(reward="antt")
    other.np_random = np.random.Generator(np.random.MT19937(0))
    other.reset()
    before = other.get_state().simulation
    with pytest.raises(ConfigError, match="PCG64, here it is a MT19937"):
        other.set_state(env.get_state())
    assert other.get_state().simulation.env.tobytes() == before.env.tobytes()
    over, rng = False, np.random.default_rng(1)
    while not over:
        _, reward, terminated, truncated, info = env.step(
            int(random_legal(env.action_masks(), rng))
        )
        total += reward
        over = terminated or truncated
    assert total == pytest.approx(-info["episode_metrics"]["antt"], abs=1e-9)


def states_that_are_none(state: EpisodesState) -> Iterator[tuple[EpisodesState, str]]:
    """A state with one part of another kind, size or type each, and what is said of it."""
    simulation, totals = state.simulation, state.totals
    none: Any = None
    for part in ("over", "simulation", "totals", "generators", "settings"):
        yield state._replace(**{part: none}), part
    for name in simulation._fields:
        own = getattr(simulation, name)
        wrong = [None, own.tolist(), own[..., None], own[:0], np.repeat(own, 2, axis=0)]
        if own.dtype.kind != "V":
            wrong += [own.astype(np.float64), own.astype(np.int16), own.astype(object)]
        for array in wrong:
            yield state._replace(simulation=simulation._replace(**{name: array})), name
    for name in totals._fields:
        own = getattr(totals, name)
        arrays: tuple[Any, ...] = (None, own[:0], own.astype(np.float32), own.astype(complex))
        for array in arrays:
            yield state._replace(totals=totals._replace(**{name: array})), name
    yield state._replace(over=np.zeros(2, np.bool_)), "over"
    yield state._replace(over=cast(Any, np.zeros(1))), "over"
    yield state._replace(generators=({},)), "generator"
    yield state._replace(generators=({"bit_generator": "PCG64"},)), "PCG64 is damaged"
    yield state._replace(generators=({"bit_generator": "PCG64", "state": 3},)), "PCG64 is damaged"


@pytest.mark.parametrize("record_timeline", [True, False])
def test_a_state_of_another_make_is_refused(record_timeline: bool) -> None:
    """Compiled code takes shapes and types on trust. Nothing has changed then."""
    env = single(record_timeline=record_timeline)
    env.reset(seed=0)
    env.step(1)
    state = env.get_state()
    count = 0
    for wrong, named in states_that_are_none(state):
        with pytest.raises(ConfigError) as caught:
            env.set_state(wrong)
        assert "\n" not in str(caught.value)
        assert named in str(caught.value) or "total" in str(caught.value)
        count += 1
    assert count > 50
    after = env.get_state()
    for one, other in zip(after.simulation, state.simulation, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    assert after.generators == state.generators


def test_a_generator_put_in_place_of_ours_is_part_of_the_state() -> None:
    env = single()
    env.reset(seed=0)
    env.np_random = np.random.Generator(np.random.MT19937(99))
    state = env.get_state()
    first, _ = env.reset()
    env.set_state(state)
    again, _ = env.reset()
    np.testing.assert_array_equal(again, first)
    wanted = sample(catalog(), np.random.Generator(np.random.MT19937(99))).arrival_cycles
    arrivals = env.simulator.tasks["arrival_cycles"][0, : wanted.size]
    np.testing.assert_array_equal(arrivals, wanted)


@pytest.mark.small
def test_a_refused_reset_changes_nothing() -> None:
    env, envs = single(), vector(1)
    env.reset(seed=0)
    envs.reset(seed=0)
    for wrong in (env, envs):
        for options in ({"bogus": 1}, {"num_tasks": 0}):
            with pytest.raises((ConfigError, UnknownNameError)):
                wrong.reset(seed=5, options=options)
    with pytest.raises(gymnasium.error.Error):
        envs.reset(seed=[-3])
    assert envs.np_random_seed == (0,)
    other = single()
    other.reset(seed=0)
    wanted, _ = other.reset()
    np.testing.assert_array_equal(env.reset()[0], wanted)
    np.testing.assert_array_equal(envs.reset()[0][0], wanted)


def test_a_timeline_has_room_for_whatever_a_reset_brings() -> None:
    # 60 tasks that run alone, one after the other: 120 slices before there is a decision.
    specs = [TaskSpec(network="alexnet", arrival_ms=20.0 * i) for i in range(60)]
    specs += [TaskSpec(network="alexnet", arrival_ms=2000.0) for _ in range(2)]
    workload = tasks(*specs)
    env, asked = single(record_timeline=True), single(record_timeline=True, workload=workload)
    env.reset(seed=0)
    env.reset(options={"workload": workload})
    asked.reset(seed=0)
    np.testing.assert_array_equal(env.timeline(), asked.timeline())
    assert len(env.timeline()) == 120
    envs = vector(3, record_timeline=True)
    envs.reset(seed=0)
    envs.reset(options={"workload": workload})
    for i in range(3):
        np.testing.assert_array_equal(envs.timeline(i), asked.timeline())
    # And with one that was made for it, when an episode starts within a step.
    given = vector(2, record_timeline=True, workload=workload)
    given.reset(seed=0)
    for _ in range(6):
        given.step(given.action_masks().argmax(axis=1))
    assert len(given.timeline(0)) >= 120


def test_a_seed_gives_the_same_digits_whatever_came_before() -> None:
    # Sums must not depend on how far the arrays are padded.
    reward = {"antt": 1, "stp": 1, "energy": 0.1}
    scenario = replace(SMALL, num_tasks=11)
    for seed in range(6):
        fresh, used = (single(scenario=scenario, slots=4, reward=reward) for _ in range(2))
        used.reset(options={"num_tasks": 40})
        one, two = (final_of(env, seed) for env in (fresh, used))
        assert one == two


def final_of(env: PremaNPUEnv, seed: int) -> tuple[list[float], dict[str, float]]:
    """Rewards and metrics of the episode of a seed."""
    env.reset(seed=seed)
    rng, rewards, over = np.random.default_rng(1), [], False
    while not over:
        _, reward, terminated, truncated, info = env.step(
            int(random_legal(env.action_masks(), rng))
        )
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info["episode_metrics"]


# --- wrappers ------------------------------------------------------------------------------------


def test_masks_are_reached_through_wrappers(tmp_path: Path) -> None:
    env = gymnasium.make("PremaNPU-v0", scenario=SMALL, slots=3, max_episode_steps=3)
    wrapped = Monitor(env, str(tmp_path / "monitor.csv"))
    _, info = wrapped.reset(seed=0)
    np.testing.assert_array_equal(wrapped.get_wrapper_attr("action_masks")(), info["action_mask"])
    for _ in range(3):
        action = int(np.flatnonzero(wrapped.get_wrapper_attr("action_masks")())[0])
        _, _, terminated, truncated, info = wrapped.step(action)
    assert (terminated, truncated) == (False, True)
    assert info["episode"]["l"] == 3
    wrapped.close()


def test_an_unknown_name_reaches_the_user_through_make() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'mechanisms'"):
        gymnasium.make("PremaNPU-v0", mechanism=("kill",))
