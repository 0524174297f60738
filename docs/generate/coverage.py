"""How often do 95 % intervals hold the truth, by the number of workloads?

Run: python -m docs.generate.coverage [--population 10000] [--samples 400] [--write]

A large population of workloads is played once; its figures are the truth. Then many small samples
are drawn from it, and each is summarised as `prema-gym evaluate` would. Prints Markdown, or puts it
into docs/fidelity.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np

from docs.generate import PAGES
from docs.generate.scripts import run
from docs.generate.sections import table, with_section
from prema_gym import baselines
from prema_gym.baselines.registry import PREMA
from prema_gym.compiled.cpus import num_cpus
from prema_gym.evaluation.compare import CHUNK
from prema_gym.evaluation.concurrent import play_all
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.results import MetricValue
from prema_gym.evaluation.settings import BASELINE, EvaluationSettings
from prema_gym.evaluation.summary import summarise
from prema_gym.metrics import METRICS, Outcomes
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch

PAGE = PAGES / "fidelity.md"
SIZES = (2, 5, 10, 25, 50, 100, 200)
"""Workloads of a sample."""
POLICIES = (BASELINE, PREMA)
SHOWN = [metric for metric in METRICS if metric.table in ("main", "latency")]
FIRST_SEED = 1_000_000


def population(scenario: str, size: int) -> dict[str, Outcomes]:
    """What becomes of many workloads, by policy."""
    catalog = compile_scenario(scenarios.get(scenario))
    spans = range(FIRST_SEED, FIRST_SEED + size, CHUNK)
    batches = [sample_batch(catalog, range(s, min(s + CHUNK, spans.stop))) for s in spans]
    policies = {name: baselines.make(name) for name in POLICIES}
    return play_all(policies, catalog, batches, PlaySettings(), threads=num_cpus(), progress=None)


def summary(
    scenario: str, outcomes: Mapping[str, Outcomes], seed: int
) -> dict[str, dict[str, MetricValue]]:
    """Every metric of every policy, as `prema-gym evaluate` has it."""
    settings = EvaluationSettings(
        scenario=scenarios.get(scenario),
        policies=POLICIES,
        mechanisms=dict.fromkeys(POLICIES, ("checkpoint",)),
        workloads=len(outcomes[BASELINE].present),
        relative_to=BASELINE,
        seed=seed,
    )
    return {name: found.metrics for name, found in summarise(outcomes, settings).items()}


def coverage(
    scenario: str, played: Mapping[str, Outcomes], size: int, samples: int
) -> dict[str, list[float]]:
    """Share of intervals that hold the truth: of the baseline, of PREMA, of their ratio; by metric.

    NaN where no sample has an interval.
    """
    truth = summary(scenario, played, 0)
    rng = np.random.default_rng(size)
    total = len(played[BASELINE].present)
    hits: dict[str, list[list[bool]]] = {metric.name: [[], [], []] for metric in SHOWN}
    for sample in range(samples):
        rows = rng.choice(total, size, replace=False)
        found = summary(scenario, {name: one.take(rows) for name, one in played.items()}, sample)
        for name, (baseline, prema, ratio) in hits.items():
            for held, policy in ((baseline, BASELINE), (prema, PREMA)):
                _note(held, found[policy][name].ci95, truth[policy][name].mean)
            _note(ratio, found[PREMA][name].ratio_ci95, truth[PREMA][name].ratio)
    return {
        name: [float(np.mean(one)) if one else float("nan") for one in held]
        for name, held in hits.items()
    }


def _note(held: list[bool], ends: tuple[float, float], truth: float) -> None:
    if np.isfinite(ends[0]):
        held.append(ends[0] <= truth <= ends[1])


def markdown(scenario: str, size: int, samples: int) -> str:
    """The table: metrics by numbers of workloads."""
    played = population(scenario, size)
    by_size = {n: coverage(scenario, played, n, samples) for n in SIZES}
    lines = [
        [metric.title, *(" / ".join(map(_percent, by_size[n][metric.name])) for n in SIZES)]
        for metric in SHOWN
    ]
    return table(["%, by workloads", *map(str, SIZES)], lines, right=len(SIZES))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if np.isfinite(share) else "–"


def main() -> None:
    """Play, measure, and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenario", default="paper")
    parser.add_argument("--population", type=int, default=10_000, help="workloads played")
    parser.add_argument("--samples", type=int, default=400, help="samples of each size")
    parser.add_argument("--write", action="store_true", help="into docs/fidelity.md")
    options = parser.parse_args()
    text = markdown(options.scenario, options.population, options.samples)
    said = (
        f"{options.samples} samples of each size out of {options.population} workloads of scenario "
        f"`{options.scenario}`: `python -m docs.generate.coverage --population "
        f"{options.population} --samples {options.samples} --write`.\n\n"
    )
    if options.write:
        PAGE.write_text(with_section(PAGE.read_text(), "coverage", said + text))
    else:
        print(said + text)


if __name__ == "__main__":
    run(main)
