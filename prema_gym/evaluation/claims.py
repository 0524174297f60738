"""Does the simulator show what the paper reports? Every claim beside our measurement of it.

Nothing here is adjusted to the claims: each is measured on the given scenario with default options,
and what is off by more than a quarter is marked. PREMA means its token policy with NPU preemption
by checkpoint or drain (``dynamic-prema``). The conditions behind the paper's figures for CHECKPOINT
over KILL are not public, so that comparison is repeated with other orderings and with arrivals that
keep coming. Policies are made by a function that is passed in. Source of the claims: fidelity.md,
"What must come out".
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from prema_gym.baselines import PREMA
from prema_gym.errors import UnknownNameError
from prema_gym.evaluation.compare import (
    DEFAULT_WORKLOADS,
    Decider,
    Estimate,
    PolicyResult,
    Progress,
    evaluate,
    versions,
)
from prema_gym.hardware.area import PAPER_AREA_MM2, context_table_area
from prema_gym.workloads.accuracy import estimate_accuracy, mean_isolated_ms
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenarios import get as get_scenario

TOLERANCE = 0.25
"""A claim is marked where ours differs from the paper's figure by more than this share of it."""

BASELINE = "np-fcfs"
ORDERINGS: tuple[str, ...] = ("prema", "token", "hpf", "sjf")
"""Orderings that exist with CHECKPOINT (``static-…``) and with KILL (``kill-…``)."""

SUSTAINED_TASKS: tuple[int, ...] = (8, 32)
"""Tasks in the workloads that keep coming: the paper's number, and four times it, since a longer
run gives a long task more occasions to be killed."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What we measured; ``ci95`` is NaN where nothing was sampled."""

    value: float
    ci95: tuple[float, float] = (math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class Claim:
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
    measure: Callable[[_Bench], Figure]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """A claim beside our measurement.

    Attributes:
        name: The claim's name.
        statement: What is claimed.
        unit: Unit of ``paper``, ``ours`` and ``ci95``.
        paper: The paper's figure.
        ours: Our figure.
        ci95: Ends of its 95 % interval, NaN where nothing was sampled.
        ratio: ours / paper.
        off: Whether ours differs by more than :data:`TOLERANCE`.
        note: The claim's note.
        command: Shows this claim alone.
    """

    name: str
    statement: str
    unit: str
    paper: float
    ours: float
    ci95: tuple[float, float]
    ratio: float
    off: bool
    note: str
    command: str


@dataclass(frozen=True, kw_only=True)
class Condition:
    """How much better CHECKPOINT is than KILL under one ordering and arrival pattern [%]."""

    scenario: str
    tasks: int
    window_ms: float
    ordering: str
    kills_per_task: float
    antt: Figure
    stp: Figure
    fairness: Figure


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """All claims asked for, and where CHECKPOINT over KILL was among them, its conditions."""

    scenario: str
    seed: int
    workloads: int
    versions: dict[str, str]
    claims: tuple[ClaimResult, ...]
    conditions: tuple[Condition, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data, the layout of the JSON report; may hold NaN."""
        return asdict(self)


class _Bench:
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
    ) -> None:
        self.scenario = scenario
        self._make = make
        self._workloads = workloads
        self._seed = seed
        self._threads = threads
        self._progress = progress
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
            )
            self._played[key] = found.policies
        return self._played[key]


def _times_better(metric: str) -> Callable[[_Bench], Figure]:
    """How many times better PREMA is than the baseline."""

    def measure(bench: _Bench) -> Figure:
        found = bench.pair(PREMA, BASELINE)[PREMA].metrics[metric]
        return Figure(value=found.ratio, ci95=found.ratio_ci95)

    return measure


def _percent(estimate: Estimate) -> Figure:
    """A ratio as percent better."""
    low, high = ((end - 1.0) * 100.0 for end in estimate.ratio_ci95)
    return Figure(value=(estimate.ratio - 1.0) * 100.0, ci95=(low, high))


def _checkpoint_over_kill(metric: str) -> Callable[[_Bench], Figure]:
    """How many percent better PREMA is with CHECKPOINT than with KILL."""

    def measure(bench: _Bench) -> Figure:
        both = bench.pair("static-prema", "kill-prema")
        return _percent(both["static-prema"].metrics[metric])

    return measure


def _correlation(bench: _Bench) -> Figure:
    """Exact over all tasks the scenario can draw: nothing is sampled."""
    found = estimate_accuracy(compile_scenario(bench.scenario)).correlation
    return Figure(value=math.nan if found is None else found * 100.0)


_AREA = context_table_area()


_CONDITIONS = "depends on how long tasks keep arriving: see the conditions"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="antt",
        statement="PREMA over NP-FCFS: ANTT",
        paper=7.8,
        unit="×",
        measure=_times_better("antt"),
    ),
    Claim(
        name="stp",
        statement="PREMA over NP-FCFS: STP",
        paper=1.4,
        unit="×",
        measure=_times_better("stp"),
    ),
    Claim(
        name="fairness",
        statement="PREMA over NP-FCFS: fairness",
        paper=19.6,
        unit="×",
        measure=_times_better("fairness"),
    ),
    Claim(
        name="sla",
        statement="PREMA over NP-FCFS: SLA viol.",
        paper=4.8,
        unit="×",
        measure=_times_better("sla_violation"),
    ),
    Claim(
        name="checkpoint-antt",
        statement="CHECKPOINT over KILL: ANTT",
        paper=87.0,
        unit="%",
        measure=_checkpoint_over_kill("antt"),
        note=_CONDITIONS,
    ),
    Claim(
        name="checkpoint-stp",
        statement="CHECKPOINT over KILL: STP",
        paper=24.0,
        unit="%",
        measure=_checkpoint_over_kill("stp"),
        note=_CONDITIONS,
    ),
    Claim(
        name="checkpoint-fairness",
        statement="CHECKPOINT over KILL: fairness",
        paper=77.0,
        unit="%",
        measure=_checkpoint_over_kill("fairness"),
        note=_CONDITIONS,
    ),
    Claim(
        name="estimate",
        statement="estimate and truth: correlation",
        paper=98.0,
        unit="%",
        measure=_correlation,
    ),
    Claim(
        name="context-table",
        statement="context table, 16 tasks, 32 nm",
        paper=PAPER_AREA_MM2,
        unit="mm²",
        measure=lambda bench: Figure(value=_AREA.flip_flop_mm2),
        note=f"as flip-flops; {_AREA.sram_mm2:.2g} mm² as SRAM",
    ),
    Claim(
        name="energy",
        statement="energy efficiency ∝ throughput",
        paper=1.0,
        unit="×",
        # (gain in STP per joule) / (gain in STP) is how many times less energy is taken.
        measure=_times_better("energy_mj"),
        note="gain in STP per joule ÷ gain in STP; 1 is exact proportion",
    ),
)


def claim_names() -> tuple[str, ...]:
    """Names of all claims, in the order of the report."""
    return tuple(claim.name for claim in CLAIMS)


def reproduce(
    make: Callable[[str], Decider],
    *,
    scenario: Scenario | None = None,
    scenario_argument: str | None = None,
    workloads: int = DEFAULT_WORKLOADS,
    seed: int = 0,
    only: Iterable[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Measure the paper's claims.

    Args:
        make: Makes a policy from its name.
        scenario: Where to measure; default: the registered ``paper``.
        scenario_argument: What names it on the command line; default: its name.
        workloads: Workloads of each comparison.
        seed: First workload's seed.
        only: Names of claims; default: all.
        threads: As for :func:`prema_gym.evaluation.compare.evaluate`.
        progress: Likewise; starts anew with each pair of policies, of which the conditions of
            CHECKPOINT over KILL bring a dozen.

    Raises:
        UnknownNameError: ``only`` holds a name that is no claim.
    """
    scenario = get_scenario("paper") if scenario is None else scenario
    chosen = claim_names() if only is None else tuple(only)
    for name in chosen:
        if name not in claim_names():
            raise UnknownNameError("claim", name, claim_names())
    bench = _Bench(
        make, scenario, workloads=workloads, seed=seed, threads=threads, progress=progress
    )
    arguments = f"--workloads {workloads} --seed {seed}"
    named = scenario.name if scenario_argument is None else scenario_argument
    if named != "paper":
        arguments = f"--scenario {shlex.quote(named)} {arguments}"
    claims = tuple(
        _result(claim, claim.measure(bench), f"prema-gym reproduce --only {claim.name} {arguments}")
        for claim in CLAIMS
        if claim.name in chosen
    )
    asks_kill = any(name.startswith("checkpoint-") for name in chosen)
    return Reproduction(
        scenario=scenario.name,
        seed=seed,
        workloads=workloads,
        versions=versions(),
        claims=claims,
        conditions=tuple(_conditions(bench)) if asks_kill else (),
    )


def _result(claim: Claim, figure: Figure, command: str) -> ClaimResult:
    ratio = figure.value / claim.paper
    return ClaimResult(
        name=claim.name,
        statement=claim.statement,
        unit=claim.unit,
        paper=claim.paper,
        ours=figure.value,
        ci95=figure.ci95,
        ratio=ratio,
        off=not abs(ratio - 1.0) <= TOLERANCE,  # NaN is off too
        note=claim.note,
        command=command,
    )


def _conditions(bench: _Bench) -> Iterable[Condition]:
    """CHECKPOINT over KILL as the scenario has it, and with arrivals that keep coming.

    There, tasks arrive over as long a time as the machine needs for them: load 1 on average.
    """
    base = bench.scenario
    mean_ms = mean_isolated_ms(compile_scenario(base))
    sustained = [
        # A trace in real time would pay no heed to the window.
        replace(base, name=f"sustained-{n}", num_tasks=n, window_ms=n * mean_ms, trace_speed=None)
        for n in SUSTAINED_TASKS
    ]
    for scenario in (base, *sustained):
        for ordering in ORDERINGS:
            both = bench.pair(f"static-{ordering}", f"kill-{ordering}", scenario)
            better = both[f"static-{ordering}"].metrics
            kills = both[f"kill-{ordering}"].metrics["kills"].mean
            yield Condition(
                scenario=scenario.name,
                tasks=scenario.num_tasks,
                window_ms=scenario.window_ms,
                ordering=ordering,
                kills_per_task=kills / scenario.num_tasks,
                antt=_percent(better["antt"]),
                stp=_percent(better["stp"]),
                fairness=_percent(better["fairness"]),
            )
