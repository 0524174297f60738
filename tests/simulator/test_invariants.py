"""Laws that every simulation obeys, whatever the workload, the policy and the machine.

They need no second implementation: conservation of time, bounds on a task's stay, and schedules
whose result is known in closed form. All on the engine, through ``Simulator``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.network import Phase
from prema_gym.networks.work import Gemm, VectorWork
from prema_gym.simulator import (
    COLUMNS,
    ESTIMATED_MS,
    ESTIMATES,
    MECHANISMS,
    PRESENT,
    REMAINING_MS,
    TOKEN_WAITS,
)
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.workload import Workload
from tests.reference import Policy
from tests.simulator.twins import (
    MACHINE,
    Case,
    Net,
    Outcome,
    Task,
    Works,
    env_counters,
    first_come,
    first_difference,
    load,
    make_simulator,
    play_engine,
    task_records,
    timeline,
    workload,
)

laws = settings(deadline=None, derandomize=True, max_examples=100)

# A machine whose VECTOR_OP is one cycle and whose transfers take none: switching is free, and
# possible at every cycle.
FREE = NPUConfig(
    array_rows=1,
    array_cols=1,
    accumulator_rows=1,
    vector_lanes=1,
    clock_hz=1_000,
    ubuf_bytes=4,
    wbuf_bytes=4,
    dram_bytes_per_s=math.inf,
    dram_latency_cycles=0,
    host_link_bytes_per_s=math.inf,
)


def layer(*works: Gemm | VectorWork) -> Works:
    return Works("layer", works)


NETS = (
    Net("square", (Phase((layer(Gemm("g", 8, 8, 8)),), 1),)),
    Net("wide", (Phase((layer(Gemm("g", 20, 6, 30)), layer(VectorWork("v", 99, 2, 50))), 1),)),
    Net("recurrent", (Phase((layer(Gemm("g", 1, 9, 9), VectorWork("v", 9, 2, 9)),), "output"),)),
)


@st.composite
def cases(draw: st.DrawFn, /, **fixed: Any) -> Case:
    tasks = st.builds(
        Task,
        net=st.integers(0, len(NETS) - 1),
        arrival=st.integers(0, 600),
        priority=st.sampled_from([1, 3, 9]),
        output_length=st.integers(1, 5),
        estimated=st.integers(1, 1_000),
    )
    drawn = draw(st.lists(tasks, min_size=1, max_size=7))
    options: dict[str, Any] = {
        "config": replace(MACHINE, dram_bytes=draw(st.sampled_from([0, 130, 10_000]))),
        "nets": NETS,
        "tasks": tuple(sorted(drawn, key=lambda task: task.arrival)),
        "slots": draw(st.integers(1, 8)),
        "mechanisms": tuple(draw(st.permutations(MECHANISMS)))[: draw(st.integers(1, 3))],
        "quantum_cycles": draw(st.sampled_from([7, 40, 200, 10**9])),
        "token_wait": draw(st.sampled_from(TOKEN_WAITS)),
        "sticky_drain": draw(st.booleans()),
        "estimate": draw(st.sampled_from(ESTIMATES)),
    }
    return Case(**(options | fixed))


picks = st.lists(st.integers(0, 1_000), min_size=1, max_size=40)


def picking(choices: Sequence[int]) -> Policy:
    """One legal action a question, as drawn; then first come, first served, so that it ends."""
    left = list(choices)

    def answer(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        legal = np.flatnonzero(mask)
        return int(legal[left.pop(0) % len(legal)]) if left else first_come(observation, mask)

    return answer


def isolated(case: Case) -> list[int]:
    return list(workload(case)[1].isolated_cycles.tolist())


def turnarounds(outcome: Outcome) -> list[int]:
    return [task["completion_cycles"] - task["arrival_cycles"] for task in outcome.tasks]


# --- conservation -------------------------------------------------------------------------------


@laws
@given(cases(), picks)
def test_nothing_is_lost_and_nothing_runs_twice(case: Case, choices: list[int]) -> None:
    outcome = play_engine(case, picking(choices))
    counters, tasks = outcome.counters, outcome.tasks
    makespan = max(task["completion_cycles"] for task in tasks)
    assert counters["now_cycles"] == makespan
    spent = counters["busy_cycles"] + counters["switching_cycles"] + counters["idle_cycles"]
    assert spent == makespan
    done = sum(task["executed_cycles"] + task["killed_cycles"] for task in tasks)
    assert counters["busy_cycles"] == done
    assert [task["executed_cycles"] for task in tasks] == isolated(case)
    switching = sum(task["checkpoint_cycles"] + task["restore_cycles"] for task in tasks)
    assert counters["switching_cycles"] == switching
    assert counters["illegal_actions"] == 0


@laws
@given(cases(), picks)
def test_every_dispatch_ends_once_and_every_stay_adds_up(case: Case, choices: list[int]) -> None:
    outcome = play_engine(case, picking(choices))
    for task, alone in zip(outcome.tasks, isolated(case), strict=True):
        assert task["dispatches"] == 1 + task["checkpoints"] + task["kills"]
        stay = task["completion_cycles"] - task["arrival_cycles"]
        assert stay == alone + task["killed_cycles"] + task["waited_cycles"]
        assert task["waited_cycles"] >= 0
        assert stay >= alone
        assert task["arrival_cycles"] <= task["first_run_cycles"] <= task["completion_cycles"]
        assert task["drains"] in (0, 1)
        assert task["host_moves"] <= task["checkpoints"]


@laws
@given(cases(), picks)
def test_the_timeline_tiles_the_time(case: Case, choices: list[int]) -> None:
    outcome = play_engine(case, picking(choices))
    slices, tasks = outcome.timeline, outcome.tasks
    assert slices[0][2] == 0
    assert slices[-1][3] == outcome.counters["now_cycles"]
    assert all(start < end for _, _, start, end in slices)
    assert all(before[3] == after[2] for before, after in pairwise(slices))

    def total(kind: str, task: int) -> int:
        return sum(end - start for k, t, start, end in slices if (k, t) == (kind, task))

    for index, task in enumerate(tasks):
        assert total("run", index) == task["executed_cycles"] + task["killed_cycles"]
        assert total("checkpoint", index) == task["checkpoint_cycles"]
        assert total("restore", index) == task["restore_cycles"]
        mine = [(start, end) for _, t, start, end in slices if t == index]
        assert mine[0][0] >= task["arrival_cycles"]
        assert mine[-1][1] == task["completion_cycles"]
    assert total("idle", -1) == outcome.counters["idle_cycles"]
    for kind, _, start, end in slices:
        if kind == "idle":
            assert not any(
                task["arrival_cycles"] < end and task["completion_cycles"] > start for task in tasks
            )


@laws
@given(cases(), picks)
def test_the_table_stays_in_its_ranges_and_the_clock_never_falls(
    case: Case, choices: list[int]
) -> None:
    outcome = play_engine(case, picking(choices))
    low = np.array([column.low for column in COLUMNS], np.float32)
    high = np.array([column.high for column in COLUMNS], np.float32)
    for table, mask in outcome.questions:
        assert np.isfinite(table).all()
        assert (table >= low).all()
        assert (table <= high).all()
        assert mask.any()
        assert table[:, PRESENT].sum() >= 2 or table is outcome.questions[-1][0]
    times = [counters["now_cycles"] for counters in outcome.at_questions]
    assert times == sorted(times)


@laws
@given(cases(), picks)
def test_tracing_changes_nothing(case: Case, choices: list[int]) -> None:
    traced = play_engine(case, picking(choices))
    plain = play_engine(case, picking(choices), record_timeline=False)
    plain.timeline = traced.timeline
    assert first_difference(traced, plain) is None


@laws
@given(cases(), st.lists(picks, min_size=2, max_size=5))
def test_a_batch_is_its_members(case: Case, choices: list[list[int]]) -> None:
    # Environment i plays the first i + 1 tasks (or all) under its own policy.
    table, tasks = workload(case)
    cut = [slice(0, min(env + 1, tasks.num_tasks)) for env in range(len(choices))]
    workloads = [
        Workload(**{name: getattr(tasks, name)[part] for name in TASK_FIELDS}) for part in cut
    ]
    policies = [picking(own) for own in choices]
    simulator = make_simulator(case, table, num_envs=len(choices))
    load(simulator, workloads)
    while not simulator.done.all():
        actions = [
            0 if done else policy(shown, mask)
            for done, policy, shown, mask in zip(
                simulator.done, policies, simulator.observation, simulator.mask, strict=True
            )
        ]
        simulator.step(np.array(actions))
    for env, own in enumerate(choices):
        alone = play_engine(replace(case, tasks=case.tasks[cut[env]]), picking(own))
        assert task_records(simulator, env) == alone.tasks
        assert env_counters(simulator, env) == alone.counters
        assert timeline(simulator, env) == alone.timeline
        np.testing.assert_array_equal(simulator.observation[env], alone.questions[-1][0])


# --- known results ------------------------------------------------------------------------------


@laws
@given(cases(), picks)
def test_a_lone_task_takes_its_isolated_time(case: Case, choices: list[int]) -> None:
    lone = replace(case, tasks=case.tasks[:1])
    outcome = play_engine(lone, picking(choices))
    assert turnarounds(outcome) == isolated(lone)
    assert outcome.counters["decisions"] == 0


@laws
@given(cases())
def test_first_come_first_served_is_lindleys_recursion(case: Case) -> None:
    # completion_i = max(arrival_i, completion_{i-1}) + isolated_i, to the cycle.
    outcome = play_engine(case, first_come)
    free = 0
    for task, alone in zip(outcome.tasks, isolated(case), strict=True):
        free = max(task["arrival_cycles"], free) + alone
        assert task["completion_cycles"] == free
        assert task["dispatches"] == 1


def shortest_remaining(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
    present = observation[:, PRESENT] > 0
    return int(np.argmin(np.where(present, observation[:, REMAINING_MS], np.inf)))


@st.composite
def free_cases(draw: st.DrawFn) -> Case:
    lengths = draw(st.lists(st.integers(1, 30), min_size=1, max_size=7))
    arrivals = draw(st.lists(st.integers(0, 60), min_size=len(lengths), max_size=len(lengths)))
    # Tasks of 1 … 30 one-cycle tiles.
    nets = tuple(
        Net(f"net{index}", (Phase((layer(VectorWork("v", length, 1, 1)),), 1),))
        for index, length in enumerate(lengths)
    )
    tasks = [Task(net=index, arrival=arrival) for index, arrival in enumerate(arrivals)]
    return Case(
        config=FREE,
        nets=nets,
        tasks=tuple(sorted(tasks, key=lambda task: task.arrival)),
        slots=len(lengths),
        mechanisms=tuple(draw(st.permutations(["checkpoint", "drain"]))),
        quantum_cycles=draw(st.sampled_from([1, 5, 1_000])),
    )


@laws
@given(free_cases(), picks)
def test_shortest_remaining_time_first_is_optimal_when_switching_is_free(
    case: Case, choices: list[int]
) -> None:
    checkpoint_only = replace(case, mechanisms=("checkpoint",))
    best = play_engine(checkpoint_only, shortest_remaining)
    assert best.counters["switching_cycles"] == 0
    other = play_engine(case, picking(choices))
    assert sum(turnarounds(best)) <= sum(turnarounds(other))


def test_shortest_remaining_time_first_by_hand() -> None:
    # Lengths 10, 3, 5 at 0, 2, 4: 0–2 first, 2–5 second, then 5 against 8: 5–10 third, 10–18 first.
    lengths, arrivals = (10, 3, 5), (0, 2, 4)
    case = Case(
        config=FREE,
        nets=tuple(
            Net(f"net{n}", (Phase((layer(VectorWork("v", n, 1, 1)),), 1),)) for n in lengths
        ),
        tasks=tuple(Task(net=net, arrival=t) for net, t in enumerate(arrivals)),
    )
    outcome = play_engine(case, shortest_remaining)
    assert [piece[1:] for piece in outcome.timeline] == [
        (0, 0, 2), (1, 2, 5), (2, 5, 10), (0, 10, 18),
    ]  # fmt: skip


# --- labels -------------------------------------------------------------------------------------


def by_content(salt: int) -> Policy:
    """An arbitrary policy that sees what a task is, not where it stands."""
    asked = 0

    def answer(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        nonlocal asked
        asked += 1
        if asked > 60:  # no killing for ever: to the end in order of estimates
            scores = observation[:, ESTIMATED_MS]
            mechanism = 0
        else:
            scores = np.array(
                [hash((salt, asked, float(x))) % 9_973 for x in observation[:, ESTIMATED_MS]]
            )
            mechanism = (salt + asked) % (len(mask) // len(observation))
        present = observation[:, PRESENT] > 0
        slot = int(np.argmin(np.where(present, scores, np.inf)))
        action = mechanism * len(observation) + slot
        return action if mask[action] else slot

    return answer


@laws
@given(cases(slots=8), st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_labels_do_not_matter(case: Case, salt: int, random: Any) -> None:
    # All tasks arrive together, so that their index says nothing: relabelling them also permutes
    # the slots they take. Estimates are made different, so that the policy has no ties.
    tasks = [
        replace(task, arrival=5, estimated=10 * (task.estimated or 0) + index)
        for index, task in enumerate(case.tasks)
    ]
    order = list(range(len(tasks)))
    random.shuffle(order)
    plain = replace(case, tasks=tuple(tasks), estimate="algorithm1")
    shuffled = replace(plain, tasks=tuple(tasks[index] for index in order))
    before = play_engine(plain, by_content(salt))
    after = play_engine(shuffled, by_content(salt))
    assert [before.tasks[index] for index in order] == after.tasks
    assert before.counters == after.counters


@laws
@given(cases(), picks, st.integers(1, 5))
def test_empty_slots_do_not_matter(case: Case, choices: list[int], extra: int) -> None:
    # With a slot for every task, more slots change nothing but the numbers of actions.
    enough = replace(case, slots=len(case.tasks), mechanisms=("checkpoint",))
    narrow = play_engine(enough, picking(choices))
    wide = play_engine(replace(enough, slots=enough.slots + extra), picking(choices))
    assert narrow.tasks == wide.tasks
    assert narrow.timeline == wide.timeline


@pytest.mark.small
@pytest.mark.parametrize("seed", range(3))
def test_simultaneous_events_have_one_schedule(seed: int) -> None:
    # Three arrivals on a completion: twenty runs, one schedule.
    tasks = (Task(net=0, arrival=0), *(Task(net=net, arrival=86) for net in (1, 0, 2)))
    case = Case(config=MACHINE, nets=NETS, tasks=tasks, quantum_cycles=40)
    picks_of_seed = np.random.default_rng(seed).integers(0, 1_000, 40).tolist()
    runs = [play_engine(case, picking(picks_of_seed)) for _ in range(20)]
    assert all(run.timeline == runs[0].timeline for run in runs)
    assert runs[0].tasks[0]["completion_cycles"] == 86
