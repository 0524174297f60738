"""`prema-gym tradeoff`: what fairness can be had at which ANTT, and how near do policies come?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from prema_gym.cli.commands.evaluate import Estimate, Policies, Seed, Threads, Workloads
from prema_gym.cli.distributing import BackendOption, ResumeOption, Workers, WorkersOption, one_of
from prema_gym.cli.naming import make_policies
from prema_gym.cli.options import FormatOption, ScenarioOption, read_scenario
from prema_gym.cli.printing import Format, print_rows, progress

Antt = Annotated[
    float | None,
    typer.Option(help="Also answer: what fairness can be had at this ANTT, and who is nearest?"),
]
Picture = Annotated[
    Path | None, typer.Option(help="Draw the front with every policy into this file (.png, .svg).")
]


def tradeoff(
    policies: Policies = "np-sjf,static-sjf,static-least-er,static-wspt,static-prema,dynamic-prema",
    scenario: ScenarioOption = "paper",
    workloads: Workloads = None,
    seed: Seed = 0,
    estimate: Estimate = "algorithm1",
    antt: Antt = None,
    picture: Picture = None,
    format: FormatOption = Format.table,
    threads: Threads = None,
    workers: WorkersOption = None,
    backend: BackendOption = "threads",
    resume: ResumeOption = None,
) -> None:
    """Put policies beside the exact front of ANTT and fairness, which no schedule gets beyond.

    Every workload may have at most 12 tasks. JSON and CSV hold the points of the front too.
    """
    from prema_gym.evaluation.compare import evaluate
    from prema_gym.evaluation.settings import DEFAULT_WORKLOADS
    from prema_gym.evaluation.tradeoff import tradeoff as compare
    from prema_gym.views import tradeoff as views
    from prema_gym.workloads import compile_scenario, sample_batch

    who = Workers(workers=one_of(workers, threads), backend=backend, resume=resume)
    chosen = make_policies(policies, policies.partition(",")[0])
    drawn_from = read_scenario(scenario)
    count = DEFAULT_WORKLOADS if workloads is None else workloads
    with progress() as bar, who.player(seed) as player:
        result = evaluate(
            drawn_from,
            chosen,
            workloads=count,
            seed=seed,
            relative_to=next(iter(chosen)),
            estimate=estimate,
            threads=who.workers,
            progress=bar,
            player=player,
        )
    batch = sample_batch(compile_scenario(drawn_from), range(seed, seed + count))
    found = compare(result, batch, threads=who.workers)
    rows = views.policy_rows(found)
    print_rows(rows if format is Format.table else rows + views.front_rows(found), format)
    if antt is not None:
        print(views.answer(found, antt), file=sys.stderr if format is not Format.table else None)
    if picture is not None:
        views.draw(found, picture)
        print(f"wrote {picture}", file=sys.stderr)
