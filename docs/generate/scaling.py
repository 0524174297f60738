"""Up to how many workers does it pay? A cost model of shards, measured here and checked at two.

Run: python -m docs.generate.scaling [--workloads 8192] [--write]

What a piece costs is measured on this machine: drawing, playing, packing and merging a workload, an
errand's way to a process and back, the start of a worker. From that the model says how long any
number of workers takes; at one and two workers it is set beside what they did take. Stragglers are
simulated: shards go to whoever is free, some take longer. Prints Markdown, or puts it into
docs/distribution.md.
"""

from __future__ import annotations

import argparse
import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from docs.generate import PAGES
from docs.generate.scripts import run
from docs.generate.sections import table, with_section
from prema_gym.cli.naming import recipe_of
from prema_gym.distribution.comparison import ShardedPlayer
from prema_gym.distribution.executors import Processes
from prema_gym.distribution.shards import Errand, Shard, outcomes_from, play_shard, unpack
from prema_gym.evaluation.compare import CHUNK
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.settings import EvaluationSettings
from prema_gym.evaluation.summary import summarise
from prema_gym.metrics import Outcomes
from prema_gym.workloads import compile_scenario, sample_batch, scenarios

PAGE = PAGES / "distribution.md"
POLICY = "dynamic-prema"
MANY = 10_000_000
"""Workloads of the question."""
STRAGGLERS = ((0.0, 1.0), (0.02, 3.0), (0.05, 10.0))
"""(share of shards, how many times longer they take): none; a busy neighbour; a failing machine."""
WORKERS = tuple(2**k for k in range(13))
ENOUGH = 0.9


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What was measured, in seconds."""

    draw: float  # a workload, in the driver
    play: float  # a workload under one policy, packed, in a worker
    merge: float  # a workload under one policy, in the driver
    errand: float  # an errand's way there and back, in the driver
    start: float  # from asking for a worker to its first result


def makespan(durations: Sequence[float], workers: int) -> float:
    """When the last is done, if each goes to whoever is free first."""
    free = [0.0] * min(workers, len(durations))
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def predicted(
    costs: Costs, workloads: int, policies: int, workers: int, stragglers: tuple[float, float]
) -> float:
    """Seconds that a comparison takes [s].

    The driver draws before and merges after; between, it can hand out and take back only one
    errand at a time.
    """
    share, longer = stragglers
    shards = policies * math.ceil(workloads / CHUNK)
    late = np.random.default_rng(0).random(shards) < share
    durations = np.where(late, longer, 1.0) * costs.play * CHUNK
    played = max(makespan(durations.tolist(), workers), shards * costs.errand)
    serial = workloads * (costs.draw + policies * costs.merge)
    return serial + costs.start + played


def efficiency(
    costs: Costs, workloads: int, policies: int, workers: int, stragglers: tuple[float, float]
) -> float:
    """Time that one worker would need, over what all workers together take."""
    alone = predicted(costs, workloads, policies, 1, (0.0, 1.0)) - costs.start
    return alone / (workers * predicted(costs, workloads, policies, workers, stragglers))


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it gives."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def measure() -> Costs:
    """Measure what the pieces cost, the compiled code being there."""
    catalog, recipe = compile_scenario(scenarios.get("paper")), recipe_of(POLICY)
    draw, batch = min(
        (seconds(lambda: sample_batch(catalog, range(CHUNK))) for _ in range(3)), key=first
    )
    shard = Shard(
        recipe=recipe,
        policy=POLICY,
        policy_digest="",
        catalog=catalog,
        batch=batch,
        play=PlaySettings(max_decisions=100_000),
        first=0,
        seed=0,
    )
    errand = Errand(shard, shard.key())
    play, content = min((seconds(lambda: play_shard(errand)) for _ in range(4)), key=first)
    settings = EvaluationSettings(
        scenario=catalog.scenario,
        policies=(POLICY,),
        mechanisms={POLICY: recipe.make(POLICY).mechanisms},  # type: ignore[attr-defined]
        workloads=CHUNK,
        relative_to=POLICY,
    )

    def merge() -> None:
        arrays = unpack(content, errand.key)
        assert arrays is not None
        summarise({POLICY: Outcomes.concatenate([outcomes_from(arrays, shard)])}, settings)

    merging, _ = min((seconds(merge) for _ in range(3)), key=first)
    with Processes(1) as worker:
        start, _ = seconds(lambda: list(worker.run(play_shard, [errand])))
        several, _ = seconds(lambda: list(worker.run(echo, [content] * 64)))
    return Costs(
        draw=draw / CHUNK,
        play=play / CHUNK,
        merge=merging / CHUNK,
        errand=several / 64,
        start=start - play,
    )


def first(pair: tuple[float, Any]) -> float:
    """The time of a timed call."""
    return pair[0]


def echo(content: bytes) -> bytes:
    """An errand that is no work: what travels, travels both ways."""
    return content


def checked(costs: Costs, workloads: int) -> list[tuple[str, str, str, str]]:
    """The model beside what one and two workers take."""
    catalog = compile_scenario(scenarios.get("paper"))
    spans = range(0, workloads, CHUNK)
    rows = []
    for workers in (1, 2):

        def play(workers: int = workers) -> None:
            batches = [sample_batch(catalog, range(at, at + CHUNK)) for at in spans]
            with Processes(workers) as executor:
                player = ShardedPlayer(executor=executor, recipe=recipe_of, seed=0)
                policies = {POLICY: recipe_of(POLICY).make(POLICY)}
                settings = PlaySettings(max_decisions=100_000)
                player(policies, catalog, batches, settings, threads=1)

        took, _ = seconds(play)
        said = predicted(costs, workloads, 1, workers, (0.0, 1.0))
        rows.append((f"{workers}", f"{said:.1f}", f"{took:.1f}", f"{took / said:.2f}"))
    return rows


def markdown(costs: Costs, check: list[tuple[str, str, str, str]], workloads: int) -> str:
    """The measured costs, the check, and the answer."""
    pieces = {
        "draw a workload (driver)": costs.draw * 1e6,
        "play it under one policy, pack it (worker)": costs.play * 1e6,
        "unpack, merge and summarise it (driver)": costs.merge * 1e6,
        f"an errand of {CHUNK} workloads there and back (driver)": costs.errand * 1e6,
        "a worker's start, to its first result": costs.start * 1e6,
    }
    text = table(("piece", "µs"), [(k, f"{v:,.0f}") for k, v in pieces.items()], right=1)
    text += f"\n{workloads} workloads under `{POLICY}`, processes of this machine:\n\n"
    text += table(("workers", "model [s]", "took [s]", "took / model"), check, right=3)
    rows = []
    for policies in (1, 16, 64):
        for share, longer in STRAGGLERS:
            found = [efficiency(costs, MANY, policies, w, (share, longer)) for w in WORKERS]
            most = max((w for w, e in zip(WORKERS, found, strict=True) if e >= ENOUGH), default=0)
            late = "none" if share == 0 else f"{share:.0%} take {longer:g} ×"
            at = dict(zip(WORKERS, found, strict=True))
            shown = [f"{at[w]:.2f}" for w in (2, 8, 64, 512)]
            rows.append((f"{policies}", late, f"{most or '–'}", *shown))
    head = ("policies", "stragglers", f"most workers at {ENOUGH:.0%}")
    ends = tuple(f"efficiency at {w}" for w in (2, 8, 64, 512))
    return text + f"\n{MANY:,} workloads:\n\n" + table((*head, *ends), rows, right=5)


def main() -> None:
    """Measure, check, print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=8 * CHUNK, help="of the check")
    parser.add_argument("--write", action="store_true", help=f"put it into {PAGE.name}")
    given = parser.parse_args()
    costs = measure()
    text = markdown(costs, checked(costs, given.workloads), given.workloads)
    if given.write:
        PAGE.write_text(with_section(PAGE.read_text(), "scaling", text))
    else:
        print(text)


if __name__ == "__main__":
    run(main)
