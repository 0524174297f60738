"""What should the simulator have done? The slow, obvious answer, one tile at a time.

Two parts, both plain Python on integers:

- ``network_tiles`` lists the tiles of a network one by one, by the timing rules of
  ``docs/simulator.md`` (a tile costs the larger of computing and what memory moves meanwhile).
- ``ReferenceSimulator`` plays tasks made of such lists by the contract in ``docs/simulator.md``.

Nothing here is shared with the engine or with the segment arithmetic of ``prema_gym.hardware``:
only the machine's fields, the layers' work items and the list of observation columns are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Phase
from prema_gym.networks.work import Gemm, VectorWork
from prema_gym.simulator import COLUMNS

CHECKPOINT, KILL, DRAIN = "checkpoint", "kill", "drain"


class Machine(Protocol):
    """The fields of ``NPUConfig`` that are read here; read, so that it may be frozen."""

    def __hash__(self) -> int: ...

    @property
    def array_rows(self) -> int: ...

    @property
    def array_cols(self) -> int: ...

    @property
    def accumulator_rows(self) -> int: ...

    @property
    def vector_lanes(self) -> int: ...

    @property
    def clock_hz(self) -> int: ...

    @property
    def ubuf_bytes(self) -> int: ...

    @property
    def wbuf_bytes(self) -> int: ...

    @property
    def dram_bytes(self) -> int: ...

    @property
    def dram_bytes_per_s(self) -> float: ...

    @property
    def dram_latency_cycles(self) -> int: ...

    @property
    def host_link_bytes_per_s(self) -> float: ...

    @property
    def switch_latency_us(self) -> float: ...

    @property
    def element_bytes(self) -> int: ...

    @property
    def accumulator_bytes(self) -> int: ...

    @property
    def weight_preload(self) -> str: ...


def ceil_div(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return -(-a // b)


def stream_cycles(machine: Machine, num_bytes: int, bytes_per_s: float) -> int:
    """Cycles that ``num_bytes`` occupy a link, without its latency."""
    if math.isinf(bytes_per_s):
        return 0
    return ceil_div(num_bytes * machine.clock_hz, int(bytes_per_s))  # a whole number, if finite


def transfer_cycles(machine: Machine, num_bytes: int, bytes_per_s: float) -> int:
    """Cycles of one transfer that nothing hides: latency and stream; nothing for no bytes."""
    if num_bytes == 0:
        return 0
    return machine.dram_latency_cycles + stream_cycles(machine, num_bytes, bytes_per_s)


def pieces(total: int, size: int) -> list[int]:
    """``total`` cut into pieces of ``size`` and a smaller last one."""
    return [min(size, total - start) for start in range(0, total, size)]


# --- tiles --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One GEMM_OP or VECTOR_OP."""

    load_bytes: int  # weights and inputs it brings in
    compute: int = 0  # of the vector unit
    rows: int = 0  # streamed through the array, if it is a GEMM_OP
    tail: int = 0  # of the vector unit on the rows that leave, if it finishes an output tile
    tail_bytes: int = 0  # of other operands for that, moved beside it
    refill: int = 0  # of the array, at a restore before it
    kept_bytes: int = 0  # operands already on chip that it or a later tile uses
    output_bytes: int = 0  # of the output tile it finishes, if it does
    partial_bytes: int = 0  # partial sums it leaves in the accumulator
    cycles: int = 0  # as it stands among its layer's tiles: see `layer_tiles`
    starts_layer: bool = False
    ends_layer: bool = False
    # Of the whole layer it belongs to, as a scheduler counts layers: see `phase_tiles`.
    layer_cycles: int = 0
    layer_expected: int = 0


def tile_rows(machine: Machine) -> int:
    """Rows of M in a full tile: the accumulators, or what UBUF holds of two tiles' inputs."""
    row_bytes = machine.array_rows * machine.element_bytes
    return min(machine.accumulator_rows, machine.ubuf_bytes // (2 * row_bytes))


def gemm_tiles(machine: Machine, work: Gemm) -> Iterable[Tile]:
    """The tiles of all ``count`` products."""
    for _ in range(work.count):
        yield from quickest_tiles(machine, work)


@lru_cache(maxsize=1024)
def quickest_tiles(machine: Machine, work: Gemm) -> list[Tile]:
    """The tiles of one product in the order that is quickest when alone.

    Of equally quick ones the order that loads least, then the one with the highest M tiles, then
    with the smallest blocks.
    """
    assert ceil_div(work.m, tile_rows(machine)) <= 1024, "beyond what is written out here"
    best: tuple[int, int, list[Tile]] | None = None
    for rows in heights(machine, work):
        for block in blocks_of(machine, work):
            tiles = product_tiles(machine, work, rows, block)
            cycles = sum(tile.cycles for tile in in_pipeline(machine, tiles))
            loaded = sum(tile.load_bytes for tile in tiles)
            if best is None or (cycles, loaded) < best[:2]:
                best = cycles, loaded, tiles
    assert best is not None
    return best[2]


def tile_bytes_of_a_row(machine: Machine, work: Gemm) -> int:
    """Inputs and outputs of two tiles, one row high."""
    depth, columns = min(machine.array_rows, work.k), min(machine.array_cols, work.n)
    return 2 * (depth + columns) * machine.element_bytes


def streamed(work: Gemm) -> int:
    """Different input elements of one product."""
    return work.m * work.k if work.input_elements is None else work.input_elements


def heights(machine: Machine, work: Gemm) -> list[int]:
    """Rows of an M tile: as many as can be, or so many that their inputs have room to stay."""
    high = min(tile_rows(machine), work.m)
    inputs = streamed(work) * machine.element_bytes
    low, beyond = 0, high  # the most rows with inputs and tiles within UBUF, by bisection
    while low < beyond:
        rows = (low + beyond + 1) // 2
        needed = rows * inputs + rows * work.m * tile_bytes_of_a_row(machine, work)
        if needed <= machine.ubuf_bytes * work.m:
            low = rows
        else:
            beyond = rows - 1
    fitting = low
    if machine.array_rows <= fitting < high and ceil_div(work.m, fitting) <= 1024:
        return [high, ceil_div(work.m, ceil_div(work.m, fitting))]
    return [high]


def weights_room(machine: Machine, work: Gemm) -> int:
    """What two weight tiles leave free in WBUF."""
    tile = min(machine.array_rows, work.k) * min(machine.array_cols, work.n)
    return machine.wbuf_bytes - 2 * tile * machine.element_bytes


def blocks_of(machine: Machine, work: Gemm) -> list[int]:
    """N tiles of a block: one, as many as WBUF has room for, all."""
    n_tiles = ceil_div(work.n, machine.array_cols)
    column = work.k * machine.array_cols * machine.element_bytes
    fitting = min(n_tiles, max(1, weights_room(machine, work) // column))
    return sorted({1, fitting, n_tiles})


@dataclass(eq=False)
class Part:
    """Some elements of an operand: a weight tile, or an M tile's share for one K tile."""

    num_bytes: int


def product_tiles(machine: Machine, work: Gemm, rows: int, block: int) -> list[Tile]:
    """One product: blocks of N tiles, M tiles, N tiles of a block, K tiles with a ragged one first.

    Weights stay over a block and inputs over an M tile's N tiles, or for good, where the largest
    such set has room.
    """
    width = machine.element_bytes
    depth = machine.array_rows
    k_tiles = ceil_div(work.k, depth)
    depths = [work.k - (k_tiles - 1) * depth] + [depth] * (k_tiles - 1)
    columns, bands = pieces(work.n, machine.array_cols), pieces(work.m, rows)
    unread = streamed(work)
    inputs: list[list[Part]] = []
    for _ in bands:
        band = streamed(work) * bands[0] // work.m if len(inputs) < len(bands) - 1 else unread
        unread -= band
        full = band * depth // work.k if k_tiles > 1 else 0
        inputs.append([Part((band - (k_tiles - 1) * full) * width)])
        inputs[-1] += [Part(full * width) for _ in depths[1:]]
    weights = [[Part(k * n * width) for k in depths] for n in columns]

    room = machine.ubuf_bytes - rows * tile_bytes_of_a_row(machine, work)
    blocks = [
        range(start, min(start + block, len(columns))) for start in range(0, len(columns), block)
    ]
    weights_stay = total(weights[n] for n in blocks[0]) <= weights_room(machine, work)
    all_stay = total(inputs) <= room
    band_stays = max(total([band]) for band in inputs) <= room

    tiles: list[Tile] = []
    resident: dict[Part, None] = {}  # in the order they came
    for columns_of_block in blocks:
        for row, m in enumerate(bands):
            for column in columns_of_block:
                rows_to_come = len(bands) - 1 - row
                columns_to_come = (len(columns) if all_stay else columns_of_block.stop) - 1 - column
                for position in range(k_tiles):
                    weight, share = weights[column][position], inputs[row][position]
                    kept = sum(part.num_bytes for part in resident)
                    load = sum(part.num_bytes for part in (weight, share) if part not in resident)
                    resident |= {weight: None, share: None}
                    if rows_to_come == 0 or not weights_stay:
                        del resident[weight]
                    if columns_to_come == 0 or not (all_stay or band_stays):
                        del resident[share]
                    results = m * columns[column]
                    last = position == k_tiles - 1
                    tiles.append(
                        Tile(
                            rows=m,
                            load_bytes=load,
                            kept_bytes=kept,
                            output_bytes=results * width if last else 0,
                            tail=ceil_div(results, machine.vector_lanes) * work.tail_ops * last,
                            tail_bytes=results * work.tail_inputs * width * last,
                            partial_bytes=0 if last else results * machine.accumulator_bytes,
                        )
                    )
    assert not resident
    return tiles


def total(parts: Iterable[Iterable[Part]]) -> int:
    """Bytes of all of them."""
    return sum(part.num_bytes for row in parts for part in row)


def vector_tiles(machine: Machine, work: VectorWork) -> Iterable[Tile]:
    """The tiles of all ``count`` repetitions.

    A full VECTOR_OP makes as many elements as a weight tile has. Every tile but the last reads
    the whole-element part of its proportional share of the inputs, the last one the rest.
    """
    width = machine.element_bytes
    full = machine.array_rows * machine.array_cols
    for _ in range(work.count):
        unread = work.input_elements
        sizes = pieces(work.elements, full)
        for position, elements in enumerate(sizes):
            last = position == len(sizes) - 1
            inputs = unread if last else work.input_elements * full // work.elements
            unread -= inputs
            yield Tile(
                compute=ceil_div(elements, machine.vector_lanes) * work.ops_per_element,
                load_bytes=inputs * width,
                output_bytes=elements * width,
            )


def network_tiles(
    machine: Machine,
    phases: Iterable[Phase],
    *,
    batch: int,
    output_length: int,
    expect: Callable[[Layer], int] | None = None,
) -> list[Tile]:
    """Every tile a task executes, in order, repeated phases written out.

    ``expect``: what the scheduler expects a layer to take; None: the true time.
    """
    tiles: list[Tile] = []
    for phase in phases:
        once = phase_tiles(machine, phase, batch, expect)
        tiles += once * (output_length if phase.repeat == "output" else phase.repeat)
    return tiles


def phase_tiles(
    machine: Machine, phase: Phase, batch: int, expect: Callable[[Layer], int] | None
) -> list[Tile]:
    """The tiles of one repetition. Layers without a GEMM count with the one before that has one,
    those in front of the first with that."""
    groups: list[list[Layer]] = [[]]
    for layer in phase.layers:
        multiplies = any(isinstance(work, Gemm) for work in layer.work(batch))
        had_one = any(isinstance(work, Gemm) for other in groups[-1] for work in other.work(batch))
        if multiplies and had_one:
            groups.append([])
        groups[-1].append(layer)
    tiles: list[Tile] = []
    for group in groups:
        per_layer = [layer_tiles(machine, layer.work(batch)) for layer in group]
        true = [sum(tile.cycles for tile in own) for own in per_layer]
        expected = true if expect is None else [expect(layer) for layer in group]
        tiles += [
            replace(tile, layer_cycles=sum(true), layer_expected=max(1, sum(expected)))
            for own in per_layer
            for tile in own
        ]
    return tiles


def layer_tiles(machine: Machine, works: Iterable[Gemm | VectorWork]) -> list[Tile]:
    """The tiles of one layer with their times.

    While a tile computes, memory loads the next one's data and stores the last one's output.
    Nothing hides the layer's first load and its last store.
    """
    tiles: list[Tile] = []
    for work in works:
        if isinstance(work, Gemm):
            tiles += gemm_tiles(machine, work)
        else:
            tiles += vector_tiles(machine, work)

    return in_pipeline(machine, tiles)


def in_pipeline(machine: Machine, tiles: Sequence[Tile]) -> list[Tile]:
    """Tiles of a layer with their times."""

    def stream(num_bytes: int) -> int:
        return stream_cycles(machine, num_bytes, machine.dram_bytes_per_s)

    timed = []
    for position, tile in enumerate(tiles):
        first, last = position == 0, position == len(tiles) - 1
        beside = 0 if first else tiles[position - 1].output_bytes
        beside += 0 if last else tiles[position + 1].load_bytes
        beside += tile.tail_bytes
        after_gemm = not first and tiles[position - 1].rows > 0
        before_gemm = not last and tiles[position + 1].rows > 0
        refill = 0
        compute = tile.compute
        if tile.rows:
            fill = 2 * machine.array_rows + machine.array_cols - 2
            rows = max(tile.rows, tile.tail)  # they leave as fast as the slower unit works
            if machine.weight_preload == "exposed":
                compute = fill + rows
            else:  # once for products in a row, whose weights follow each other into the array
                compute = max(rows, machine.array_rows) if before_gemm else rows
                compute += 0 if after_gemm else fill
                refill = fill if after_gemm else 0
        cycles = max(compute, stream(beside))
        if first:
            cycles += machine.dram_latency_cycles + stream(tile.load_bytes)
        if last:
            cycles += stream(tile.output_bytes)
        timed.append(
            replace(tile, cycles=cycles, refill=refill, starts_layer=first, ends_layer=last)
        )
    return timed


@dataclass
class Cursor:
    """Where a task stands among its tiles, and what it holds on chip there."""

    tiles: Sequence[Tile]
    index: int = 0  # tiles finished; the one under way, or the next
    into: int = 0  # cycles of it already done
    done: int = 0  # cycles done in all
    unstored_bytes: int = 0  # of the output tile that the last tile finished
    partial_bytes: int = 0

    def advance(self, cycles: int) -> None:
        while cycles > 0:
            tile = self.tiles[self.index]
            step = min(cycles, tile.cycles - self.into)
            self.into += step
            self.done += step
            cycles -= step
            if self.into == tile.cycles:
                self.index += 1
                self.into = 0
                self.unstored_bytes = 0 if tile.ends_layer else tile.output_bytes
                self.partial_bytes = 0 if tile.ends_layer else tile.partial_bytes

    def cycles_to_boundary(self) -> int:
        return self.tiles[self.index].cycles - self.into if self.into else 0

    def at_boundary(self) -> Cursor:
        """Where it would stand after finishing the tile in flight."""
        ahead = copy(self)
        ahead.advance(self.cycles_to_boundary())
        return ahead

    @property
    def at_end(self) -> bool:
        return self.index == len(self.tiles)

    def context_bytes(self) -> int:
        return self.unstored_bytes + self.partial_bytes

    def next_layer(self, estimate: str, calibration: float) -> int:
        """What the scheduler is shown of the layer of the next tile; 0 at the end."""
        if self.at_end:
            return 0
        tile = self.tiles[self.index]
        return shown(estimate, tile.layer_cycles, tile.layer_expected, calibration)

    def reload_bytes(self) -> int:
        if self.at_end or self.tiles[self.index].starts_layer:
            return 0
        tile = self.tiles[self.index]
        return tile.kept_bytes + tile.load_bytes

    def refill_cycles(self) -> int:
        return 0 if self.at_end else self.tiles[self.index].refill


def shown(estimate: str, true: int, expected: int, calibration: float) -> int:
    """What the scheduler is told that something takes."""
    if estimate == "calibrated":
        return max(1, math.floor(expected * calibration + 0.5))
    return {"algorithm1": expected, "oracle": true}[estimate]


# --- tasks --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task of a workload; times in cycles. ``isolated`` is the sum of its tiles."""

    arrival: int
    priority: int
    tiles: Sequence[Tile]
    estimated: int
    deadline: int
    batch_size: int = 1
    calibration: float = 1.0  # true time over estimate, where those are calibrated

    @property
    def isolated(self) -> int:
        return sum(tile.cycles for tile in self.tiles)


@dataclass(kw_only=True, eq=False)
class TaskState:
    """A task in the simulation, and its record."""

    index: int
    spec: TaskSpec
    isolated: int
    shown_estimate: int
    cursor: Cursor
    token: float
    waited_at_update: int = 0
    last_ran: int | None = None  # when it last stopped running
    draining: bool = False  # its last decision was DRAIN
    saved_in: str | None = None  # "npu" or "host": where its context lies
    first_run: int | None = None
    completion: int | None = None
    gone: str | None = None  # "dropped" or "rejected": it never completes
    killed: int = 0
    dispatches: int = 0
    checkpoints: int = 0
    kills: int = 0
    drains: int = 0
    checkpoint_cycles: int = 0
    restore_cycles: int = 0
    host_moves: int = 0

    @property
    def executed(self) -> int:
        return self.cursor.done

    def waited(self, now: int) -> int:
        until = now if self.completion is None else self.completion
        return until - self.spec.arrival - self.executed - self.killed

    @property
    def remaining(self) -> int:
        """What the scheduler believes is left."""
        return max(self.shown_estimate - self.executed, 0)


@dataclass
class Slice:
    """A piece of the timeline: what the NPU did from ``start`` to ``end``, and for which task."""

    kind: str  # "run", "checkpoint", "restore" or "idle"
    task: int | None
    start: int
    end: int


@dataclass(kw_only=True)
class Counters:
    busy: int = 0
    switching: int = 0
    idle: int = 0
    decisions: int = 0
    wakeups: int = 0
    illegal: int = 0


@dataclass(frozen=True)
class Decision:
    """What a policy was shown, and its answer."""

    now: int
    counters: Counters
    observation: NDArray[np.float32]  # (slots, columns)
    mask: NDArray[np.bool_]  # (mechanisms * slots,)
    action: int


Policy = Callable[[NDArray[np.float32], NDArray[np.bool_]], int]


# --- the simulation -----------------------------------------------------------------------------


class ReferenceSimulator:
    """Plays one workload under one policy. ``run`` once, then read the results.

    Results: ``tasks`` (sorted by arrival, index), ``now``, ``counters``, ``timeline``,
    ``decisions``, ``truncated``, and what is shown at the end: ``observation`` and ``mask``.
    """

    def __init__(
        self,
        config: Machine,
        tasks: Sequence[TaskSpec],
        *,
        slots: int = 16,
        mechanisms: Sequence[str] = (CHECKPOINT,),
        quantum_cycles: int,
        token_wait: str = "since_wakeup",
        sticky_drain: bool = False,
        estimate: str = "algorithm1",
        only_when_free: bool = False,
        max_decisions: int | None = None,
        horizon_cycles: int | None = None,
        drop: str = "never",
        queue_limit: int | None = None,
    ) -> None:
        self.config = config
        self.only_when_free = only_when_free
        self.mechanisms = tuple(mechanisms)
        self.quantum_cycles = quantum_cycles
        self.token_wait = token_wait
        self.sticky_drain = sticky_drain
        self.estimate = estimate
        self.max_decisions = max_decisions
        self.horizon_cycles = horizon_cycles
        self.drop = drop
        self.queue_limit = queue_limit
        in_order = sorted(tasks, key=lambda spec: spec.arrival)  # stable: equal arrivals by index
        self.tasks = [
            TaskState(
                index=index,
                spec=spec,
                isolated=spec.isolated,
                shown_estimate=shown(estimate, spec.isolated, spec.estimated, spec.calibration),
                cursor=Cursor(spec.tiles),
                token=float(spec.priority),
            )
            for index, spec in enumerate(in_order)
        ]
        self.to_come = list(self.tasks)
        self.queue: list[TaskState] = []
        self.table: list[TaskState | None] = [None] * slots
        self.running: TaskState | None = None
        self.run_start = 0  # when the running task started to run
        self.drain_for: TaskState | None = None  # who follows a sticky drain
        self.now = 0
        self.dram_used = 0
        self.counters = Counters()
        self.timeline: list[Slice] = []
        self.decisions: list[Decision] = []
        self.truncated = False
        self.observation: NDArray[np.float32] | None = None
        self.mask: NDArray[np.bool_] | None = None

    def run(self, policy: Policy) -> ReferenceSimulator:
        """Play to the last completion, or to a limit."""
        while not self.truncated:
            instant = self._next_instant()
            if instant is None:
                break
            if self.running is not None:
                self._run(instant - self.now)
            else:
                self._spend("idle", None, instant - self.now)
            if self.running is not None and self.running.cursor.at_end:
                self._complete()
            self._arrive()
            while self._wake_up(policy) and not self.truncated:
                pass  # something happened during the switch: wake up again at its end
        self.observation = self._observe()
        self.mask = np.arange(len(self._mask())) == 0  # nothing is asked any more
        return self

    # --- time ---

    def _next_instant(self) -> int | None:
        """When the next thing is due that wakes the scheduler; None when all is over."""
        due = [task.spec.arrival for task in self.to_come[:1]]
        if self.running is not None:
            due.append(self.now + self.running.isolated - self.running.executed)
            if len(self._present()) > 1:
                quanta_over = (self.now - self.run_start) // self.quantum_cycles
                due.append(self.run_start + (quanta_over + 1) * self.quantum_cycles)
        return min(due) if due else None

    def _spend(self, kind: str, task: TaskState | None, cycles: int) -> None:
        """Let time pass for one purpose, and write it down."""
        if cycles == 0:
            return
        start = self.now
        self.now += cycles
        if kind == "run":
            self.counters.busy += cycles
        elif kind == "idle":
            self.counters.idle += cycles
        else:
            self.counters.switching += cycles
        index = None if task is None else task.index
        before = self.timeline[-1] if self.timeline else None
        if before is not None and (before.kind, before.task) == (kind, index):
            before.end = self.now  # it goes on
        else:
            self.timeline.append(Slice(kind, index, start, self.now))

    def _run(self, cycles: int) -> None:
        task = self.running
        assert task is not None
        task.cursor.advance(cycles)
        self._spend("run", task, cycles)

    # --- what happens at an instant ---

    def _complete(self) -> None:
        task = self.running
        assert task is not None
        task.completion = self.now
        if task.draining:
            task.drains += 1
        self.running = None
        self.table[self.table.index(task)] = None

    def _arrive(self) -> int:
        """Put everything that has arrived by now in the queue; return how many."""
        count = 0
        while self.to_come and self.to_come[0].spec.arrival <= self.now:
            newcomer = self.to_come.pop(0)
            others = len(self._present()) + len(self.queue)
            if self.queue_limit is not None and others > self.queue_limit:
                newcomer.gone = "rejected"
            else:
                self.queue.append(newcomer)
            count += 1
        return count

    def _is_past_saving(self, task: TaskState) -> bool:
        """Whether a task that waits now is to leave unserved."""
        if self.drop == "late":
            return task.spec.deadline < self.now
        return self.drop == "hopeless" and task.spec.deadline < self.now + task.remaining

    def _drop_waiting(self) -> None:
        """Let those in the table leave that are past saving, with the contexts they had saved."""
        for slot, task in enumerate(self.table):
            if task is None or task is self.running or not self._is_past_saving(task):
                continue
            task.gone = "dropped"
            self.table[slot] = None
            if task.saved_in == "npu":
                self.dram_used -= task.cursor.context_bytes()
            if task is self.drain_for:
                self.drain_for = None

    def _wake_up(self, policy: Policy) -> bool:
        """One wake-up; True if its decision led to a switch during which something happened."""
        self.counters.wakeups += 1
        self._drop_waiting()
        while self.queue and None in self.table:
            newcomer = self.queue.pop(0)
            if self._is_past_saving(newcomer):
                newcomer.gone = "dropped"
            else:
                self.table[self.table.index(None)] = newcomer
        for task in self._present():
            if task is not self.running:
                self._update_token(task)

        if self.drain_for is not None:  # a sticky drain: no question
            if self.running is not None:
                return False
            target, self.drain_for = self.drain_for, None
            return self._switch(target, None)

        if self.only_when_free and self.running is not None:
            return False
        mask = self._mask()
        legal = [action for action, allowed in enumerate(mask) if allowed]
        if not legal:
            return False
        if len(legal) == 1:
            action = legal[0]
        else:
            if self._at_limit():
                self.truncated = True
                return False
            observation = self._observe()
            action = int(policy(observation.copy(), mask.copy()))
            counters = replace(self.counters)
            self.decisions.append(Decision(self.now, counters, observation, mask, action))
            self.counters.decisions += 1
            if action not in legal:
                self.counters.illegal += 1
                instead = self.running if self.running is not None else self._ranked()[0]
                action = self.table.index(instead)
        mechanism, slot = divmod(action, len(self.table))
        named = self.table[slot]
        assert named is not None
        return self._decide(named, self.mechanisms[mechanism])

    def _at_limit(self) -> bool:
        if self.counters.decisions == self.max_decisions:
            return True
        return self.horizon_cycles is not None and self.now >= self.horizon_cycles

    def _update_token(self, task: TaskState) -> None:
        waited = task.waited(self.now)
        if self.token_wait == "since_wakeup":
            wait = waited - task.waited_at_update
        elif self.token_wait == "total":
            wait = waited
        elif self.token_wait == "since_run":
            wait = self._since_run(task)
        else:
            raise ValueError(self.token_wait)
        slow = wait / task.shown_estimate
        task.token += task.spec.priority * slow
        task.waited_at_update = waited

    # --- decisions ---

    def _decide(self, target: TaskState, mechanism: str) -> bool:
        current = self.running
        if current is None:
            return self._switch(target, None)
        current.draining = False
        if target is current:
            return False
        if mechanism == DRAIN:
            current.draining = True
            if self.sticky_drain:
                self.drain_for = target
            return False
        return self._switch(target, mechanism)

    def _switch(self, target: TaskState, mechanism: str | None) -> bool:
        """Put ``target`` on the machine; True if a task arrived or completed meanwhile."""
        completed = False
        current = self.running
        if current is not None:
            self._run(current.cursor.cycles_to_boundary())
            if current.cursor.at_end:
                self._complete()
                completed = True
            elif mechanism == KILL:
                self._stop()
                current.kills += 1
                current.checkpoint_cycles += self._leave_cycles()
                self._spend("checkpoint", current, self._leave_cycles())
                current.killed += current.cursor.done
                current.cursor = Cursor(current.spec.tiles)
            else:
                self._stop()
                current.checkpoints += 1
                self._save(current)
        self._restore(target)
        self.running = target
        self.run_start = self.now
        target.dispatches += 1
        if target.first_run is None:
            target.first_run = self.now
        arrived = self._arrive() > 0
        return completed or arrived

    def _stop(self) -> None:
        assert self.running is not None
        self.running.last_ran = self.now
        self.running = None

    def _place(self, context_bytes: int) -> str:
        fits = self.dram_used + context_bytes <= self.config.dram_bytes
        return "npu" if fits else "host"

    def _save_cycles(self, context_bytes: int) -> int:
        """Time to save a context where it would go now."""
        if self._place(context_bytes) == "npu":
            return self._dram(context_bytes)
        return self._host(context_bytes)

    def _save(self, task: TaskState) -> None:
        context = task.cursor.context_bytes()
        cycles = self._leave_cycles() + self._save_cycles(context)
        task.saved_in = self._place(context)
        if task.saved_in == "npu":
            self.dram_used += context
        else:
            task.host_moves += 1
        task.checkpoint_cycles += cycles
        self._spend("checkpoint", task, cycles)

    def _leave_cycles(self) -> int:
        """Time until the machine lets go of a task that is not done."""
        return round(self.config.switch_latency_us * self.config.clock_hz / 1_000_000)

    def _restore_cycles(self, task: TaskState) -> int:
        context = task.cursor.context_bytes()
        reload_bytes = task.cursor.reload_bytes()
        if task.saved_in == "host":
            return self._host(context) + self._dram(reload_bytes) + task.cursor.refill_cycles()
        return self._dram(context + reload_bytes) + task.cursor.refill_cycles()

    def _restore(self, task: TaskState) -> None:
        cycles = self._restore_cycles(task)
        if task.saved_in == "npu":
            self.dram_used -= task.cursor.context_bytes()
        task.saved_in = None
        task.restore_cycles += cycles
        self._spend("restore", task, cycles)

    def _dram(self, num_bytes: int) -> int:
        return transfer_cycles(self.config, num_bytes, self.config.dram_bytes_per_s)

    def _host(self, num_bytes: int) -> int:
        return transfer_cycles(self.config, num_bytes, self.config.host_link_bytes_per_s)

    # --- what a policy sees ---

    def _present(self) -> list[TaskState]:
        return [task for task in self.table if task is not None]

    def _ranked(self) -> list[TaskState]:
        return sorted(self._present(), key=lambda task: (task.spec.arrival, task.index))

    def _mask(self) -> NDArray[np.bool_]:
        allowed = []
        for mechanism in range(len(self.mechanisms)):
            for task in self.table:
                if task is None:
                    allowed.append(False)
                elif mechanism == 0:
                    allowed.append(True)
                else:
                    allowed.append(self.running is not None and task is not self.running)
        return np.array(allowed, dtype=np.bool_)

    def _since_run(self, task: TaskState) -> int:
        if task is self.running:
            return 0
        return self.now - (task.spec.arrival if task.last_ran is None else task.last_ran)

    def _quantum_left(self) -> int:
        elapsed = self.now - self.run_start
        if elapsed == 0:
            return self.quantum_cycles
        return -elapsed % self.quantum_cycles

    def _observe(self) -> NDArray[np.float32]:
        table = np.zeros((len(self.table), len(COLUMNS)), dtype=np.float32)
        for slot, task in enumerate(self.table):
            if task is not None:
                row = self._row(task)
                assert row.keys() == {column.name for column in COLUMNS}
                table[slot] = [np.float32(row[column.name]) for column in COLUMNS]
        return table

    def _row(self, task: TaskState) -> dict[str, float]:
        running = task is self.running
        stop = task.cursor.at_boundary() if running else task.cursor
        context = stop.context_bytes()
        cycles_to_free = task.cursor.cycles_to_boundary() + self._save_cycles(context)
        if not stop.at_end:
            cycles_to_free += self._leave_cycles()
        return {
            "present": 1,
            "running": running,
            "priority": task.spec.priority,
            "order": self._ranked().index(task),
            "age_ms": self._ms(self.now - task.spec.arrival),
            "waited_ms": self._ms(task.waited(self.now)),
            "since_run_ms": self._ms(self._since_run(task)),
            "estimated_ms": self._ms(task.shown_estimate),
            "executed_ms": self._ms(task.executed),
            "remaining_ms": self._ms(task.remaining),
            "next_layer_ms": self._ms(stop.next_layer(self.estimate, task.spec.calibration)),
            "token": task.token,
            "slack_ms": self._ms(task.spec.deadline - self.now - task.remaining),
            "preempt_ms": self._ms(cycles_to_free if running else 0),
            "restore_ms": self._ms(0 if running else self._restore_cycles(task)),
            "context_bytes": context,
            "batch_size": task.spec.batch_size,
            "preemptions": task.checkpoints + task.kills,
            "quantum_left_ms": self._ms(self._quantum_left() if running else 0),
        }

    def _ms(self, cycles: int) -> float:
        return float(cycles) * (1000.0 / self.config.clock_hz)
