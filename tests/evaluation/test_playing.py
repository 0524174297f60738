from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.errors import ConfigError
from prema_gym.evaluation.playing import PlaySettings, play, play_on, simulator_for
from prema_gym.simulator import ESTIMATED_MS, PRESENT, Mechanism, SchedulerOptions
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from tests.evaluation.helpers import TINY, Answer, Rule, Tables, fcfs, first_come, priority_first

CATALOG = compile_scenario(TINY)


class Counting:
    """Keeps a state: how many calls each environment has seen. Runs the first task in the table."""

    def __init__(self) -> None:
        self.calls: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []

    def predict(
        self,
        observation: Tables,
        state: NDArray[np.int64] | None = None,
        *,
        episode_start: NDArray[np.bool_],
        deterministic: bool = True,
        action_masks: NDArray[np.bool_],
    ) -> Answer:
        seen = np.zeros(len(observation), np.int64) if state is None else state
        seen = np.where(episode_start, 0, seen) + 1
        self.calls.append((seen, episode_start.copy()))
        return action_masks.argmax(axis=-1), seen


@pytest.mark.small
def test_fcfs_follows_the_lindley_recursion() -> None:
    batch = sample_batch(CATALOG, range(6))
    outcomes = play(fcfs(), CATALOG, batch)
    free = np.zeros(6, np.int64)
    for task in range(TINY.num_tasks):
        free = np.maximum(free, batch.arrival_cycles[:, task]) + batch.isolated_cycles[:, task]
        assert outcomes.completion_cycles[:, task].tolist() == free.tolist()
    assert outcomes.elapsed_cycles.tolist() == free.tolist()
    assert outcomes.unfinished.tolist() == [0] * 6
    assert not outcomes.truncated.any()
    assert not outcomes.preemptions.any()
    assert outcomes.high_priority == 9
    assert outcomes.cycles_per_ms == 700_000


@pytest.mark.small
def test_rows_that_are_done_are_not_asked() -> None:
    batch = sample_batch(CATALOG, range(6))
    policy = fcfs()
    outcomes = play(policy, CATALOG, batch)
    assert policy.asked[0] == 6
    assert sum(policy.asked[1:]) == outcomes.decisions.sum() - 6
    assert policy.asked[-1] < 6


@pytest.mark.small
def test_a_policy_with_a_state_gets_it_back() -> None:
    policy = Counting()
    outcomes = play(policy, CATALOG, sample_batch(CATALOG, range(3)))
    assert len(policy.calls) == outcomes.decisions.max()
    for call, (seen, starts) in enumerate(policy.calls):
        assert seen.tolist() == [call + 1] * 3  # every row in every call, done or not
        assert starts.tolist() == [call == 0] * 3
    assert outcomes.unfinished.sum() == 0


@pytest.mark.small
def test_the_mechanism_reaches_the_simulator() -> None:
    batch = sample_batch(CATALOG, range(6))
    checkpoint = play(priority_first(), CATALOG, batch)
    assert checkpoint.preemptions[:, Mechanism.CHECKPOINT].sum() > 0
    assert checkpoint.preemptions[:, Mechanism.KILL].sum() == checkpoint.killed_cycles.sum() == 0
    kill = play(priority_first("kill"), CATALOG, batch)
    assert kill.preemptions[:, Mechanism.KILL].sum() > 0
    assert kill.killed_cycles.sum() > 0
    assert kill.preemptions[:, Mechanism.CHECKPOINT].sum() == 0
    assert kill.energy_mj.sum() > checkpoint.energy_mj.sum()
    for_checkpoints = simulator_for(fcfs(), CATALOG, batch)
    with pytest.raises(ConfigError, match="build the simulator with the policy's"):
        play_on(for_checkpoints, priority_first("kill"), batch)


@pytest.mark.small
def test_a_simulator_at_hand_plays_the_same_again_and_holds_the_records() -> None:
    batch = sample_batch(CATALOG, range(6))
    simulator = simulator_for(fcfs(), CATALOG, batch, record_timeline=True)
    fresh = play(fcfs(), CATALOG, batch)
    for _ in range(2):
        played = play_on(simulator, fcfs(), batch)
        assert played.completion_cycles.tolist() == fresh.completion_cycles.tolist()
    assert simulator.tasks["completion_cycles"].tolist() == fresh.completion_cycles.tolist()
    assert len(simulator.timeline(3)) > 0


@pytest.mark.small
def test_settings_reach_the_simulator() -> None:
    batch = sample_batch(CATALOG, range(2))
    options = SchedulerOptions(token_wait="total")
    settings = PlaySettings(estimate="oracle", slots=3, options=options, max_decisions=7)
    simulator = simulator_for(fcfs(), CATALOG, batch, settings)
    assert (simulator.estimate, simulator.slots, simulator.options) == ("oracle", 3, options)
    assert simulator.num_envs == 2
    assert play(fcfs(), CATALOG, batch, settings).decisions.tolist() == [7, 7]


@pytest.mark.small
def test_the_estimate_is_what_is_shown() -> None:
    batch = sample_batch(CATALOG, range(1))
    shown: list[float] = []

    def look(table: Tables) -> NDArray[np.float32]:
        shown.extend(table[..., ESTIMATED_MS][table[..., PRESENT] > 0].tolist())
        return first_come(table)

    calibrated = np.rint(batch.estimated_cycles * CATALOG.table.calibration[batch.profile])
    for estimate, cycles in (
        ("algorithm1", batch.estimated_cycles),
        ("calibrated", calibrated),
        ("oracle", batch.isolated_cycles),
    ):
        shown.clear()
        play(Rule(look), CATALOG, batch, PlaySettings(estimate=estimate))
        assert shown
        assert set(shown) <= set((cycles[0] / 700_000).astype(np.float32).tolist())


@pytest.mark.small
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"slots": 0}, "slots must be a whole number from 1 to 4096, got 0"),
        ({"slots": True}, "slots must be a whole number from 1 to 4096, got True"),
        ({"estimate": "yes"}, "unknown estimate 'yes'"),
        ({"options": 3}, "options must be SchedulerOptions, got 3"),
        ({"max_decisions": 0}, "max_decisions must be a whole number of at least 1, or None, got"),
    ],
)
def test_settings_of_another_kind_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PlaySettings(**settings)  # type: ignore[arg-type]
