from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prema_gym.errors import ConfigError
from prema_gym.evaluation.playing import play_on, simulator_for
from prema_gym.simulator import NUM_COLUMNS
from prema_gym.simulator.state import (
    CHECKPOINTING,
    ENV_DTYPE,
    IDLE,
    NONE,
    RESTORING,
    RUN,
    TASK_DTYPE,
)
from prema_gym.views.episode import EpisodeView, Slice, episode_of, view
from prema_gym.views.text import text
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from tests.evaluation.helpers import TINY, fcfs, priority_first

CLOCK_HZ = 1_000  # a cycle is a millisecond


def by_hand() -> EpisodeView:
    """A preempted task that is not done, a short one that is late, and one that is to come."""
    tasks = np.zeros(3, TASK_DTYPE)
    tasks["network"] = [1, 0, 0]
    tasks["batch_size"] = [4, 1, 1]
    tasks["priority"] = [1, 9, 3]
    tasks["arrival_cycles"] = [2, 5, 50]
    tasks["completion_cycles"] = [NONE, 12, NONE]
    tasks["deadline_cycles"] = [90, 11, 99]
    env = np.zeros(1, ENV_DTYPE)
    env["arrived"], env["num_tasks"], env["decisions"] = 2, 3, 4
    env["now_cycles"], env["runner"] = 20, 0
    timeline = np.array(
        [
            [-1, IDLE, 0, 2],
            [0, RUN, 2, 5],
            [0, CHECKPOINTING, 5, 6],
            [1, RUN, 6, 12],
            [0, RESTORING, 12, 13],
            [0, RUN, 13, 20],
        ]
    )
    occupants = np.array([0, NONE])
    networks = ("alexnet", "/far/away/own.onnx")
    return episode_of(env[0], tasks, timeline, occupants, networks=networks, clock_hz=CLOCK_HZ)


@pytest.mark.small
def test_an_episode_is_put_together_from_plain_records() -> None:
    episode = by_hand()
    assert (episode.now_ms, episode.num_tasks, episode.decisions) == (20.0, 3, 4)
    assert (episode.slots, episode.running_slot) == ((0, None), 0)
    long, short = episode.tasks
    assert long.slices == (
        Slice("run", 2.0, 5.0),
        Slice("checkpoint", 5.0, 6.0),
        Slice("restore", 12.0, 13.0),
        Slice("run", 13.0, 20.0),
    )
    assert long.spans("run") == [(2.0, 5.0), (13.0, 20.0)]
    assert long.spans("checkpoint", "restore") == [(5.0, 6.0), (12.0, 13.0)]
    assert (long.finished, long.end_ms, long.late) == (False, 20.0, False)
    assert (short.finished, short.end_ms, short.late) == (True, 12.0, True)
    assert long.label == "0 own.onnx ×4 π=1"
    assert episode.headline == "20.000 ms: 2 of 3 tasks have arrived, 1 finished, 4 decisions"


@pytest.mark.small
def test_text_shows_who_ran_when() -> None:
    lines = text(by_hand(), np.zeros((2, NUM_COLUMNS), np.float32)).splitlines()
    chart = {line.split()[0]: line for line in lines if "π=" in line and "▶" not in line}
    bar = chart["0"].split("π=1 ")[1]
    at = [bar[round(ms * 72 / 20)] for ms in (1, 3.5, 5.5, 9, 12.5, 16)]
    assert at == [" ", "█", "s", "·", "s", "█"]
    assert "|" not in chart["1"].split("π=9 ")[1], "it ran when its deadline passed"
    nobody = replace(by_hand(), slots=(None, None), running_slot=None)
    assert "no task is in the table" in text(nobody, np.zeros((2, NUM_COLUMNS), np.float32))


def test_slices_of_a_played_workload_add_up_to_its_records() -> None:
    batch = sample_batch(compile_scenario(TINY), range(3))
    policy = priority_first()
    simulator = simulator_for(policy, compile_scenario(TINY), batch, record_timeline=True)
    play_on(simulator, policy, batch)
    ms = 1e3 / TINY.hardware.clock_hz
    for row in range(3):
        for task, record in zip(view(simulator, row).tasks, simulator.tasks[row], strict=True):
            for kind, field in (
                ("run", "executed_cycles"),
                ("checkpoint", "checkpoint_cycles"),
                ("restore", "restore_cycles"),
            ):
                took = sum(end - start for k, start, end in task.slices if k == kind)
                assert took == pytest.approx(record[field] * ms)


@pytest.mark.small
def test_without_a_timeline_there_is_nothing_to_see() -> None:
    batch = sample_batch(compile_scenario(TINY), range(1))
    simulator = simulator_for(fcfs(), compile_scenario(TINY), batch)
    with pytest.raises(ConfigError, match="no timeline was kept"):
        view(simulator, 0)
