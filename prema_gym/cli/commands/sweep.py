"""`prema-gym sweep`: up to what load does each policy keep its promise?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.commands.evaluate import Estimate, Threads
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
    read_over,
    read_slo,
    run_sweep,
)
from prema_gym.files import write_files

if TYPE_CHECKING:
    from prema_gym.evaluation.sweep import Sweep

SWEPT = "np-fcfs,np-sjf,static-hpf,static-edf,static-srpt,static-rrb,static-prema,dynamic-prema"


def sweep(
    scenario: ScenarioOption = "paper",
    policies: Annotated[str, typer.Option(help="As for `prema-gym evaluate`.")] = SWEPT,
    load: LoadOption = "0.1:1.2:0.1",
    slo: SloOption = "p99",
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=A,B,…", help="Also over the values of a scenario's key."),
    ] = None,
    set: SetOption = None,
    start: FromOption = None,
    limit: LimitOption = None,
    requests: RequestsOption = None,
    runs: RunsOption = 1,
    seed: Annotated[int, typer.Option(help="Run i is drawn from seed + i.")] = 0,
    slots: Annotated[int, typer.Option(help="Rows of the context table.")] = 16,
    estimate: Estimate = "algorithm1",
    format: FormatOption = Format.table,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for sweep.json and .csv; a sweep that stopped goes on there."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Draw the promised percentile over the load into this file (extra: plot)."
        ),
    ] = None,
    threads: Threads = None,
    workers: WorkersOption = None,
    backend: BackendOption = "threads",
) -> None:
    """Play long runs at many loads; print where each policy breaks its promise."""
    from prema_gym.simulator import SchedulerOptions
    from prema_gym.views.plotting import check_picture

    if picture is not None:
        check_picture(picture)
    who = Workers(workers=one_of(workers, threads), backend=backend)
    names = make_policies(policies, policies.split(",")[0])
    options = SchedulerOptions()
    settings = stream_settings(runs, seed, estimate=estimate, slots=slots, options=options)
    drawn_from = read_scenario(
        scenario,
        set,
        requests=requests,
        stream=True,
        replay=(start, limit, None),
    )
    loads, promised, values = read_loads(load), read_slo(slo), read_over(over or [])
    found = run_sweep(drawn_from, names, loads, promised, values, settings, output, who)
    _show(found, format, output, picture)


def _show(found: Sweep, format: Format, output: Path | None, picture: Path | None) -> None:
    """Print a sweep, and write its files and picture."""
    from prema_gym.views import plotting, records
    from prema_gym.views import sweep as views
    from prema_gym.views.tables import to_tables

    print_result(
        format,
        tables=lambda: [
            *to_tables(views.rows(found), width=console().width, naming=views.num_naming(found)),
            *to_tables(
                views.breaking_rows(found), "Where the promise breaks first", console().width
            ),
        ],
        data=found.to_dict,
        rows=lambda: views.records(found),
    )
    if format is Format.table:
        print(views.LEGEND, file=sys.stderr)
    if output is not None:
        files = {
            "sweep.json": records.to_json(found.to_dict()),
            "sweep.csv": records.to_csv(views.records(found)),
        }
        for path in write_files(output, files):
            print(f"wrote {path}", file=sys.stderr)
    if picture is not None:
        plotting.write_picture(picture, views.picture(found))
        print(f"wrote {picture}", file=sys.stderr)
