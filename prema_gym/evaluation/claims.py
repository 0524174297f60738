"""Does the simulator show what the paper reports? Every claim beside our measurement of it.

Nothing here is adjusted to the claims: each is measured on the given scenario with default options,
and what is off by more than a quarter is marked. The conditions behind the paper's figures for
CHECKPOINT over KILL are not public, so that comparison is repeated with other orderings and with
arrivals that keep coming. Policies are made by a function that is passed in. The claims themselves
are in ``paper.py``.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from prema_gym.checks import check_keys
from prema_gym.evaluation.concurrent import Player, Progress, play_all
from prema_gym.evaluation.paper import CLAIMS, Bench, Claim, Figure, claim_names, percent_better
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.settings import DEFAULT_WORKLOADS
from prema_gym.evaluation.versions import versions
from prema_gym.hardware.config import WEIGHT_PRELOADS, NPUConfig
from prema_gym.workloads.accuracy import mean_isolated_ms
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenarios import get as get_scenario

TOLERANCE = 0.25
"""A claim is marked where ours differs from the paper's figure by more than this share of it."""

ORDERINGS: tuple[str, ...] = ("prema", "token", "hpf", "sjf")
"""Orderings that exist with CHECKPOINT (``static-…``) and with KILL (``kill-…``)."""

SUSTAINED_TASKS: tuple[int, ...] = (8, 32)
"""Tasks in the workloads that keep coming: the paper's number, and four times it, since a longer
run gives a long task more occasions to be killed."""


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
        other_preload: The same figure as ``ours`` under the other rule of ``weight_preload``.
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
    other_preload: float
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
    weight_preload: str  # the scenario's rule
    versions: dict[str, str]
    claims: tuple[ClaimResult, ...]
    conditions: tuple[Condition, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data, the layout of the JSON report; may hold NaN."""
        return asdict(self)


def reproduce(
    make: Callable[[str], Decider],
    *,
    scenario: Scenario | None = None,
    scenario_argument: str | None = None,
    hardware_argument: str | None = None,
    workloads: int = DEFAULT_WORKLOADS,
    seed: int = 0,
    only: Iterable[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    player: Player = play_all,
) -> Reproduction:
    """Measure the paper's claims.

    Args:
        make: Makes a policy from its name.
        scenario: Where to measure; default: the registered ``paper``.
        scenario_argument: What names it on the command line; default: its name.
        hardware_argument: What names its machine there, if that is another one than its own.
        workloads: Workloads of each comparison.
        seed: First workload's seed.
        only: Names of claims; default: all.
        threads: As for :func:`prema_gym.evaluation.compare.evaluate`.
        progress: Likewise; starts anew with each pair of policies, of which the conditions of
            CHECKPOINT over KILL bring a dozen.
        player: As for :func:`prema_gym.evaluation.compare.evaluate`.

    Raises:
        UnknownNameError: ``only`` holds a name that is no claim.
    """
    scenario = get_scenario("paper") if scenario is None else scenario
    chosen = claim_names() if only is None else tuple(only)
    check_keys(chosen, claim_names(), "", kind="claim")
    how = {"workloads": workloads, "seed": seed, "threads": threads}
    bench, other = (
        Bench(make, one, **how, progress=progress, player=player)  # type: ignore[arg-type]
        for one in (scenario, replace(scenario, hardware=other_preload(scenario.hardware)))
    )
    arguments = f"--workloads {workloads} --seed {seed}"
    named = scenario.name if scenario_argument is None else scenario_argument
    if named != "paper":
        arguments = f"--scenario {shlex.quote(named)} {arguments}"
    if hardware_argument is not None:
        arguments += f" --hardware {shlex.quote(hardware_argument)}"
    claims = tuple(
        _result(claim, bench, other, arguments) for claim in CLAIMS if claim.name in chosen
    )
    asks_kill = any(name.startswith("checkpoint-") for name in chosen)
    return Reproduction(
        scenario=scenario.name,
        seed=seed,
        workloads=workloads,
        weight_preload=scenario.hardware.weight_preload,
        versions=versions(),
        claims=claims,
        conditions=tuple(_conditions(bench)) if asks_kill else (),
    )


def other_preload(hardware: NPUConfig) -> NPUConfig:
    """The same machine under the other rule of ``weight_preload``, which decides the headline."""
    (other,) = set(WEIGHT_PRELOADS) - {hardware.weight_preload}
    return replace(hardware, weight_preload=other)


def _result(claim: Claim, bench: Bench, other: Bench, arguments: str) -> ClaimResult:
    figure = claim.measure(bench)
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
        other_preload=claim.measure(other).value,
        note=claim.note,
        command=f"prema-gym reproduce --only {claim.name} {arguments}",
    )


def _conditions(bench: Bench) -> Iterable[Condition]:
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
                antt=percent_better(better["antt"]),
                stp=percent_better(better["stp"]),
                fairness=percent_better(better["fairness"]),
            )
