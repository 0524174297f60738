"""Random cases for the twin test: small in number of tiles, wide in kind.

``make_case(seed)`` draws a machine, networks, tasks and options; ``make_policy`` the decider. All
follow from the seed alone. Ordinary draws already mix most things; every ``THEMES[seed % n]``
forces one corner that chance would rarely reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prema_gym import baselines
from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.attention import SelfAttention
from prema_gym.networks.convolution import Conv2d, Pool2d
from prema_gym.networks.layers import Layer, Linear
from prema_gym.networks.network import Phase
from prema_gym.networks.pointwise import Elementwise, Softmax
from prema_gym.networks.recurrent import GRUCell, LSTMCell
from prema_gym.networks.tensor import Tensor
from prema_gym.networks.work import Gemm, VectorWork
from prema_gym.simulator import ESTIMATES, MECHANISMS, TOKEN_WAITS
from tests.reference import Policy, network_tiles
from tests.simulator.twins import Case, Net, Task, Works, case_tiles

Rng = np.random.Generator

# The reference walks tile by tile: more than this a task is slow, and shows nothing new.
MOST_TILES = 3_000
MOST_BATCH = 4
MOST_OUTPUT = 8

THEMES: tuple[str, ...] = (
    "plain",
    "one task",
    "hundred tasks",
    "one slot",
    "sixteen slots",
    "no window",
    "pairs of equal arrivals",
    "scarce memory",
    "no memory",
    "free memory",
    "huge layers",
    "tiny layers",
    "quantum below a tile",
    "huge quantum",
    "illegal actions",
    "sticky drain",
    "kill",
    "recurrent",
    "truncated",
    "late estimates",
    "late dropped",
    "hopeless dropped",
    "full queue",
)


def theme_of(seed: int) -> str:
    return THEMES[seed % len(THEMES)]


def whole(rng: Rng, low: int, high: int) -> int:
    """A whole number, every order of magnitude from ``low`` to ``high`` as likely."""
    return min(high, math.floor(low * math.exp(rng.uniform(0, math.log((high + 1) / low)))))


def draw_config(rng: Rng, theme: str) -> NPUConfig:
    rows, cols = int(rng.integers(4, 17)), int(rng.integers(4, 17))
    element = int(rng.choice([1, 2, 4]))
    clock = int(rng.choice([1_000, 997, 700_000_000, 1_000_000_000]))
    bytes_a_cycle = rng.choice([1e-6, 0.01, 0.3, 1.0, 7.3, 16.0, 500.0, math.inf], size=2)
    memory, host = (x if math.isinf(x) else max(1, int(x * clock)) for x in bytes_a_cycle)
    latency = int(rng.choice([0, 1, 10, 100, 5_000]))
    ubuf = 2 * rows * element * whole(rng, 1, 100)
    dram = int(rng.choice([2**30, whole(rng, 1, 20_000)], p=[0.7, 0.3]))
    if theme == "free memory":
        memory = host = math.inf
        latency = 0
    if theme == "scarce memory":
        dram = whole(rng, 50, 2_000)
    if theme == "no memory":
        dram = 0
    return NPUConfig(
        array_rows=rows,
        array_cols=cols,
        accumulator_rows=whole(rng, 8, 64),
        vector_lanes=whole(rng, 1, 32),
        clock_hz=clock,
        ubuf_bytes=ubuf,
        wbuf_bytes=rows * cols * element * whole(rng, 2, 40),
        dram_bytes_per_s=memory,
        dram_latency_cycles=latency,
        dram_bytes=dram,
        switch_latency_us=int(rng.choice([0, 0, 1, 300])) * 1e6 / clock,
        host_link_bytes_per_s=host,
        element_bytes=element,
        accumulator_bytes=int(rng.choice([2, 4, 8])),
        weight_preload=str(rng.choice(["exposed", "hidden"])),
    )


def draw_layer(rng: Rng, theme: str, config: NPUConfig) -> Layer | Works:
    if theme == "tiny layers":
        return Works("tiny", (Gemm("g", 1, 1, 1),))
    if theme == "huge layers":  # up to 8 × 8 × 8 tiles, full or not
        full = (config.tile_rows, config.array_rows, config.array_cols)
        m, k, n = (whole(rng, 1, 8) * size - int(rng.integers(0, size)) for size in full)
        return Works("huge", (Gemm("g", m, k, n),))
    size = int(rng.integers(4, 9))
    channels = 2 * int(rng.integers(1, 9))
    image = Tensor((channels, size, size))
    vector = Tensor((whole(rng, 1, 100),))
    width = whole(rng, 1, 100)
    kernel = int(rng.integers(1, 4))
    batch_free = (
        Gemm(
            "a",
            whole(rng, 1, 60),
            whole(rng, 1, 60),
            whole(rng, 1, 40),
            int(rng.integers(1, 4)),
            tail_ops=int(rng.integers(0, 4)),
            tail_inputs=int(rng.integers(0, 3)),
        ),
        VectorWork("b", whole(rng, 1, 2_000), whole(rng, 1, 9), whole(rng, 1, 3_000), 2),
        Gemm("c", whole(rng, 1, 60), whole(rng, 1, 60), whole(rng, 1, 40)),
    )
    makers: tuple[Callable[[], Layer | Works], ...] = (
        lambda: Conv2d("conv", image, out_channels=width, kernel=kernel),
        lambda: Conv2d("grouped", image, out_channels=4, kernel=kernel, groups=2),
        lambda: Conv2d("depthwise", image, out_channels=channels, kernel=3, groups=channels),
        lambda: Linear("linear", vector, out_features=width),
        lambda: LSTMCell("lstm", vector, hidden=whole(rng, 1, 20)),
        lambda: GRUCell("gru", vector, hidden=whole(rng, 1, 20)),
        lambda: SelfAttention("attention", Tensor((5, 8)), heads=2),
        lambda: Pool2d("pool", image, kernel=2),
        lambda: Elementwise("add", (image, image)),
        lambda: Softmax("softmax", vector),
        lambda: Works("works", batch_free[: int(rng.integers(1, 4))]),
        lambda: Works("vector", (VectorWork("v", whole(rng, 1, 9_000), 1, whole(rng, 1, 90)),)),
    )
    return makers[int(rng.integers(len(makers)))]()


def draw_net(rng: Rng, theme: str, config: NPUConfig, name: str) -> Net:
    recurrent = theme == "recurrent"
    phases = []
    for number in range(int(rng.integers(2 if recurrent else 1, 4))):
        layers = tuple(draw_layer(rng, theme, config) for _ in range(int(rng.integers(1, 4))))
        output = recurrent and number == 1
        repeat = "output" if output or rng.random() < 0.2 else int(rng.choice([1, 1, 2, 3]))
        phases.append(Phase(layers, repeat))  # type: ignore[arg-type]
    return Net(name, tuple(phases))


def count_tiles(config: NPUConfig, net: Net) -> int:
    """Tiles of the largest task that ``draw_tasks`` makes of a network."""
    total = 0
    for phase in net.phases(1):
        once = Phase(phase.layers, 1)
        tiles = network_tiles(config, (once,), batch=MOST_BATCH, output_length=1)
        total += len(tiles) * phase.steps(MOST_OUTPUT)
    return total


def draw_tasks(rng: Rng, theme: str, config: NPUConfig) -> tuple[tuple[Net, ...], tuple[Task, ...]]:
    """Networks, and tasks without arrivals, each of at most MOST_TILES tiles."""
    count = {"one task": 1, "hundred tasks": 100}.get(theme, int(rng.integers(2, 9)))
    if theme == "full queue":
        count += 5
    nets: list[Net] = []
    most = MOST_TILES // 20 if theme == "hundred tasks" else MOST_TILES
    while len(nets) < min(count, 3):
        net = draw_net(rng, theme, config, f"net{len(nets)}")
        if count_tiles(config, net) <= most:
            nets.append(net)
    tasks = [
        Task(
            net=int(rng.integers(len(nets))),
            arrival=0,
            priority=int(rng.choice([1, 3, 9])),
            batch_size=int(rng.choice([1, 2, MOST_BATCH])),
            output_length=int(rng.integers(1, MOST_OUTPUT + 1)),
        )
        for _ in range(count)
    ]
    return tuple(nets), tuple(tasks)


def make_case(seed: int) -> Case:
    rng = np.random.default_rng([seed, 0])
    theme = theme_of(seed)
    config = draw_config(rng, theme)
    nets, tasks = draw_tasks(rng, theme, config)
    case = Case(config=config, nets=nets, tasks=tasks)
    tiles = [case_tiles(case, task) for task in tasks]
    isolated = [sum(tile.cycles for tile in task) for task in tiles]
    longest_tile = max(tile.cycles for task in tiles for tile in task)

    # From all at once to mostly idle.
    window = 0 if theme == "no window" else int(sum(isolated) * rng.choice([0, 0.1, 0.5, 1, 3]))
    grid = int(rng.choice([1, max(1, window // 4)]))
    if theme == "pairs of equal arrivals":
        grid = max(1, sum(isolated) // 5)
        window = max(window, 3 * grid)
    arrivals = sorted(int(x) // grid * grid for x in rng.integers(0, window + 1, len(tasks)))
    off = rng.choice([0.05, 1.0] if theme == "late estimates" else [0.5, 1.0, 2.0], len(tasks))
    tasks = tuple(
        replace(
            task,
            arrival=arrival,
            estimated=max(1, int(alone * factor)),
            deadline=arrival + int(rng.integers(0, 4 * alone)),
        )
        for task, arrival, alone, factor in zip(tasks, arrivals, isolated, off, strict=True)
    )

    quantum = max(1, int(np.mean(isolated) * rng.choice([0.1, 0.3, 1.0])))
    if theme == "quantum below a tile":
        quantum = max(1, longest_tile // 3)
    if theme == "huge quantum":
        quantum = 10**12
    mechanisms = tuple(rng.permutation(MECHANISMS)[: int(rng.integers(1, 4))])
    if theme == "sticky drain":
        mechanisms = tuple(rng.permutation(["checkpoint", "drain"]))
    if theme == "kill":
        mechanisms = ("kill",)
    slots = {"one slot": 1, "sixteen slots": 16}.get(theme, int(rng.integers(2, 9)))
    return replace(
        case,
        tasks=tasks,
        slots=slots,
        mechanisms=tuple(str(name) for name in mechanisms),
        quantum_cycles=quantum,
        token_wait=str(rng.choice(TOKEN_WAITS)),
        sticky_drain=theme == "sticky drain" or bool(rng.random() < 0.3),
        estimate=str(rng.choice(ESTIMATES)),
        only_when_free=bool(rng.random() < 0.1),
        # A policy that switches at random may never end: every case has a limit.
        # A hundred tasks need far more to get through.
        max_decisions=int(rng.integers(1, 20))
        if theme == "truncated"
        else (5_000 if theme == "hundred tasks" else 150),
        horizon_cycles=int(max(arrivals)) + 1 if rng.random() < 0.05 else None,
        drop={"late dropped": "late", "hopeless dropped": "hopeless"}.get(theme, "never"),
        queue_limit=int(rng.integers(0, 3)) if theme == "full queue" else None,
    )


def random_legal(rng: Rng, eagerness: float) -> Policy:
    """Any legal action with probability ``eagerness``, else continue if something runs."""

    def answer(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        running = np.flatnonzero(observation[:, 1])
        if running.size and rng.random() > eagerness:
            return int(running[0])
        return int(rng.choice(np.flatnonzero(mask)))

    return answer


def any_number(rng: Rng) -> Policy:
    """Legal or not: a little outside the range on both sides."""
    return lambda observation, mask: int(rng.integers(-2, len(mask) + 2))


def baseline(name: str, mechanisms: tuple[str, ...]) -> Policy:
    policy = baselines.make(name, mechanisms=mechanisms)
    return lambda observation, mask: int(policy.predict(observation, action_masks=mask)[0])


def make_policy(seed: int, case: Case) -> Policy:
    rng = np.random.default_rng([seed, 1])
    if theme_of(seed) == "illegal actions":
        return any_number(rng)
    rules = ["np-fcfs"]
    if "checkpoint" in case.mechanisms:
        rules += ["static-prema", "static-rrb", "static-sjf"]
    if {"checkpoint", "drain"} <= set(case.mechanisms):
        rules += ["dynamic-prema", "dynamic-hpf"]
    if "kill" in case.mechanisms:
        rules += ["kill-sjf"]
    choice = int(rng.integers(10))
    if choice < 4:
        return baseline(str(rng.choice(rules)), case.mechanisms)
    if choice == 4:
        return any_number(rng)
    return random_legal(rng, eagerness=float(rng.choice([0.1, 0.5, 1.0])))
