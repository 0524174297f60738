"""Schedules worked by hand from ``docs/simulator.md``, played by the engine and by the reference.

The machine: a 4 × 4 array, 8 accumulator rows, 1 kHz (so a cycle is a millisecond), memory that
moves 16 B a cycle after 4 cycles, a host link that moves 4 B a cycle. A tile of m rows computes for
2·4 + 4 + m − 2 = 10 + m cycles.

ONE is a layer (8 × 8)·(8 × 8): 2 N tiles of 2 K tiles each, with 8 rows. Each computes for 18
cycles and loads (4·4 + 8·4)·2 = 96 B (6 cycles); a last K tile also stores 8·4·2 = 64 B (160 B, 10
cycles), so all are compute bound. The first waits 4 + 6 cycles for its load. Its boundaries:

    progress         0     28     46     64     82 = isolated time
    finished output  0      0     64     64      0 (the layer ended)
    partial sums     0    128      0    128      0
    context          0    128     64    192      0
    reload           0     96     96     96      0
    save, memory     0   4+ 8   4+ 4   4+12      0
    restore, memory  0   4+14   4+10   4+18      0
    save, host       0   4+32   4+16   4+48      0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Phase
from prema_gym.networks.work import Gemm, VectorWork
from prema_gym.simulator import COLUMNS, ESTIMATES
from tests.reference import Policy, Tile, network_tiles
from tests.simulator.twins import (
    MACHINE,
    Case,
    Net,
    Outcome,
    Task,
    Works,
    first_come,
    play_engine,
    play_reference,
)

pytestmark = pytest.mark.small


def net(*layers: Gemm | VectorWork | Sequence[Gemm | VectorWork]) -> Net:
    """Layers of one work each, or of a sequence of works, run once."""
    made: list[Layer] = []
    for number, layer in enumerate(layers):
        works = (layer,) if isinstance(layer, Gemm | VectorWork) else tuple(layer)
        made.append(Works(f"layer{number}", works))
    return Net("net", (Phase(tuple(made), 1),))


ONE = net(Gemm("g", 8, 8, 8))

Play = Callable[[Case, Policy], Outcome]


@pytest.fixture(params=["reference", "engine"])
def play(request: pytest.FixtureRequest) -> Play:
    return play_reference if request.param == "reference" else play_engine


def case(*tasks: Task | int, **options: Any) -> Case:
    """Tasks, or arrivals of tasks that run ONE, on MACHINE."""
    asked = tuple(Task(net=0, arrival=t) if isinstance(t, int) else t for t in tasks)
    settings: dict[str, Any] = {"config": MACHINE, "nets": (ONE,), "tasks": asked}
    return Case(**(settings | options))


def script(*actions: int) -> Policy:
    """Answer with ``actions``, then first come, first served."""
    left = list(actions)

    def answer(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        return left.pop(0) if left else first_come(observation, mask)

    return answer


def shown(outcome: Outcome, question: int, slot: int) -> dict[str, float]:
    row = outcome.questions[question][0][slot]
    return {column.name: float(value) for column, value in zip(COLUMNS, row, strict=True)}


def times(outcome: Outcome) -> list[int]:
    """When each question was asked."""
    return [counters["now_cycles"] for counters in outcome.at_questions[:-1]]


# --- tiles --------------------------------------------------------------------------------------


def tiles(network: Net, *, output_length: int = 1) -> list[Tile]:
    phases = network.phases(1)
    return network_tiles(MACHINE, phases, batch=1, output_length=output_length)


def test_tiles_of_one() -> None:
    inner: dict[str, Any] = {"load_bytes": 96, "partial_bytes": 128}
    last: dict[str, Any] = {"load_bytes": 96, "output_bytes": 64}
    layer: dict[str, Any] = {"layer_cycles": 82, "layer_expected": 82}
    assert tiles(ONE) == [
        Tile(cycles=28, starts_layer=True, **inner, **layer),
        Tile(cycles=18, **last, **layer),
        Tile(cycles=18, **inner, **layer),
        Tile(cycles=18, ends_layer=True, **last, **layer),
    ]


def test_tiles_with_edges() -> None:
    # (10 × 6)·(6 × 5): N = 4 + 1, M = 8 + 2, K = 4 + 2, in that order of loops.
    # Tiles of 8 rows compute for 18 cycles, of 2 rows for 12.
    found = tiles(net(Gemm("g", 10, 6, 5)))
    loads = [  # (k·n + m·k)·2
        2 * (4 * 4 + 8 * 4), 2 * (2 * 4 + 8 * 2), 2 * (4 * 4 + 2 * 4), 2 * (2 * 4 + 2 * 2),
        2 * (4 * 1 + 8 * 4), 2 * (2 * 1 + 8 * 2), 2 * (4 * 1 + 2 * 4), 2 * (2 * 1 + 2 * 2),
    ]  # fmt: skip
    assert [tile.load_bytes for tile in found] == loads
    # The first load of 96 B is exposed: 4 + 6 cycles.
    assert [tile.cycles for tile in found] == [10 + 18, 18, 12, 12, 18, 18, 12, 12]
    assert [tile.output_bytes for tile in found] == [0, 64, 0, 16, 0, 16, 0, 4]
    assert [tile.partial_bytes for tile in found] == [128, 0, 32, 0, 32, 0, 8, 0]


def test_tiles_of_vector_work() -> None:
    # 70 elements from 100 inputs, 3 operations each, 4 lanes. A full tile has 8 rows · 4 columns =
    # 32 elements: 32, 32, 6. Inputs: ⌊100·32/70⌋ = 45 twice, and the last 10.
    found = tiles(net(VectorWork("v", 70, 3, 100)))
    assert [tile.load_bytes for tile in found] == [90, 90, 20]
    assert [tile.output_bytes for tile in found] == [64, 64, 12]
    # Compute 8·3 and 2·3; memory ⌈154/16⌉ = 10 and ⌈32/16⌉ = 2; lead 4 + ⌈90/16⌉ = 10.
    assert [tile.cycles for tile in found] == [34, 24, 6]


def test_memory_bound_tiles() -> None:
    # One vector operation an element: compute 8 cycles against memory 10; 2 against 2.
    found = tiles(net(VectorWork("v", 70, 1, 100)))
    assert [tile.cycles for tile in found] == [20, 10, 2]


def test_tiles_of_a_layer_with_two_works_and_of_repeated_phases() -> None:
    small = Gemm("g", 8, 4, 4)  # one tile: 18 cycles, and 10 before it
    layer = Works("l", (small, VectorWork("v", 32, 3, 32)))  # 24 cycles, not the layer's first tile
    network = Net("net", (Phase((layer,), 2), Phase((Works("m", (small,)),), "output")))
    assert [tile.cycles for tile in tiles(network, output_length=3)] == [28, 24, 28, 24, 28, 28, 28]
    starts = [tile.starts_layer for tile in tiles(network)]
    assert starts == [True, False, True, False, True]
    assert [tile.ends_layer for tile in tiles(network)] == [False, True, False, True, True]


def test_layers_are_counted_by_their_gemms() -> None:
    small, vector = Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32)  # 28 and 32 cycles
    layers = (Works("v", (vector,)), Works("g", (small,)), Works("v", (vector,)))
    found = tiles(Net("net", (Phase((*layers, *layers[1:])),)))
    assert [tile.layer_cycles for tile in found] == [92, 92, 92, 60, 60]


def test_counted_works_are_repeated_without_a_new_lead() -> None:
    assert [tile.cycles for tile in tiles(net(Gemm("g", 8, 4, 4, count=3)))] == [28, 18, 18]
    assert [tile.cycles for tile in tiles(net(VectorWork("v", 32, 3, 32, count=2)))] == [32, 24]


# --- the next layer ---


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_the_layer_a_task_goes_on_with(play: Play, estimate: str) -> None:
    # Layers of 28 + 32 cycles (the vector work counts with the GEMM before it) and of 46; expected,
    # by the rule of ``twins``, 128 // 3 and 256 // 3. ONE: 82 cycles, expected 512 // 3.
    # Calibrated: the expected times × 0.53 and × 1.23.
    two = net(Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32), Gemm("h", 8, 8, 4))
    first, second, one = {
        "algorithm1": (42, 85, 170),
        "calibrated": (22, 45, 209),
        "oracle": (60, 46, 82),
    }[estimate]
    tasks = (Task(net=0, arrival=0), Task(net=1, arrival=10))
    options = {"nets": (two, ONE), "quantum_cycles": 30, "estimate": estimate}

    def rows(outcome: Outcome, question: int) -> list[float]:
        return [shown(outcome, question, slot)["next_layer_ms"] for slot in (0, 1)]

    # At 10 the next boundary, 28, is within the first layer; at 30, 60 is its end. Then task 1 runs
    # 60-: at 90 its next boundary is 46, within its layer; at 120, 64; at 142 it is done.
    played = play(case(*tasks, **options), script(0, 1, 1, 1))
    assert times(played) == [10, 30, 90, 120]
    assert [rows(played, question) for question in range(4)] == [
        [first, one], [second, one], [second, one], [second, one],
    ]  # fmt: skip
    # A kill starts over: task 0 runs to 60, is killed, and waits for its first layer.
    killed = play(case(*tasks, **options, mechanisms=("kill",)), script(0, 1, 1))
    assert rows(killed, 2) == [first, one]
    # In its last tile a task has no next layer.
    ending = play(case(*tasks, **(options | {"quantum_cycles": 95})), script(0, 0))
    assert times(ending) == [10, 95]
    assert rows(ending, 1) == [0, one]


# --- switching ----------------------------------------------------------------------------------


def test_a_lone_task_runs_undisturbed(play: Play) -> None:
    # It arrives at 7 and runs for 82 cycles. Nothing is asked; the quantum is renewed silently.
    outcome = play(case(7, quantum_cycles=5), script())
    assert outcome.counters == {
        "now_cycles": 89, "busy_cycles": 82, "switching_cycles": 0, "idle_cycles": 7,
        "decisions": 0, "wakeups": 2, "illegal_actions": 0,
    }  # fmt: skip
    assert outcome.timeline == [("idle", -1, 0, 7), ("run", 0, 7, 89)]
    assert outcome.tasks[0]["waited_cycles"] == 0


def test_checkpoint_in_a_tile_and_restore(play: Play) -> None:
    # At 30, task 0 is 2 cycles into its second tile: it runs on to 46, saves 64 B for 8 cycles.
    # Task 1 runs 54–136. Task 0 restores for 14 cycles and runs its last 36: 150–186.
    outcome = play(case(0, 30), script(1))
    assert outcome.timeline == [
        ("run", 0, 0, 46), ("checkpoint", 0, 46, 54), ("run", 1, 54, 136),
        ("restore", 0, 136, 150), ("run", 0, 150, 186),
    ]  # fmt: skip
    assert outcome.tasks == [
        {
            "arrival_cycles": 0, "first_run_cycles": 0, "completion_cycles": 186,
            "executed_cycles": 82, "killed_cycles": 0, "dispatches": 2, "checkpoints": 1,
            "kills": 0, "drains": 0, "checkpoint_cycles": 8, "restore_cycles": 14,
            "host_moves": 0, "waited_cycles": 186 - 82,
        },
        {
            "arrival_cycles": 30, "first_run_cycles": 54, "completion_cycles": 136,
            "executed_cycles": 82, "killed_cycles": 0, "dispatches": 1, "checkpoints": 0,
            "kills": 0, "drains": 0, "checkpoint_cycles": 0, "restore_cycles": 0,
            "host_moves": 0, "waited_cycles": 24,
        },
    ]  # fmt: skip
    # Wake-ups: arrivals at 0 and 30, completions at 136 and 186. The switch itself is none.
    assert outcome.counters == {
        "now_cycles": 186, "busy_cycles": 164, "switching_cycles": 22, "idle_cycles": 0,
        "decisions": 1, "wakeups": 4, "illegal_actions": 0,
    }  # fmt: skip


def test_what_a_policy_is_shown(play: Play) -> None:
    tasks = (
        Task(net=0, arrival=0, priority=9, batch_size=4, estimated=25, deadline=200),
        Task(net=0, arrival=30, priority=3, estimated=100, deadline=50),
        Task(net=0, arrival=60, priority=1),
    )
    outcome = play(case(*tasks, quantum_cycles=1_000), script(1))
    # At 30 task 0 is at 30, 16 cycles before its boundary at 46, where saving 64 B takes 8.
    assert times(outcome)[:2] == [30, 60]
    assert shown(outcome, 0, 0) == {
        "present": 1, "running": 1, "priority": 9, "order": 0, "age_ms": 30, "waited_ms": 0,
        "since_run_ms": 0, "estimated_ms": 25, "executed_ms": 30, "remaining_ms": 0, "token": 9,
        "slack_ms": 170, "preempt_ms": 24, "restore_ms": 0, "context_bytes": 64, "batch_size": 4,
        "preemptions": 0, "quantum_left_ms": 970, "next_layer_ms": 170,
    }  # fmt: skip
    assert shown(outcome, 0, 1) == {
        "present": 1, "running": 0, "priority": 3, "order": 1, "age_ms": 0, "waited_ms": 0,
        "since_run_ms": 0, "estimated_ms": 100, "executed_ms": 0, "remaining_ms": 100, "token": 3,
        "slack_ms": -80, "preempt_ms": 0, "restore_ms": 0, "context_bytes": 0, "batch_size": 1,
        "preemptions": 0, "quantum_left_ms": 0, "next_layer_ms": 170,
    }  # fmt: skip
    assert not outcome.questions[0][0][2:].any()
    assert outcome.questions[0][1].tolist() == [True, True, False, False]
    # At 60 task 1 has run since 54; its first boundary is at 28: 22 cycles, then 12 for 128 B.
    # Task 0 stopped at 46 with 14 cycles to restore, and has earned 9 · 14/25 tokens.
    later = shown(outcome, 1, 0)
    assert later.pop("token") == pytest.approx(9 + 9 * 14 / 25)
    assert later == {
        "present": 1, "running": 0, "priority": 9, "order": 0, "age_ms": 60, "waited_ms": 14,
        "since_run_ms": 14, "estimated_ms": 25, "executed_ms": 46, "remaining_ms": 0,
        "slack_ms": 140, "preempt_ms": 0, "restore_ms": 14, "context_bytes": 64, "batch_size": 4,
        "preemptions": 1, "quantum_left_ms": 0, "next_layer_ms": 170,
    }  # fmt: skip
    running = shown(outcome, 1, 1)
    assert (running["executed_ms"], running["remaining_ms"], running["slack_ms"]) == (6, 94, -104)
    assert (running["waited_ms"], running["since_run_ms"], running["token"]) == (24, 0, 3)
    assert (running["preempt_ms"], running["context_bytes"]) == (22 + 12, 128)
    assert running["quantum_left_ms"] == 1_000 - 6


# The calibration of net 0 at batch 1 is 0.53, by the rule of ``twins``: 5 becomes 2.65, then 3.
@pytest.mark.parametrize(("estimate", "time"), [("oracle", 82), ("calibrated", 3)])
def test_the_estimate_is_what_is_shown(play: Play, estimate: str, time: int) -> None:
    tasks = (Task(net=0, arrival=0, estimated=5), Task(net=0, arrival=30, estimated=5))
    outcome = play(case(*tasks, estimate=estimate), script())
    assert shown(outcome, 0, 0)["estimated_ms"] == time
    assert shown(outcome, 0, 0)["remaining_ms"] == max(time - 30, 0)
    assert shown(outcome, 0, 0)["slack_ms"] == 2 * 82 - 30 - max(time - 30, 0)


def test_kill_in_a_tile(play: Play) -> None:
    # Task 0 finishes its tile at 46, loses all of it; task 1 runs 46–128, task 0 again 128–210.
    outcome = play(case(0, 30, 130, mechanisms=("checkpoint", "kill")), script(4 + 1))
    assert outcome.timeline[:3] == [("run", 0, 0, 46), ("run", 1, 46, 128), ("run", 0, 128, 210)]
    first = outcome.tasks[0]
    assert (first["killed_cycles"], first["kills"], first["executed_cycles"]) == (46, 1, 82)
    assert (first["checkpoints"], first["restore_cycles"], first["dispatches"]) == (0, 0, 2)
    assert (first["first_run_cycles"], first["waited_cycles"]) == (0, 82)
    assert outcome.counters["switching_cycles"] == 0
    assert outcome.counters["busy_cycles"] == 3 * 82 + 46
    # Task 2 arrives at 130, when task 0 has run for 2 cycles of its second life.
    row = shown(outcome, 1, 0)
    assert (row["executed_ms"], row["waited_ms"], row["preemptions"]) == (2, 82, 1)


def test_context_is_bounded_by_ubuf(play: Play) -> None:
    # (8 × 4)·(4 × 16): four output tiles of 64 B, boundaries at 28, 46, 64, 82. At 64, 192 B are
    # finished, but UBUF holds 128 B: save 4 + 8, restore 128 + 96 B: 4 + 14.
    wide = net(Gemm("g", 8, 4, 16))
    outcome = play(case(0, 50, nets=(wide,)), script(1))
    assert shown(outcome, 0, 0)["context_bytes"] == 128
    assert outcome.tasks[0]["checkpoint_cycles"] == 12
    assert outcome.tasks[0]["restore_cycles"] == 18


def test_nothing_is_saved_at_the_end_of_a_layer(play: Play) -> None:
    # Two layers of one tile of 28 cycles: the context at 28 is empty, the second layer loads anew.
    two_layers = net(Gemm("g", 8, 4, 4), Gemm("g", 8, 4, 4))
    outcome = play(case(0, 10, nets=(two_layers,)), script(1))
    row = shown(outcome, 0, 0)
    assert (row["preempt_ms"], row["context_bytes"]) == (18, 0)
    assert outcome.timeline == [("run", 0, 0, 28), ("run", 1, 28, 84), ("run", 0, 84, 112)]
    assert (outcome.tasks[0]["checkpoints"], outcome.tasks[0]["restore_cycles"]) == (1, 0)


def test_context_spans_the_works_of_a_layer(play: Play) -> None:
    # One tile of 28 cycles and 64 B, then vector work of 24 cycles that reads 64 B: at 28 the
    # context is the first work's output: save 4 + 4, restore 64 + 64 B: 4 + 8.
    mixed = net((Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32)))
    outcome = play(case(0, 10, nets=(mixed,)), script(1))
    assert outcome.tasks[0]["checkpoint_cycles"] == 8
    assert outcome.tasks[0]["restore_cycles"] == 12


SLOW_SWITCH = replace(MACHINE, switch_latency_us=5_000)  # 5 cycles


def test_the_switch_latency_comes_before_the_save(play: Play) -> None:
    outcome = play(case(0, 28, config=SLOW_SWITCH), script(1))
    assert shown(outcome, 0, 0)["preempt_ms"] == 5 + 12
    assert outcome.timeline[:2] == [("run", 0, 0, 28), ("checkpoint", 0, 28, 45)]
    assert outcome.tasks[0]["checkpoint_cycles"] == 17


def test_a_kill_takes_the_switch_latency_too(play: Play) -> None:
    options = {"config": SLOW_SWITCH, "mechanisms": ("checkpoint", "kill")}
    outcome = play(case(0, 30, **options), script(4 + 1))
    first = [("run", 0, 0, 46), ("checkpoint", 0, 46, 51), ("run", 1, 51, 133)]
    assert outcome.timeline[:3] == first
    assert (outcome.tasks[0]["checkpoint_cycles"], outcome.tasks[0]["killed_cycles"]) == (5, 46)


def test_who_ends_at_the_boundary_leaves_at_once(play: Play) -> None:
    # At 70 the tile in flight, 64–82, is task 0's last.
    outcome = play(case(0, 70, config=SLOW_SWITCH), script(1))
    assert shown(outcome, 0, 0)["preempt_ms"] == 12
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 1, 82, 164)]


def test_a_switch_at_a_boundary_takes_no_run(play: Play) -> None:
    # At 28 task 0 stands on a boundary: it stops at once, saves 128 B for 12 cycles.
    outcome = play(case(0, 28), script(1))
    assert shown(outcome, 0, 0)["preempt_ms"] == 12
    assert outcome.timeline[:2] == [("run", 0, 0, 28), ("checkpoint", 0, 28, 40)]


def test_free_switching(play: Play) -> None:
    # No latency and infinite bandwidth: tiles of 18 cycles, every save and restore takes nothing.
    free = replace(
        MACHINE, dram_latency_cycles=0, dram_bytes_per_s=math.inf, host_link_bytes_per_s=math.inf
    )
    outcome = play(case(0, 20, config=free), script(1))
    assert outcome.timeline == [("run", 0, 0, 36), ("run", 1, 36, 108), ("run", 0, 108, 144)]
    assert outcome.tasks[0]["checkpoints"] == 1
    assert outcome.counters["switching_cycles"] == 0


# --- host memory --------------------------------------------------------------------------------


def test_a_context_that_does_not_fit_goes_to_the_host(play: Play) -> None:
    # 128 B at 28 against 127 B of memory: save 4 + 32, restore 4 + 32 and 96 B from memory, 4 + 6.
    small = replace(MACHINE, dram_bytes=127)
    outcome = play(case(0, 10, config=small), script(1))
    assert shown(outcome, 0, 0)["preempt_ms"] == 18 + 36
    assert outcome.timeline == [
        ("run", 0, 0, 28), ("checkpoint", 0, 28, 64), ("run", 1, 64, 146),
        ("restore", 0, 146, 192), ("run", 0, 192, 246),
    ]  # fmt: skip
    assert outcome.tasks[0]["host_moves"] == 1


def test_memory_for_one_context_of_two(play: Play) -> None:
    # 128 B of memory. Task 0 (switched off at 28) fills it: 28–40. Task 1 runs from 40, task 2
    # arrives at 50: task 1 runs to its own 28 at 68, and its 128 B go to the host: 68–104.
    # Task 2 runs 104–186. At 186 task 0 would restore in 18, task 1 in 36 + 10 cycles. Task 0 is
    # chosen and its restore frees the memory: 186–204. At 210 (task 3) it is switched off again: it
    # runs to 46 at 222 and saves 64 B there for 8 cycles, in memory.
    small = replace(MACHINE, dram_bytes=128)
    outcome = play(case(0, 10, 50, 210, config=small), script(1, 2, 0, 2))
    assert times(outcome)[:4] == [10, 50, 186, 210]
    assert shown(outcome, 1, 1)["preempt_ms"] == 18 + 36
    assert shown(outcome, 2, 0)["restore_ms"] == 18
    assert shown(outcome, 2, 1)["restore_ms"] == 46
    assert shown(outcome, 3, 0)["preempt_ms"] == 12 + 8
    assert ("checkpoint", 1, 68, 104) in outcome.timeline
    assert ("restore", 0, 186, 204) in outcome.timeline
    assert ("checkpoint", 0, 222, 230) in outcome.timeline
    assert [task["host_moves"] for task in outcome.tasks] == [0, 1, 0, 0]


def test_the_save_comes_before_the_restore_frees_memory(play: Play) -> None:
    # Task 0's 128 B fill the memory; task 1 is switched off for task 0 itself. When task 1 saves
    # (its own 128 B, at 68), task 0's context still lies there: task 1's goes to the host, 68–104,
    # then task 0 restores from memory for 18 cycles.
    small = replace(MACHINE, dram_bytes=128)
    outcome = play(case(0, 10, 50, config=small), script(1, 0))
    assert outcome.timeline[3:5] == [("checkpoint", 1, 68, 104), ("restore", 0, 104, 122)]


# --- drain --------------------------------------------------------------------------------------

DRAINING = {"mechanisms": ("checkpoint", "drain"), "quantum_cycles": 20}
DRAIN_1 = 4 + 1  # DRAIN for slot 1, of four slots


def test_drain_is_asked_again_at_each_wake_up(play: Play) -> None:
    # While task 1 waits the quantum ends at 40, 60, 80 (at 20 nobody waited). Task 0 ends at 82.
    outcome = play(case(0, 30, **DRAINING), script(DRAIN_1, DRAIN_1, DRAIN_1, DRAIN_1))
    assert times(outcome) == [30, 40, 60, 80]
    assert [shown(outcome, q, 0)["quantum_left_ms"] for q in range(4)] == [10, 0, 0, 0]
    assert outcome.tasks[0]["drains"] == 1
    assert outcome.tasks[0]["checkpoints"] == 0
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 1, 82, 164)]
    # 0, 30, 40, 60, 80, 82; alone from then on, task 1's quantum is renewed silently; 164.
    assert outcome.counters["wakeups"] == 7


@pytest.mark.parametrize("last", [0, 1])
def test_a_drain_taken_back_is_not_counted(play: Play, last: int) -> None:
    # At 80 task 0 is continued (0), or switched off by CHECKPOINT (1): it then ends at 82 anyway.
    outcome = play(case(0, 30, **DRAINING), script(DRAIN_1, DRAIN_1, DRAIN_1, last))
    assert outcome.tasks[0]["drains"] == 0
    assert outcome.tasks[0]["checkpoints"] == 0
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 1, 82, 164)]


def test_sticky_drain_asks_nothing_and_keeps_its_word(play: Play) -> None:
    # Task 2 (priority 9) arrives at 50, but task 1 was named. It runs from 82 and is asked about at
    # 102, 122, 142, 162 while task 2 waits; task 2 runs 164–246.
    tasks = (
        Task(net=0, arrival=0),
        Task(net=0, arrival=30, priority=3),
        Task(net=0, arrival=50, priority=9),
    )
    outcome = play(case(*tasks, sticky_drain=True, **DRAINING), script(DRAIN_1))
    assert times(outcome) == [30, 102, 122, 142, 162]
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 1, 82, 164), ("run", 2, 164, 246)]
    assert [task["drains"] for task in outcome.tasks] == [1, 0, 0]
    # 0, 30, 40, 50, 60, 80, 82, then the four asked ones, 164 and 246.
    assert outcome.counters["wakeups"] == 13
    assert outcome.counters["decisions"] == 5
    # Tokens grew all the same: task 1 waited 30–82, task 2 from 50 on.
    assert shown(outcome, 1, 1)["token"] == pytest.approx(3 + 3 * 52 / 82)
    assert shown(outcome, 1, 0 + 2)["token"] == pytest.approx(9 + 9 * 52 / 82)


def test_drain_as_the_first_mechanism(play: Play) -> None:
    # Mechanism 0 also names the task to run on a free machine and the one to continue.
    outcome = play(case(0, 30, 30, mechanisms=("drain",)), script(2, 2))
    assert times(outcome) == [30, 82]
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 2, 82, 164), ("run", 1, 164, 246)]
    assert [task["drains"] for task in outcome.tasks] == [1, 0, 0]


# --- instants -----------------------------------------------------------------------------------


def test_completion_inside_a_switch(play: Play) -> None:
    # At 70 task 0 is in its last tile: no mechanism is applied, it ends at 82. Task 2 arrived at 75
    # and finds slot 0 free at 82, where task 1 stands at the start of its run.
    outcome = play(case(0, 70, 75, quantum_cycles=1_000), script(1, 0))
    assert times(outcome) == [70, 82]
    assert shown(outcome, 0, 0)["preempt_ms"] == 12
    running, waiting = shown(outcome, 1, 1), shown(outcome, 1, 0)
    assert (running["running"], running["executed_ms"], running["quantum_left_ms"]) == (1, 0, 1_000)
    assert (running["waited_ms"], running["preempt_ms"], running["context_bytes"]) == (12, 0, 0)
    assert (waiting["order"], waiting["waited_ms"]) == (1, 7)
    # Task 2 takes over at once: task 1 was dispatched and checkpointed without running a cycle.
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 2, 82, 164), ("run", 1, 164, 246)]
    first, second, _ = outcome.tasks
    assert (first["checkpoints"], first["completion_cycles"]) == (0, 82)
    assert (second["first_run_cycles"], second["dispatches"], second["checkpoints"]) == (82, 2, 1)
    assert (second["checkpoint_cycles"], second["restore_cycles"]) == (0, 0)
    assert outcome.counters["wakeups"] == 5  # 0, 70, 82, 164, 246


def test_everything_at_once_is_one_wake_up(play: Play) -> None:
    # At 82 task 0 ends, its quantum ends, tasks 2 and 3 arrive: one question. They took slots 0 and
    # 2 in index order.
    outcome = play(case(0, 40, 82, 82, quantum_cycles=82), script(0, 2))
    assert times(outcome)[:2] == [40, 82]
    assert [shown(outcome, 1, slot)["order"] for slot in (1, 0, 2)] == [0, 1, 2]
    assert [shown(outcome, 1, slot)["running"] for slot in range(4)] == [0, 0, 0, 0]
    assert outcome.timeline[:2] == [("run", 0, 0, 82), ("run", 3, 82, 164)]
    # 0, 40, 82, 164, 246, 328: each run ends with its quantum.
    assert outcome.counters["wakeups"] == 6


@pytest.mark.parametrize(("arrival", "waited"), [(140, 10), (150, 0)])
def test_arrival_inside_a_switch_wakes_at_its_end(play: Play, arrival: int, waited: int) -> None:
    # As test_checkpoint_in_a_tile: the restore on the free machine lasts from 136 to 150.
    outcome = play(case(0, 30, arrival), script(1, 0))
    assert times(outcome) == [30, 150]
    row = shown(outcome, 1, 0)
    assert (row["running"], row["executed_ms"], row["since_run_ms"]) == (1, 46, 0)
    assert (row["waited_ms"], row["quantum_left_ms"]) == (104, 1_000_000)
    assert (row["preempt_ms"], row["context_bytes"]) == (8, 64)  # it stands on that boundary
    assert shown(outcome, 1, 1)["waited_ms"] == waited
    assert outcome.timeline[-2:] == [("run", 0, 150, 186), ("run", 2, 186, 268)]
    assert outcome.counters["wakeups"] == 6  # 0, 30, 136, 150, 186, 268


def test_quantum_keeps_its_beat(play: Play) -> None:
    # The run starts at 0, so the quantum of 25 ends at 50 and 75, whatever was answered at 30.
    outcome = play(case(0, 30, quantum_cycles=25), script())
    assert times(outcome) == [30, 50, 75]
    assert [shown(outcome, q, 0)["quantum_left_ms"] for q in range(3)] == [20, 0, 0]


def test_an_arrival_at_the_silent_end_of_a_quantum_finds_it_ended(play: Play) -> None:
    outcome = play(case(0, 50, quantum_cycles=25), script())
    assert times(outcome) == [50, 75]
    assert shown(outcome, 0, 0)["quantum_left_ms"] == 0


def test_quantum_shorter_than_a_tile(play: Play) -> None:
    # Asked at 10 (arrival) and 15; switched at 15, which ends with the tile at 28 and its save at
    # 40. From there the quantum ends at 45, 50, …
    outcome = play(case(0, 10, quantum_cycles=5), script(0, 1))
    assert times(outcome)[:4] == [10, 15, 45, 50]
    assert outcome.timeline[:2] == [("run", 0, 0, 28), ("checkpoint", 0, 28, 40)]


# --- slots, actions, limits ---------------------------------------------------------------------


def test_one_slot_is_first_come_first_served(play: Play) -> None:
    outcome = play(case(0, 10, 10, slots=1, quantum_cycles=7), script())
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 1, 82, 164), ("run", 2, 164, 246)]
    assert outcome.counters["decisions"] == 0
    assert outcome.counters["wakeups"] == 5  # 0, 10, 82, 164, 246: no one waits in the table


def test_the_queue_fills_freed_slots_in_order(play: Play) -> None:
    # Tasks 2 and 3 wait outside the table of two; at 82 task 2 takes slot 0 and has earned the
    # tokens of its whole wait.
    outcome = play(case(0, 10, 10, 10, slots=2), script(0, 0))
    assert times(outcome)[:2] == [10, 82]
    assert shown(outcome, 0, 1)["order"] == 1
    assert (shown(outcome, 1, 1)["order"], shown(outcome, 1, 0)["order"]) == (0, 1)
    assert shown(outcome, 1, 0)["waited_ms"] == 72
    assert shown(outcome, 1, 0)["token"] == pytest.approx(1 + 72 / 82)
    runs = [task for kind, task, _, _ in outcome.timeline if kind == "run"]
    assert runs == [0, 2, 1, 3]


@pytest.mark.parametrize("action", [-1, -(2**40), 2, 4 + 0, 4 + 3, 8, 2**40])
def test_an_illegal_action_continues_the_running_task(play: Play, action: int) -> None:
    # Outside the range, an empty slot, KILL for the running slot, KILL for an empty slot.
    outcome = play(case(0, 30, mechanisms=("checkpoint", "kill")), script(action))
    assert outcome.counters["illegal_actions"] == 1
    assert outcome.counters["decisions"] == 1
    assert outcome.timeline == [("run", 0, 0, 82), ("run", 1, 82, 164)]


@pytest.mark.parametrize("action", [-1, 1, 4 + 0, 4 + 2])
def test_an_illegal_action_on_a_free_machine_runs_the_earliest(play: Play, action: int) -> None:
    # Tasks 0, 1, 2 arrive together; task 1 is chosen first, so at 82 slot 1 is empty. There only
    # mechanism 0 is legal, although the mechanism would play no part.
    outcome = play(case(0, 0, 0, mechanisms=("checkpoint", "kill")), script(1, action))
    assert outcome.questions[1][1].tolist() == [True, False, True, False] + [False] * 4
    assert outcome.counters["illegal_actions"] == 1
    assert [piece[1] for piece in outcome.timeline] == [1, 0, 2]


def test_a_decision_limit_truncates_where_the_next_question_would_be(play: Play) -> None:
    outcome = play(case(0, 30, 40, max_decisions=1), script(0))
    assert outcome.truncated
    assert outcome.counters["decisions"] == 1
    assert outcome.counters["now_cycles"] == 40
    assert outcome.counters["busy_cycles"] == 40
    assert outcome.tasks[0]["executed_cycles"] == 40
    assert outcome.tasks[1]["waited_cycles"] == 10
    assert outcome.tasks[1]["first_run_cycles"] == -1
    assert outcome.tasks[1]["completion_cycles"] == -1
    assert outcome.timeline == [("run", 0, 0, 40)]


def test_ending_under_the_limit_is_no_truncation(play: Play) -> None:
    outcome = play(case(0, 30, max_decisions=1), script(0))
    assert not outcome.truncated
    assert outcome.tasks[1]["completion_cycles"] == 164


@pytest.mark.parametrize(("horizon", "asked"), [(30, 0), (31, 1), (40, 1), (41, 2)])
def test_a_horizon_truncates_at_the_first_question_from_then_on(
    play: Play, horizon: int, asked: int
) -> None:
    outcome = play(case(0, 30, 40, 50, horizon_cycles=horizon), script())
    assert outcome.truncated
    assert outcome.counters["decisions"] == asked


# --- tokens -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token_wait", "earned"),
    [
        ("since_wakeup", [54, 54 + 36, 54 + 36 + 36]),
        ("total", [54, 54 + 90, 54 + 90 + 126]),
        ("since_run", [54, 54 + 90, 54 + 90 + 22]),
    ],
)
def test_tokens(play: Play, token_wait: str, earned: list[int]) -> None:
    # Task 0 stops at 46 (switched off at 30) and waits while task 1 runs, saved until 54, to 136.
    # At 100 (task 2 arrives) it has waited 54, at 136 it has waited 90. It is chosen, restores
    # until 150, runs; at 160 (task 3) it is switched off again for task 2, and stops at 64, at 168.
    # At 190 (task 4) it has waited 90 + 14 + 22 = 126 in all, and 22 since it ran.
    tasks = case(0, 30, 100, 160, 190, slots=8, token_wait=token_wait)
    outcome = play(tasks, script(1, 1, 0, 2))
    assert times(outcome)[:5] == [30, 100, 136, 160, 190]
    tokens = [shown(outcome, question, 0)["token"] for question in range(5)]
    # Running at 30 and 160 it earns nothing.
    expected = [1, 1 + earned[0] / 82, 1 + earned[1] / 82, 1 + earned[1] / 82, 1 + earned[2] / 82]
    assert tokens == pytest.approx(expected)


def test_tokens_grow_by_priority_over_the_shown_estimate(play: Play) -> None:
    tasks = (Task(net=0, arrival=0), Task(net=0, arrival=30, priority=9, estimated=16))
    outcome = play(case(*tasks, quantum_cycles=50), script())
    assert shown(outcome, 1, 1)["token"] == 9 + 9 * 20 / 16
    oracle = play(case(*tasks, quantum_cycles=50, estimate="oracle"), script())
    assert shown(oracle, 1, 1)["token"] == pytest.approx(9 + 9 * 20 / 82)
