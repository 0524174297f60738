"""A stream, fed a few tasks at a time, does what a batch with all loaded does, to the cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.baselines.choosing import program_of
from prema_gym.evaluation.compiled import play_by
from prema_gym.simulator import Simulator
from prema_gym.simulator.options import SchedulerOptions, engine_options
from prema_gym.simulator.state import NONE
from prema_gym.simulator.streaming import StreamSimulator
from prema_gym.workloads import Catalog, WorkloadArrays, WorkloadBatch, compile_scenario
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

COUNT = 120
RECORDS = ("completion_cycles", "dispatches", "checkpoints", "kills", "restore_cycles")


def _part(batch: WorkloadBatch, first: int, count: int) -> WorkloadArrays:
    named = {
        name: np.ascontiguousarray(getattr(batch, name)[:, first : first + count])
        for name in TASK_FIELDS
    }
    return WorkloadArrays._make([*named.values(), np.array([count])])


def _streamed(
    catalog: Catalog, batch: WorkloadBatch, policy: baselines.Policy, chunk: int
) -> tuple[dict[int, tuple[int, ...]], int, int]:
    """Records of the finished tasks by number, when the last arrived, and the most room taken."""
    scenario = catalog.scenario
    simulator = StreamSimulator(
        catalog,
        engine_options(
            SchedulerOptions(),
            policy.mechanisms,
            quantum_cycles=scenario.quantum_cycles,
            clock_hz=scenario.hardware.clock_hz,
            drop=scenario.drop,
            queue_limit=scenario.queue_limit,
            refills=True,
        ),
        slots=4,
    )
    program = program_of(policy)
    assert program is not None
    found: dict[int, tuple[int, ...]] = {}

    def note() -> None:
        for task in simulator.tasks[0, : simulator.env["num_tasks"][0]]:
            if task["completion_cycles"] != NONE:
                found[int(task["number"])] = tuple(int(task[name]) for name in RECORDS)

    for first in range(0, COUNT, chunk):
        note()
        count = min(chunk, COUNT - first)
        simulator.make_room_for(count, 0)
        streams = np.zeros(count, np.int64)
        part = _part(batch, first, count)
        simulator.add(part, streams, 0)
        simulator.go_on(int(part.arrival_cycles[0, -1]), COUNT, 0)
        play_by(simulator, program)
        assert simulator.short.all()
    note()
    return found, int(simulator.env["now_cycles"][0]), simulator.max_tasks


@pytest.mark.parametrize("name", ["np-fcfs", "dynamic-prema", "kill-sjf", "static-rrb"])
@pytest.mark.parametrize(
    "admission", [{}, {"drop": "late"}, {"drop": "hopeless", "queue_limit": 5}, {"queue_limit": 0}]
)
@pytest.mark.parametrize("chunk", [1, 7])
def test_it_equals_a_batch(name: str, admission: dict[str, Any], chunk: int) -> None:
    catalog = compile_scenario(Scenario(num_tasks=COUNT, arrival="poisson", load=0.95, **admission))
    batch = sample_batch(catalog, [3])
    policy = baselines.make(name)
    whole = Simulator(catalog, mechanisms=policy.mechanisms, slots=4)
    whole.load(batch)
    program = program_of(policy)
    assert program is not None
    play_by(whole, program)
    found, end, room = _streamed(catalog, batch, policy, chunk)
    expected = [tuple(int(task[name]) for name in RECORDS) for task in whole.tasks[0]]
    assert found == {i: expected[i] for i in found}
    assert {i for i, record in enumerate(expected) if 0 <= record[0] < end} <= set(found)
    assert len(found) > COUNT / 2
    assert room < COUNT
