"""Schedules worked by hand from ``docs/simulator.md``, played by the engine and by the reference.

The machine: a 4 × 4 array, 8 accumulator rows, 1 kHz (so a cycle is a millisecond), memory that
moves 16 B a cycle after 4 cycles, a host link that moves 4 B a cycle. A tile of m rows computes for
2·4 + 4 + m − 2 = 10 + m cycles.

ONE is a layer (8 × 8)·(8 × 8): 2 N tiles of 2 K tiles each, with 8 rows. Each computes for 18
cycles and loads (4·4 + 8·4)·2 = 96 B (6 cycles) for the next; what a last K tile has finished,
8·4·2 = 64 B, is stored beside the tile that follows (160 B, 10 cycles), so all are compute bound.
The first waits 4 + 6 cycles for its load, behind the last one its output is stored for 4. Both
buffers hold two tiles and no more, so nothing is used twice. Its boundaries:

    progress         0     28     46     64     86 = isolated time
    not yet stored   0      0     64      0      0 (the layer ended)
    partial sums     0    128      0    128      0
    context          0    128     64    128      0
    reload           0     96     96     96      0
    save, memory     0   4+ 8   4+ 4   4+ 8      0
    restore, memory  0   4+14   4+10   4+14      0
    save, host       0   4+32   4+16   4+32      0
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
    inner: dict[str, Any] = {"rows": 8, "load_bytes": 96, "partial_bytes": 128}
    last: dict[str, Any] = {"rows": 8, "load_bytes": 96, "output_bytes": 64}
    layer: dict[str, Any] = {"layer_cycles": 86, "layer_expected": 86}
    assert tiles(ONE) == [
        Tile(cycles=28, starts_layer=True, **inner, **layer),
        Tile(cycles=18, **last, **layer),
        Tile(cycles=18, **inner, **layer),
        Tile(cycles=22, ends_layer=True, **last, **layer),
    ]


def test_tiles_with_edges() -> None:
    # (10 × 6)·(6 × 5): N = 4 + 1, M = 8 + 2, K = 2 + 4, in that order of loops.
    # Tiles of 8 rows compute for 18 cycles, of 2 rows for 12.
    found = tiles(net(Gemm("g", 10, 6, 5)))
    loads = [  # (k·n + m·k)·2
        2 * (2 * 4 + 8 * 2), 2 * (4 * 4 + 8 * 4), 2 * (2 * 4 + 2 * 2), 2 * (4 * 4 + 2 * 4),
        2 * (2 * 1 + 8 * 2), 2 * (4 * 1 + 8 * 4), 2 * (2 * 1 + 2 * 2), 2 * (4 * 1 + 2 * 4),
    ]  # fmt: skip
    assert [tile.load_bytes for tile in found] == loads
    # Exposed: the first load of 48 B, 4 + 3 cycles, and the last store of 4 B, 1 cycle.
    assert [tile.cycles for tile in found] == [7 + 18, 18, 12, 12, 18, 18, 12, 12 + 1]
    assert [tile.output_bytes for tile in found] == [0, 64, 0, 16, 0, 16, 0, 4]
    assert [tile.partial_bytes for tile in found] == [128, 0, 32, 0, 32, 0, 8, 0]


def test_tiles_of_vector_work() -> None:
    # 70 elements from 100 inputs, 3 operations each, 4 lanes. A full tile has 4 · 4 = 16 elements:
    # four of them, and 6. Inputs: ⌊100·16/70⌋ = 22 four times, and the last 12.
    found = tiles(net(VectorWork("v", 70, 3, 100)))
    assert [tile.load_bytes for tile in found] == [44, 44, 44, 44, 24]
    assert [tile.output_bytes for tile in found] == [32, 32, 32, 32, 12]
    # Compute 4·3 and 2·3, memory at most ⌈76/16⌉ = 5; before them 4 + ⌈44/16⌉, behind them ⌈12/16⌉.
    assert [tile.cycles for tile in found] == [7 + 12, 12, 12, 12, 6 + 1]


def test_memory_bound_tiles() -> None:
    # One vector operation an element: compute 4 cycles and 2. Meanwhile move 44 B, twice 44 + 32 B,
    # 24 + 32 B and 32 B.
    found = tiles(net(VectorWork("v", 70, 1, 100)))
    assert [tile.cycles for tile in found] == [7 + 4, 5, 5, 4, 2 + 1]


def test_tiles_of_a_layer_with_two_works_and_of_repeated_phases() -> None:
    # One tile of 18 cycles, with a load of 6 and a store of 4; two of 12, with loads and stores of
    # 2. The latency of 4, a first load and a last store are exposed.
    small, vector = Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32)
    layer = Works("l", (small, vector))
    network = Net("net", (Phase((layer,), 2), Phase((Works("m", (small,)),), "output")))
    once = [10 + 18, 12, 12 + 2]
    alone = [10 + 18 + 4]
    assert [tile.cycles for tile in tiles(network, output_length=3)] == 2 * once + 3 * alone
    starts = [tile.starts_layer for tile in tiles(network)]
    assert starts == 2 * [True, False, False] + [True]
    assert [tile.ends_layer for tile in tiles(network)] == 2 * [False, False, True] + [True]


def test_layers_are_counted_by_their_gemms() -> None:
    small, vector = Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32)  # 32 cycles each, 1 tile and 2
    layers = (Works("v", (vector,)), Works("g", (small,)), Works("v", (vector,)))
    found = tiles(Net("net", (Phase((*layers, *layers[1:])),)))
    assert [tile.layer_cycles for tile in found] == 5 * [96] + 3 * [64]


def test_counted_works_are_repeated_without_a_new_latency() -> None:
    assert [tile.cycles for tile in tiles(net(Gemm("g", 8, 4, 4, count=3)))] == [28, 18, 22]
    twice = tiles(net(VectorWork("v", 32, 3, 32, count=2)))
    assert [tile.cycles for tile in twice] == [6 + 12, 12, 12, 14]


# --- the next layer ---


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_the_layer_a_task_goes_on_with(play: Play, estimate: str) -> None:
    # Layers of 32 + 32 cycles (the vector work counts with the GEMM before it) and of 50; expected,
    # by the rule of ``twins``, 128 // 3 and 256 // 3. ONE: 86 cycles, expected 512 // 3.
    # Calibrated: the expected times × 0.53 and × 1.23.
    two = net(Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32), Gemm("h", 8, 8, 4))
    first, second, one = {
        "algorithm1": (42, 85, 170),
        "calibrated": (22, 45, 209),
        "oracle": (64, 50, 86),
    }[estimate]
    tasks = (Task(net=0, arrival=0), Task(net=1, arrival=10))
    options = {"nets": (two, ONE), "quantum_cycles": 55, "estimate": estimate}

    def rows(outcome: Outcome, question: int) -> list[float]:
        return [shown(outcome, question, slot)["next_layer_ms"] for slot in (0, 1)]

    # At 10 the next boundary, 32, is within the first layer; at 55, 64 is its end. Then task 1 runs
    # from 64: at 119 its next boundary is 64, within its layer; at 150 it is done.
    played = play(case(*tasks, **options), script(0, 1, 1))
    assert times(played) == [10, 55, 119]
    assert [rows(played, question) for question in range(3)] == [
        [first, one], [second, one], [second, one],
    ]  # fmt: skip
    # A kill starts over: task 0 runs to 64, is killed, and waits for its first layer.
    killed = play(case(*tasks, **options, mechanisms=("kill",)), script(0, 1, 1))
    assert rows(killed, 2) == [first, one]
    # In its last tile a task has no next layer.
    ending = play(case(*tasks, **(options | {"quantum_cycles": 95})), script(0, 0))
    assert times(ending) == [10, 95]
    assert rows(ending, 1) == [0, one]


# --- switching ----------------------------------------------------------------------------------


def test_a_lone_task_runs_undisturbed(play: Play) -> None:
    # It arrives at 7 and runs for 86 cycles. Nothing is asked; the quantum is renewed silently.
    outcome = play(case(7, quantum_cycles=5), script())
    assert outcome.counters == {
        "now_cycles": 93, "busy_cycles": 86, "switching_cycles": 0, "idle_cycles": 7,
        "decisions": 0, "wakeups": 2, "illegal_actions": 0,
    }  # fmt: skip
    assert outcome.timeline == [("idle", -1, 0, 7), ("run", 0, 7, 93)]
    assert outcome.tasks[0]["waited_cycles"] == 0


def test_checkpoint_in_a_tile_and_restore(play: Play) -> None:
    # At 30, task 0 is 2 cycles into its second tile: it runs on to 46, saves 64 B for 8 cycles.
    # Task 1 runs 54–140. Task 0 restores for 14 cycles and runs its last 40: 154–194.
    outcome = play(case(0, 30), script(1))
    assert outcome.timeline == [
        ("run", 0, 0, 46), ("checkpoint", 0, 46, 54), ("run", 1, 54, 140),
        ("restore", 0, 140, 154), ("run", 0, 154, 194),
    ]  # fmt: skip
    assert outcome.tasks == [
        {
            "arrival_cycles": 0, "first_run_cycles": 0, "completion_cycles": 194,
            "executed_cycles": 86, "killed_cycles": 0, "dispatches": 2, "checkpoints": 1,
            "kills": 0, "drains": 0, "checkpoint_cycles": 8, "restore_cycles": 14,
            "host_moves": 0, "waited_cycles": 194 - 86,
        },
        {
            "arrival_cycles": 30, "first_run_cycles": 54, "completion_cycles": 140,
            "executed_cycles": 86, "killed_cycles": 0, "dispatches": 1, "checkpoints": 0,
            "kills": 0, "drains": 0, "checkpoint_cycles": 0, "restore_cycles": 0,
            "host_moves": 0, "waited_cycles": 24,
        },
    ]  # fmt: skip
    # Wake-ups: arrivals at 0 and 30, completions at 140 and 194. The switch itself is none.
    assert outcome.counters == {
        "now_cycles": 194, "busy_cycles": 172, "switching_cycles": 22, "idle_cycles": 0,
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
    assert shown(outcome, 0, 0)["slack_ms"] == 2 * 86 - 30 - max(time - 30, 0)


def test_kill_in_a_tile(play: Play) -> None:
    # Task 0 finishes its tile at 46, loses all of it; task 1 runs 46–132, task 0 again 132–218.
    outcome = play(case(0, 30, 134, mechanisms=("checkpoint", "kill")), script(4 + 1))
    assert outcome.timeline[:3] == [("run", 0, 0, 46), ("run", 1, 46, 132), ("run", 0, 132, 218)]
    first = outcome.tasks[0]
    assert (first["killed_cycles"], first["kills"], first["executed_cycles"]) == (46, 1, 86)
    assert (first["checkpoints"], first["restore_cycles"], first["dispatches"]) == (0, 0, 2)
    assert (first["first_run_cycles"], first["waited_cycles"]) == (0, 86)
    assert outcome.counters["switching_cycles"] == 0
    assert outcome.counters["busy_cycles"] == 3 * 86 + 46
    # Task 2 arrives at 134, when task 0 has run for 2 cycles of its second life.
    row = shown(outcome, 1, 0)
    assert (row["executed_ms"], row["waited_ms"], row["preemptions"]) == (2, 86, 1)


def test_what_is_stored_is_no_context(play: Play) -> None:
    # (8 × 4)·(4 × 16): four output tiles of 64 B, boundaries at 28, 46, 64, 86. At 64 the third one
    # is still on chip, the others are in memory: save 4 + 4, restore 64 + 96 B: 4 + 10.
    wide = net(Gemm("g", 8, 4, 16))
    outcome = play(case(0, 50, nets=(wide,)), script(1))
    assert shown(outcome, 0, 0)["context_bytes"] == 64
    assert outcome.tasks[0]["checkpoint_cycles"] == 8
    assert outcome.tasks[0]["restore_cycles"] == 14


def test_nothing_is_saved_at_the_end_of_a_layer(play: Play) -> None:
    # Two layers of one tile of 32 cycles: the context at 32 is empty, the second layer loads anew.
    two_layers = net(Gemm("g", 8, 4, 4), Gemm("g", 8, 4, 4))
    outcome = play(case(0, 10, nets=(two_layers,)), script(1))
    row = shown(outcome, 0, 0)
    assert (row["preempt_ms"], row["context_bytes"]) == (22, 0)
    assert outcome.timeline == [("run", 0, 0, 32), ("run", 1, 32, 96), ("run", 0, 96, 128)]
    assert (outcome.tasks[0]["checkpoints"], outcome.tasks[0]["restore_cycles"]) == (1, 0)


def test_context_spans_the_works_of_a_layer(play: Play) -> None:
    # One tile of 28 cycles and 64 B, then vector work whose first tile reads 32 B: at 28 the
    # context is the first work's output: save 4 + 4, restore 64 + 32 B: 4 + 6.
    mixed = net((Gemm("g", 8, 4, 4), VectorWork("v", 32, 3, 32)))
    outcome = play(case(0, 10, nets=(mixed,)), script(1))
    assert outcome.tasks[0]["checkpoint_cycles"] == 8
    assert outcome.tasks[0]["restore_cycles"] == 10


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
        ("run", 0, 0, 28), ("checkpoint", 0, 28, 64), ("run", 1, 64, 150),
        ("restore", 0, 150, 196), ("run", 0, 196, 254),
    ]  # fmt: skip
    assert outcome.tasks[0]["host_moves"] == 1


def test_memory_for_one_context_of_two(play: Play) -> None:
    # 128 B of memory. Task 0 (switched off at 28) fills it: 28–40. Task 1 runs from 40, task 2
    # arrives at 50: task 1 runs to its own 28 at 68, and its 128 B go to the host: 68–104.
    # Task 2 runs 104–190. At 190 task 0 would restore in 18, task 1 in 36 + 10 cycles. Task 0 is
    # chosen and its restore frees the memory: 190–208. At 214 (task 3) it is switched off again: it
    # runs to 46 at 226 and saves 64 B there for 8 cycles, in memory.
    small = replace(MACHINE, dram_bytes=128)
    outcome = play(case(0, 10, 50, 214, config=small), script(1, 2, 0, 2))
    assert times(outcome)[:4] == [10, 50, 190, 214]
    assert shown(outcome, 1, 1)["preempt_ms"] == 18 + 36
    assert shown(outcome, 2, 0)["restore_ms"] == 18
    assert shown(outcome, 2, 1)["restore_ms"] == 46
    assert shown(outcome, 3, 0)["preempt_ms"] == 12 + 8
    assert ("checkpoint", 1, 68, 104) in outcome.timeline
    assert ("restore", 0, 190, 208) in outcome.timeline
    assert ("checkpoint", 0, 226, 234) in outcome.timeline
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
    # While task 1 waits the quantum ends at 40, 60, 80 (at 20 nobody waited). Task 0 ends at 86.
    outcome = play(case(0, 30, **DRAINING), script(DRAIN_1, DRAIN_1, DRAIN_1, DRAIN_1))
    assert times(outcome) == [30, 40, 60, 80]
    assert [shown(outcome, q, 0)["quantum_left_ms"] for q in range(4)] == [10, 0, 0, 0]
    assert outcome.tasks[0]["drains"] == 1
    assert outcome.tasks[0]["checkpoints"] == 0
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 1, 86, 172)]
    # 0, 30, 40, 60, 80, 86; alone from then on, task 1's quantum is renewed silently; 172.
    assert outcome.counters["wakeups"] == 7


@pytest.mark.parametrize("last", [0, 1])
def test_a_drain_taken_back_is_not_counted(play: Play, last: int) -> None:
    # At 80 task 0 is continued (0), or switched off by CHECKPOINT (1): it then ends at 86 anyway.
    outcome = play(case(0, 30, **DRAINING), script(DRAIN_1, DRAIN_1, DRAIN_1, last))
    assert outcome.tasks[0]["drains"] == 0
    assert outcome.tasks[0]["checkpoints"] == 0
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 1, 86, 172)]


def test_sticky_drain_asks_nothing_and_keeps_its_word(play: Play) -> None:
    # Task 2 (priority 9) arrives at 50, but task 1 was named. It runs from 86 and is asked about at
    # 106, 126, 146, 166 while task 2 waits; task 2 runs 172–258.
    tasks = (
        Task(net=0, arrival=0),
        Task(net=0, arrival=30, priority=3),
        Task(net=0, arrival=50, priority=9),
    )
    outcome = play(case(*tasks, sticky_drain=True, **DRAINING), script(DRAIN_1))
    assert times(outcome) == [30, 106, 126, 146, 166]
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 1, 86, 172), ("run", 2, 172, 258)]
    assert [task["drains"] for task in outcome.tasks] == [1, 0, 0]
    # 0, 30, 40, 50, 60, 80, 86, then the four asked ones, 172 and 258.
    assert outcome.counters["wakeups"] == 13
    assert outcome.counters["decisions"] == 5
    # Tokens grew all the same: task 1 waited 30–86, task 2 from 50 on.
    assert shown(outcome, 1, 1)["token"] == pytest.approx(3 + 3 * 56 / 86)
    assert shown(outcome, 1, 0 + 2)["token"] == pytest.approx(9 + 9 * 56 / 86)


def test_drain_as_the_first_mechanism(play: Play) -> None:
    # Mechanism 0 also names the task to run on a free machine and the one to continue.
    outcome = play(case(0, 30, 30, mechanisms=("drain",)), script(2, 2))
    assert times(outcome) == [30, 86]
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 2, 86, 172), ("run", 1, 172, 258)]
    assert [task["drains"] for task in outcome.tasks] == [1, 0, 0]


# --- instants -----------------------------------------------------------------------------------


def test_completion_inside_a_switch(play: Play) -> None:
    # At 70 task 0 is in its last tile: no mechanism is applied, it ends at 86. Task 2 arrived at 75
    # and finds slot 0 free at 86, where task 1 stands at the start of its run.
    outcome = play(case(0, 70, 75, quantum_cycles=1_000), script(1, 0))
    assert times(outcome) == [70, 86]
    assert shown(outcome, 0, 0)["preempt_ms"] == 16
    running, waiting = shown(outcome, 1, 1), shown(outcome, 1, 0)
    assert (running["running"], running["executed_ms"], running["quantum_left_ms"]) == (1, 0, 1_000)
    assert (running["waited_ms"], running["preempt_ms"], running["context_bytes"]) == (16, 0, 0)
    assert (waiting["order"], waiting["waited_ms"]) == (1, 11)
    # Task 2 takes over at once: task 1 was dispatched and checkpointed without running a cycle.
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 2, 86, 172), ("run", 1, 172, 258)]
    first, second, _ = outcome.tasks
    assert (first["checkpoints"], first["completion_cycles"]) == (0, 86)
    assert (second["first_run_cycles"], second["dispatches"], second["checkpoints"]) == (86, 2, 1)
    assert (second["checkpoint_cycles"], second["restore_cycles"]) == (0, 0)
    assert outcome.counters["wakeups"] == 5  # 0, 70, 86, 172, 258


def test_everything_at_once_is_one_wake_up(play: Play) -> None:
    # At 86 task 0 ends, its quantum ends, tasks 2 and 3 arrive: one question. They took slots 0 and
    # 2 in index order.
    outcome = play(case(0, 40, 86, 86, quantum_cycles=86), script(0, 2))
    assert times(outcome)[:2] == [40, 86]
    assert [shown(outcome, 1, slot)["order"] for slot in (1, 0, 2)] == [0, 1, 2]
    assert [shown(outcome, 1, slot)["running"] for slot in range(4)] == [0, 0, 0, 0]
    assert outcome.timeline[:2] == [("run", 0, 0, 86), ("run", 3, 86, 172)]
    # 0, 40, 86, 172, 258, 344: each run ends with its quantum.
    assert outcome.counters["wakeups"] == 6


@pytest.mark.parametrize(("arrival", "waited"), [(144, 10), (154, 0)])
def test_arrival_inside_a_switch_wakes_at_its_end(play: Play, arrival: int, waited: int) -> None:
    # As test_checkpoint_in_a_tile: the restore on the free machine lasts from 140 to 154.
    outcome = play(case(0, 30, arrival), script(1, 0))
    assert times(outcome) == [30, 154]
    row = shown(outcome, 1, 0)
    assert (row["running"], row["executed_ms"], row["since_run_ms"]) == (1, 46, 0)
    assert (row["waited_ms"], row["quantum_left_ms"]) == (108, 1_000_000)
    assert (row["preempt_ms"], row["context_bytes"]) == (8, 64)  # it stands on that boundary
    assert shown(outcome, 1, 1)["waited_ms"] == waited
    assert outcome.timeline[-2:] == [("run", 0, 154, 194), ("run", 2, 194, 280)]
    assert outcome.counters["wakeups"] == 6  # 0, 30, 140, 154, 194, 280


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
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 1, 86, 172), ("run", 2, 172, 258)]
    assert outcome.counters["decisions"] == 0
    assert outcome.counters["wakeups"] == 5  # 0, 10, 86, 172, 258: no one waits in the table


def test_the_queue_fills_freed_slots_in_order(play: Play) -> None:
    # Tasks 2 and 3 wait outside the table of two; at 86 task 2 takes slot 0 and has earned the
    # tokens of its whole wait.
    outcome = play(case(0, 10, 10, 10, slots=2), script(0, 0))
    assert times(outcome)[:2] == [10, 86]
    assert shown(outcome, 0, 1)["order"] == 1
    assert (shown(outcome, 1, 1)["order"], shown(outcome, 1, 0)["order"]) == (0, 1)
    assert shown(outcome, 1, 0)["waited_ms"] == 76
    assert shown(outcome, 1, 0)["token"] == pytest.approx(1 + 76 / 86)
    runs = [task for kind, task, _, _ in outcome.timeline if kind == "run"]
    assert runs == [0, 2, 1, 3]


@pytest.mark.parametrize("action", [-1, -(2**40), 2, 4 + 0, 4 + 3, 8, 2**40])
def test_an_illegal_action_continues_the_running_task(play: Play, action: int) -> None:
    # Outside the range, an empty slot, KILL for the running slot, KILL for an empty slot.
    outcome = play(case(0, 30, mechanisms=("checkpoint", "kill")), script(action))
    assert outcome.counters["illegal_actions"] == 1
    assert outcome.counters["decisions"] == 1
    assert outcome.timeline == [("run", 0, 0, 86), ("run", 1, 86, 172)]


@pytest.mark.parametrize("action", [-1, 1, 4 + 0, 4 + 2])
def test_an_illegal_action_on_a_free_machine_runs_the_earliest(play: Play, action: int) -> None:
    # Tasks 0, 1, 2 arrive together; task 1 is chosen first, so at 86 slot 1 is empty. There only
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
    assert outcome.tasks[1]["completion_cycles"] == 172


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
        ("since_wakeup", [54, 54 + 40, 54 + 40 + 36]),
        ("total", [54, 54 + 94, 54 + 94 + 130]),
        ("since_run", [54, 54 + 94, 54 + 94 + 22]),
    ],
)
def test_tokens(play: Play, token_wait: str, earned: list[int]) -> None:
    # Task 0 stops at 46 (switched off at 30) and waits while task 1 runs, saved until 54, to 140.
    # At 100 (task 2 arrives) it has waited 54, at 140 it has waited 94. It is chosen, restores
    # until 154, runs; at 164 (task 3) it is switched off again for task 2, and stops at 64, at 172.
    # At 194 (task 4) it has waited 94 + 14 + 22 = 130 in all, and 22 since it ran.
    tasks = case(0, 30, 100, 164, 194, slots=8, token_wait=token_wait)
    outcome = play(tasks, script(1, 1, 0, 2))
    assert times(outcome)[:5] == [30, 100, 140, 164, 194]
    tokens = [shown(outcome, question, 0)["token"] for question in range(5)]
    # Running at 30 and 164 it earns nothing.
    expected = [1, 1 + earned[0] / 86, 1 + earned[1] / 86, 1 + earned[1] / 86, 1 + earned[2] / 86]
    assert tokens == pytest.approx(expected)


def test_tokens_grow_by_priority_over_the_shown_estimate(play: Play) -> None:
    tasks = (Task(net=0, arrival=0), Task(net=0, arrival=30, priority=9, estimated=16))
    outcome = play(case(*tasks, quantum_cycles=50), script())
    assert shown(outcome, 1, 1)["token"] == 9 + 9 * 20 / 16
    oracle = play(case(*tasks, quantum_cycles=50, estimate="oracle"), script())
    assert shown(oracle, 1, 1)["token"] == pytest.approx(9 + 9 * 20 / 86)
