"""How long does the exact optimum take? Prints milliseconds a workload; nothing is asserted.

Run: python -m benchmarks bounds, or python -m benchmarks.bench_bounds [--repeats 5] [--threads 2]

Wanted: 8 tasks below 1 ms, 16 tasks below 200 ms, 1 000 workloads of 8 tasks below 2 000 ms on two
cores. Isolated times are log-uniform over 0.1 to 100 ms at 700 MHz (PREMA's networks span that),
arrivals uniform over half the total work, so tasks queue. Every figure is the best of the repeats
after compilation, which is reported by itself.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from prema_gym.bounds import (
    OBJECTIVES,
    antt_bound,
    fewest_misses,
    least_worst_ntt,
    lp_bound,
    optimum,
    optimum_batch,
    srpt_completions,
)

CYCLES_PER_MS = 700_000
SIZES = (8, 16, 20)


def draw(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[NDArray[np.int64], ...]:
    isolated = np.round(CYCLES_PER_MS * 10 ** rng.uniform(-1, 2, shape)).astype(np.int64)
    arrival = rng.integers(0, isolated.sum(axis=1, keepdims=True) // 2, shape)
    return arrival, isolated


def best_ms(repeats: int, call: Callable[[], object]) -> float:
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return 1e3 * min(spent)


def main(repeats: int = 5, threads: int = 2) -> None:
    rng = np.random.default_rng(0)
    workloads = {size: draw(rng, (1000, size)) for size in SIZES}

    print(f"first call (compile or load): {best_ms(1, lambda: optimum([0], [1])):8.0f} ms\n")
    print("optimum, ms a workload" + "".join(f"{size:>9} tasks" for size in SIZES))
    for name, objective in OBJECTIVES.items():
        row = []
        for size in SIZES:
            arrival, isolated = (table[0] for table in workloads[size])
            every = {"weight": np.ones(size), "deadline": arrival + 2 * isolated, "target": 4}
            extra = {key: every[key] for key in objective.uses}
            row.append(best_ms(repeats, partial(optimum, arrival, isolated, name, **extra)))
        print(f"{name:22}" + "".join(f"{spent:15.3f}" for spent in row))

    print()
    for count, size in ((1000, 8), (1000, 12), (100, 16), (8, 20)):
        arrival, isolated = (table[:count] for table in workloads[size if size != 12 else 16])
        arrival, isolated = arrival[:, :size], isolated[:, :size]
        for number in sorted({1, threads}):
            batch = partial(optimum_batch, arrival, isolated, threads=number)
            spent = best_ms(min(repeats, 2), batch)
            print(f"antt, {count:4} workloads × {size:2} tasks, {number} threads: {spent:9.1f} ms")

    print()
    arrival, isolated = (table[0] for table in workloads[20])
    many = (np.sort(rng.integers(0, 10**10, 10_000)), rng.integers(10**5, 10**6, 10_000))
    for label, call in (
        ("lp_bound, 20 tasks", lambda: lp_bound(arrival, isolated, None)),
        ("lp_bound, 10 000 tasks", lambda: lp_bound(*many, None)),
        ("antt_bound, 20 tasks", lambda: antt_bound(arrival, isolated)),
        ("srpt_completions, 20 tasks", lambda: srpt_completions(arrival, isolated)),
        ("least_worst_ntt, 20 tasks", lambda: least_worst_ntt(arrival, isolated)),
        ("fewest_misses, 20 tasks", lambda: fewest_misses(arrival, isolated, arrival + isolated)),
    ):
        call()  # compiles
        print(f"{label:28}{best_ms(repeats, call):9.3f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many runs counts")
    parser.add_argument("--threads", type=int, default=2, help="threads for the batches")
    main(**vars(parser.parse_args()))
