"""What does the paper report, and how do we measure the same? One table of claims.

PREMA means its token policy with NPU preemption by checkpoint or drain (``dynamic-prema``). Source:
fidelity.md, "What must come out".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from prema_gym.baselines.registry import PREMA
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.concurrent import Player, Progress, play_all
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.results import MetricValue, PolicyResult
from prema_gym.evaluation.settings import BASELINE
from prema_gym.hardware.area import PAPER_AREA_MM2, context_table_area
from prema_gym.workloads.accuracy import estimate_accuracy
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What we measured; ``ci95`` is NaN where nothing was sampled."""

    value: float
    ci95: tuple[float, float] = (math.nan, math.nan)


class Bench:
    """Compares pairs of policies, each pair once."""

    def __init__(
        self,
        make: Callable[[str], Decider],
        scenario: Scenario,
        *,
        workloads: int,
        seed: int,
        threads: int | None,
        progress: Progress | None,
        player: Player = play_all,
    ) -> None:
        self.scenario = scenario
        self._make = make
        self._workloads = workloads
        self._seed = seed
        self._threads = threads
        self._progress = progress
        self._player = player
        self._played: dict[tuple[str, str, Scenario], dict[str, PolicyResult]] = {}

    def pair(
        self, policy: str, base: str, scenario: Scenario | None = None
    ) -> dict[str, PolicyResult]:
        """Both policies, with ratios to ``base``."""
        where = self.scenario if scenario is None else scenario
        key = policy, base, where
        if key not in self._played:
            policies = {name: self._make(name) for name in (base, policy)}
            found = evaluate(
                where,
                policies,
                relative_to=base,
                workloads=self._workloads,
                seed=self._seed,
                threads=self._threads,
                progress=self._progress,
                player=self._player,
            )
            self._played[key] = found.policies
        return self._played[key]


def _times_better(metric: str) -> Callable[[Bench], Figure]:
    """How many times better PREMA is than the baseline."""

    def measure(bench: Bench) -> Figure:
        found = bench.pair(PREMA, BASELINE)[PREMA].metrics[metric]
        return Figure(value=found.ratio, ci95=found.ratio_ci95)

    return measure


def percent_better(value: MetricValue) -> Figure:
    """A ratio as percent better."""
    low, high = ((end - 1.0) * 100.0 for end in value.ratio_ci95)
    return Figure(value=(value.ratio - 1.0) * 100.0, ci95=(low, high))


def _checkpoint_over_kill(metric: str) -> Callable[[Bench], Figure]:
    """How many percent better PREMA is with CHECKPOINT than with KILL."""

    def measure(bench: Bench) -> Figure:
        both = bench.pair("static-prema", "kill-prema")
        return percent_better(both["static-prema"].metrics[metric])

    return measure


def _correlation(bench: Bench) -> Figure:
    """Exact over all tasks the scenario can draw: nothing is sampled."""
    found = estimate_accuracy(compile_scenario(bench.scenario)).correlation
    return Figure(value=math.nan if found is None else found * 100.0)


class Claim(NamedTuple):
    """One figure of the paper.

    Attributes:
        name: Short name, for choosing it.
        statement: What is claimed.
        paper: The paper's figure.
        unit: Its unit; of a comparison, "×" is how many times better and "%" percent better.
        measure: Measures ours.
        note: What a reader should know beside the figure.
    """

    name: str
    statement: str
    paper: float
    unit: str
    measure: Callable[[Bench], Figure]
    note: str = ""


_AREA = context_table_area()
_CONDITIONS = "depends on how long tasks keep arriving: see the conditions"

CLAIMS: tuple[Claim, ...] = (
    Claim("antt", "PREMA over NP-FCFS: ANTT", 7.8, "×", _times_better("antt")),
    Claim("stp", "PREMA over NP-FCFS: STP", 1.4, "×", _times_better("stp")),
    Claim("fairness", "PREMA over NP-FCFS: fairness", 19.6, "×", _times_better("fairness")),
    Claim("sla", "PREMA over NP-FCFS: SLA viol.", 4.8, "×", _times_better("sla_violation")),
    Claim(
        "checkpoint-antt",
        "CHECKPOINT over KILL: ANTT",
        87.0,
        "%",
        _checkpoint_over_kill("antt"),
        _CONDITIONS,
    ),
    Claim(
        "checkpoint-stp",
        "CHECKPOINT over KILL: STP",
        24.0,
        "%",
        _checkpoint_over_kill("stp"),
        _CONDITIONS,
    ),
    Claim(
        "checkpoint-fairness",
        "CHECKPOINT over KILL: fairness",
        77.0,
        "%",
        _checkpoint_over_kill("fairness"),
        _CONDITIONS,
    ),
    Claim("estimate", "estimate and truth: correlation", 98.0, "%", _correlation),
    Claim(
        "context-table",
        "context table, 16 tasks, 32 nm",
        PAPER_AREA_MM2,
        "mm²",
        lambda bench: Figure(value=_AREA.flip_flop_mm2),
        f"as flip-flops; {_AREA.sram_mm2:.2g} mm² as SRAM",
    ),
    Claim(
        "energy",
        "energy efficiency ∝ throughput",
        1.0,
        "×",
        # (gain in STP per joule) / (gain in STP) is how many times less energy is taken.
        _times_better("energy_mj"),
        "gain in STP per joule ÷ gain in STP; 1 is exact proportion",
    ),
)


def claim_names() -> tuple[str, ...]:
    """Names of all claims, in the order of the report."""
    return tuple(claim.name for claim in CLAIMS)
