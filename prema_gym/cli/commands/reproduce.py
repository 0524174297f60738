"""`prema-gym reproduce`: the paper's claims beside what we measure."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from prema_gym.cli.distributing import BackendOption, ResumeOption, Workers, WorkersOption
from prema_gym.cli.options import FormatOption, OnHardwareOption, ScenarioOption, read_scenario
from prema_gym.cli.printing import Format, console, print_result, progress

Only = Annotated[
    str | None, typer.Option(help="Names of claims, separated by commas; default: all.")
]
Workloads = Annotated[int, typer.Option(help="Workloads to play.")]
Seed = Annotated[int, typer.Option(help="Workload i is drawn from seed + i.")]


def reproduce(
    only: Only = None,
    scenario: ScenarioOption = "paper",
    hardware: OnHardwareOption = None,
    workloads: Workloads = 200,
    seed: Seed = 0,
    format: FormatOption = Format.table,
    workers: WorkersOption = None,
    backend: BackendOption = "threads",
    resume: ResumeOption = None,
) -> None:
    """Print each claim of the paper beside what we measure, and the command for it alone."""
    from prema_gym import baselines
    from prema_gym.distribution.recipes import Recipe
    from prema_gym.evaluation.claims import reproduce as run
    from prema_gym.views import records, tables

    drawn_from = read_scenario(scenario, hardware=hardware)
    who = Workers(workers=workers, backend=backend, resume=resume)
    with progress() as bar, who.player(seed, lambda name: Recipe(baselines.make, name)) as player:
        result = run(
            baselines.make,
            scenario=drawn_from,
            scenario_argument=scenario,
            hardware_argument=hardware,
            only=None if only is None else only.split(","),
            workloads=workloads,
            seed=seed,
            threads=workers,
            progress=bar,
            player=player,
        )
    print_result(
        format,
        tables=lambda: tables.reproduction_tables(result, width=console().width),
        data=result.to_dict,
        rows=lambda: records.reproduction_records(result),
    )
    for note in tables.reproduction_notes(result) if format is Format.table else ():
        print(note, file=sys.stderr)
