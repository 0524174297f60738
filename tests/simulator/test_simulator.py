"""The façade: what it refuses and copies; batching, threads and limits change nothing."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from prema_gym.errors import ConfigError, IllegalActionError, UnknownNameError, WorkloadError
from prema_gym.simulator import MECHANISMS, SchedulerOptions, Simulator, State
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.workload import WorkloadBatch


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    networks = ("alexnet", "mobilenet-v1")
    return compile_scenario(Scenario(name="two", networks=networks, window_ms=2.0, num_tasks=6))


def random_actions(simulator: Simulator, rng: np.random.Generator) -> np.ndarray:
    return np.asarray((rng.random(simulator.mask.shape) * simulator.mask).argmax(axis=1))


def play(simulator: Simulator, rng: np.random.Generator, steps: int = 10**6) -> None:
    for _ in range(steps):
        if simulator.done.all():
            return
        simulator.step(random_actions(simulator, rng))


@pytest.mark.small
def test_mask_is_the_predicate_for_every_action_and_beyond(catalog: Catalog) -> None:
    simulator = Simulator(catalog, num_envs=3, slots=4, mechanisms=MECHANISMS)
    simulator.load(sample_batch(catalog, range(3)))
    rng = np.random.default_rng(0)
    while not simulator.done.all():
        for env in range(3):
            said = [simulator.is_legal(action, env) for action in range(-2, 14)]
            assert said == [False, False, *simulator.mask[env], False, False]
            assert simulator.mask[env].any(), "there is always something to do"
        simulator.step(random_actions(simulator, rng))


@pytest.mark.small
def test_illegal_action_keeps_the_runner_else_first_come_and_is_counted(catalog: Catalog) -> None:
    simulator = Simulator(catalog, slots=4)
    for illegal in (-1, 4, 99):
        simulator.load(sample_batch(catalog, [7]))
        twin = Simulator(catalog, slots=4)
        twin.load(sample_batch(catalog, [7]))
        for count in range(1, 30):
            runner = int(twin.env["runner"][0])
            first = int(np.argmin(np.where(twin.mask[0], twin.observation[0, :, 3], np.inf)))
            simulator.step([illegal])
            twin.step([runner if runner >= 0 else first])
            assert simulator.env["illegal_actions"][0] == count
            assert simulator.env["now_cycles"] == twin.env["now_cycles"]
            np.testing.assert_array_equal(simulator.observation, twin.observation)


def test_batch_rows_equal_single_simulations(catalog: Catalog) -> None:
    batch = sample_batch(catalog, range(5))
    together = Simulator(catalog, num_envs=5, mechanisms=("checkpoint", "kill"))
    together.load(batch)
    alone = [Simulator(catalog, mechanisms=("checkpoint", "kill")) for _ in range(5)]
    for row, simulator in enumerate(alone):
        simulator.load(WorkloadBatch.of([batch.row(row)]))
    rng = np.random.default_rng(1)
    for _ in range(200):
        actions = random_actions(together, rng)
        together.step(actions)
        for row, simulator in enumerate(alone):
            simulator.step(actions[row : row + 1])
            np.testing.assert_array_equal(simulator.observation[0], together.observation[row])
            np.testing.assert_array_equal(simulator.mask[0], together.mask[row])
            assert simulator.tasks[0].tobytes() == together.tasks[row].tobytes()


def test_threads_change_nothing(catalog: Catalog) -> None:
    batch = sample_batch(catalog, range(9))
    one, many = (Simulator(catalog, num_envs=9) for _ in range(2))
    one.load(batch)
    many.load(batch)
    rng = np.random.default_rng(2)
    with ThreadPoolExecutor(3) as pool:
        for _ in range(100):
            actions = random_actions(one, rng)
            one.step(actions)
            shares = [pool.submit(many.step_range, actions, k, k + 3) for k in (0, 3, 6)]
            for share in shares:
                share.result()
            np.testing.assert_array_equal(one.observation, many.observation)
    assert one.env.tobytes() == many.env.tobytes()


def test_a_saved_state_continues_the_same_and_is_a_copy(catalog: Catalog) -> None:
    simulator = Simulator(catalog, num_envs=2, record_timeline=True)
    simulator.load(sample_batch(catalog, range(2)))
    play(simulator, np.random.default_rng(3), steps=20)
    saved = simulator.get_state()
    before = saved.env.tobytes()
    play(simulator, np.random.default_rng(4))
    first = (simulator.tasks.copy(), simulator.timeline(1))
    assert saved.env.tobytes() == before, "playing on did not touch the copy"
    simulator.set_state(saved)
    play(simulator, np.random.default_rng(4))
    np.testing.assert_array_equal(simulator.tasks, first[0])
    np.testing.assert_array_equal(simulator.timeline(1), first[1])


def test_a_refused_state_changes_nothing(catalog: Catalog) -> None:
    def loaded(**options: Any) -> Simulator:
        simulator = Simulator(catalog, num_envs=2, **options)
        simulator.load(sample_batch(catalog, range(2)))
        return simulator

    for own, other, message in (
        ({}, {"record_timeline": True}, "another record_timeline: it has one"),
        ({"record_timeline": True}, {}, "another record_timeline: it has none"),
        ({}, {"slots": 3}, "state array slots has shape"),
        ({}, {"max_tasks": 9}, "state array task has shape"),
    ):
        simulator = loaded(**own)
        before = simulator.get_state()
        with pytest.raises(ConfigError, match=message):
            simulator.set_state(loaded(**other).get_state())
        for name in State._fields:
            one, two = getattr(simulator.get_state(), name), getattr(before, name)
            assert one.tobytes() == two.tobytes(), name


@pytest.mark.parametrize("given", [np.arange(10)[::2], np.arange(10)[8::-2], [0, 2, 4, 6, 8]])
def test_environments_may_be_named_by_any_array(catalog: Catalog, given: Any) -> None:
    simulator = Simulator(catalog, num_envs=10)
    simulator.load(sample_batch(catalog, range(5)), envs=given)
    assert sorted(given) == np.flatnonzero(simulator.env["status"]).tolist()
    alone = Simulator(catalog)
    for seed, env in enumerate(given):
        alone.load(sample_batch(catalog, [seed]))
        np.testing.assert_array_equal(simulator.observation[env], alone.observation[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([True, False], "whole numbers, given bool"),
        ([0.0, 1.5], "whole numbers, given float64"),
        (["0", "1"], "whole numbers"),
        ([1, 1], "named twice"),
        ([0, 4], "environments are 0…3"),
        ([-1, 0], "environments are 0…3"),
    ],
)
def test_environments_that_are_none_are_refused(
    catalog: Catalog, given: list[object], message: str
) -> None:
    simulator = Simulator(catalog, num_envs=4)
    with pytest.raises(WorkloadError, match=message):
        simulator.load(sample_batch(catalog, range(2)), envs=given)  # type: ignore[arg-type]


@pytest.mark.small
def test_what_is_so_does_not_depend_on_what_was_handed_out(catalog: Catalog) -> None:
    simulator = Simulator(
        catalog, num_envs=3, slots=3, mechanisms=("checkpoint", "kill"), max_decisions=40
    )
    simulator.load(sample_batch(catalog, range(3)))
    rng = np.random.default_rng(6)
    for _ in range(45):  # some of them with copies that are over
        np.testing.assert_array_equal(simulator.legal(), simulator.mask)
        np.testing.assert_array_equal(simulator.tables(), simulator.observation)
        actions = random_actions(simulator, rng)
        observation, mask = simulator.observation.copy(), simulator.mask.copy()
        simulator.observation[...] = 7.0
        simulator.mask[...] = ~simulator.mask
        np.testing.assert_array_equal(simulator.legal(), mask)
        np.testing.assert_array_equal(simulator.tables(), observation)
        simulator.step(actions)
    assert simulator.done.all()


def test_reloading_some_environments_leaves_the_others_alone(catalog: Catalog) -> None:
    simulator = Simulator(catalog, num_envs=4)
    simulator.load(sample_batch(catalog, range(4)))
    play(simulator, np.random.default_rng(5), steps=15)
    untouched = simulator.tasks[[0, 2]].copy()
    simulator.load(sample_batch(catalog, [70, 71]), envs=[3, 1])
    np.testing.assert_array_equal(simulator.tasks[[0, 2]], untouched)
    fresh = Simulator(catalog, num_envs=2)
    fresh.load(sample_batch(catalog, [70, 71]))
    np.testing.assert_array_equal(simulator.observation[[3, 1]], fresh.observation)


def test_limit_truncates_only_with_work_left(catalog: Catalog) -> None:
    batch = sample_batch(catalog, [11])
    free = Simulator(catalog)
    free.load(batch)
    play(free, np.random.default_rng(6))
    needed = int(free.env["decisions"][0])
    assert free.terminated[0]
    for limit, truncated in ((needed, False), (needed - 1, True), (1, True)):
        simulator = Simulator(catalog, max_decisions=limit)
        simulator.load(batch)
        play(simulator, np.random.default_rng(6))
        assert (simulator.truncated[0], simulator.terminated[0]) == (truncated, not truncated)
        assert simulator.env["decisions"][0] == limit
        assert (simulator.tasks["completion_cycles"][0] < 0).any() == truncated


def test_horizon_truncates_at_the_first_question_from_then_on(catalog: Catalog) -> None:
    simulator = Simulator(catalog, horizon_ms=3.0)
    simulator.load(sample_batch(catalog, [12]))
    play(simulator, np.random.default_rng(7))
    assert simulator.truncated[0]
    assert simulator.env["now_cycles"][0] >= 3.0 * 700_000


def test_waits_are_what_is_left_of_the_turnaround(catalog: Catalog) -> None:
    simulator = Simulator(catalog, num_envs=3, mechanisms=("kill", "checkpoint"))
    simulator.load(sample_batch(catalog, range(3)))
    play(simulator, np.random.default_rng(8), steps=400)
    tasks, done = simulator.tasks, simulator.tasks["completion_cycles"] >= 0
    turnaround = tasks["completion_cycles"] - tasks["arrival_cycles"]
    ran = tasks["isolated_cycles"] + tasks["killed_cycles"]
    assert done.any()
    np.testing.assert_array_equal(simulator.waited_cycles[done], (turnaround - ran)[done])
    assert (simulator.waited_cycles >= 0).all()


def test_oracle_shows_true_times(catalog: Catalog) -> None:
    batch = sample_batch(catalog, [13])
    simulator = Simulator(catalog, estimate="oracle")
    simulator.load(batch)
    shown, true = simulator.tasks["shown_cycles"], simulator.tasks["isolated_cycles"]
    np.testing.assert_array_equal(shown, true)
    assert (batch.estimated_cycles != batch.isolated_cycles).any()


@pytest.mark.parametrize(
    ("keywords", "error", "needle"),
    [
        ({"num_envs": 0}, ConfigError, "num_envs"),
        ({"slots": 0}, ConfigError, "slots"),
        ({"max_tasks": 0}, ConfigError, "max_tasks"),
        ({"max_decisions": 0}, ConfigError, "max_decisions"),
        ({"horizon_ms": -1.0}, ConfigError, "horizon_ms"),
        ({"horizon_ms": float("nan")}, ConfigError, "horizon_ms"),
        ({"mechanisms": ()}, ConfigError, "mechanisms"),
        ({"mechanisms": ("kill", "kill")}, ConfigError, "kill"),
        ({"mechanisms": ("checkpiont",)}, UnknownNameError, "'checkpoint'"),
    ],
)
def test_bad_arguments_are_named(
    catalog: Catalog, keywords: dict[str, Any], error: type[Exception], needle: str
) -> None:
    with pytest.raises(error, match=needle):
        Simulator(catalog, **keywords)


def test_bad_option_is_named() -> None:
    with pytest.raises(UnknownNameError, match="since_wakeup"):
        SchedulerOptions(token_wait="since_wakup")


def test_misuse_is_refused(catalog: Catalog) -> None:
    simulator = Simulator(catalog, num_envs=2)
    with pytest.raises(WorkloadError, match="load"):
        simulator.step([0, 0])
    with pytest.raises(WorkloadError, match="1 workloads for 2"):
        simulator.load(sample_batch(catalog, [0]))
    with pytest.raises(WorkloadError, match=r"0…1"):
        simulator.load(sample_batch(catalog, [0]), envs=[2])
    with pytest.raises(WorkloadError, match="6 tasks"):
        Simulator(catalog, num_envs=2, max_tasks=5).load(sample_batch(catalog, range(2)))
    simulator.load(sample_batch(catalog, range(2)))
    for actions in ([0], [[0, 0]], [0.0, 1.0]):
        with pytest.raises(IllegalActionError, match="actions"):
            simulator.step(actions)
    with pytest.raises(ConfigError, match="record_timeline"):
        simulator.timeline()
    with pytest.raises(ConfigError, match="env"):
        simulator.set_state(Simulator(catalog, num_envs=3).get_state())


def test_a_workload_of_another_catalog_is_refused(catalog: Catalog) -> None:
    other = compile_scenario(Scenario(name="other", networks=("vgg-16",), num_tasks=6))
    with pytest.raises(WorkloadError):
        Simulator(catalog).load(sample_batch(other, [0]))


@pytest.mark.small
def test_renewed_observation_leaves_what_was_handed_out_and_shows_the_same(
    catalog: Catalog,
) -> None:
    simulator, twin = (Simulator(catalog, num_envs=4, slots=3, max_decisions=9) for _ in range(2))
    for each in (simulator, twin):
        each.load(sample_batch(catalog, range(4)))
    rng = np.random.default_rng(5)
    for _ in range(14):  # some copies are over by then, and are still shown
        before = simulator.observation
        values = before.copy()
        actions = random_actions(simulator, rng)
        simulator.renew_tables()
        simulator.step(actions)
        twin.step(actions)
        assert not np.shares_memory(simulator.observation, before)
        np.testing.assert_array_equal(before, values)
        np.testing.assert_array_equal(simulator.observation, twin.observation)
        np.testing.assert_array_equal(simulator.mask, twin.mask)
    assert simulator.done.all()


def test_compiled_steps_keep_no_reference_to_the_arrays(catalog: Catalog) -> None:
    simulator = Simulator(catalog, num_envs=2)
    arrays = (simulator.env, simulator.tasks, simulator.observation, catalog.table.segments)
    batch = sample_batch(catalog, range(2))
    simulator.load(batch)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(5):
        simulator.load(batch)
        simulator.step(simulator.mask.argmax(axis=1))
    assert [sys.getrefcount(array) for array in arrays] == before
