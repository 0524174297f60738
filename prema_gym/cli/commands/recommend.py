"""`prema-gym recommend`: which policy should serve this traffic?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prema_gym.cli.commands.evaluate import Threads
from prema_gym.cli.commands.sweep import SWEPT
from prema_gym.cli.distributing import BackendOption, Workers, WorkersOption, one_of
from prema_gym.cli.naming import make_policies
from prema_gym.cli.options import (
    FormatOption,
    FromOption,
    LimitOption,
    ScenarioOption,
    SetOption,
    read_scenario,
)
from prema_gym.cli.printing import Format, console, print_result
from prema_gym.cli.streams import stream_settings
from prema_gym.cli.sweeping import (
    LoadOption,
    RequestsOption,
    RunsOption,
    SloOption,
    read_loads,
    read_slo,
    run_sweep,
)


def recommend(
    scenario: ScenarioOption = "paper",
    slo: SloOption = "p99",
    policies: Annotated[str, typer.Option(help="Among these, as for `evaluate`.")] = SWEPT,
    relative_to: Annotated[str, typer.Option(help="Compared with this one.")] = "np-fcfs",
    load: LoadOption = "0.1:1.0:0.1",
    set: SetOption = None,
    start: FromOption = None,
    limit: LimitOption = None,
    requests: RequestsOption = None,
    runs: RunsOption = 1,
    seed: Annotated[int, typer.Option(help="Run i is drawn from seed + i.")] = 0,
    slots: Annotated[int, typer.Option(help="Rows of the context table.")] = 16,
    format: FormatOption = Format.table,
    output: Annotated[
        Path | None, typer.Option(help="Folder in which a sweep that stopped goes on.")
    ] = None,
    threads: Threads = None,
    workers: WorkersOption = None,
    backend: BackendOption = "threads",
) -> None:
    """Sweep over loads, and say in a few lines which policy to take, why, and what it costs."""
    from prema_gym.simulator import SchedulerOptions
    from prema_gym.views import sweep as views
    from prema_gym.views.advice import advice
    from prema_gym.views.tables import to_tables

    names = make_policies(policies, relative_to)
    settings = stream_settings(
        runs, seed, estimate="algorithm1", slots=slots, options=SchedulerOptions()
    )
    drawn_from = read_scenario(
        scenario,
        set,
        requests=requests,
        stream=True,
        replay=(start, limit, None),
    )
    promised = read_slo(slo)
    loads = read_loads(load)
    who = Workers(workers=one_of(workers, threads), backend=backend)
    found = run_sweep(drawn_from, names, loads, promised, [{}], settings, output, who)
    lines = advice(found, relative_to)
    print_result(
        format,
        tables=lambda: to_tables(views.breaking_rows(found), width=console().width),
        data=lambda: {"advice": lines} | found.to_dict(),
        rows=lambda: views.breaking_rows(found),
    )
    if format is Format.table:
        print("\n".join(lines))
