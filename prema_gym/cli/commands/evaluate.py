"""`prema-gym evaluate`: the same workloads under every policy named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.distributing import BackendOption, ResumeOption, Workers, WorkersOption, one_of
from prema_gym.cli.naming import make_policies
from prema_gym.cli.options import (
    FormatOption,
    FromOption,
    LimitOption,
    OnHardwareOption,
    ScenarioOption,
    SetOption,
    SpeedOption,
    read_kinds,
    read_scenario,
    read_workloads,
)
from prema_gym.cli.printing import Format, console, print_result, progress
from prema_gym.cli.streams import refuse_for_streams, show_streams, stream_settings
from prema_gym.errors import ConfigError
from prema_gym.files import check_folder, write_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prema_gym.evaluation.results import Evaluation
    from prema_gym.workloads import Scenario

# What is compared unless told otherwise: the paper's set, in the order of its argument, the floor
# under every comparison, and the learned scheduler that ships.
DEFAULT_POLICIES = (
    "np-fcfs,np-hpf,np-sjf,np-token,np-prema,static-rrb,static-hpf,static-sjf,static-token,"
    "static-prema,dynamic-sjf,dynamic-prema,kill-sjf,kill-prema,random,learned"
)

MANY_QUANTA = 100_000
"""Quanta of a workload above which a comparison takes minutes, of which the user is told."""

Policies = Annotated[
    str,
    typer.Option(
        help="Names from `prema-gym policies`, separated by commas, or `all`; parameters "
        "follow a colon (dysta:beta=0.05); path:FOLDER is a training run, FILE.py:NAME a "
        "policy of your own."
    ),
]
Workloads = Annotated[
    int | None,
    typer.Option(
        help="Workloads to draw and play (the paper: 25); of a scenario with long runs: runs.",
        show_default="200; 2 runs",
    ),
]
Seed = Annotated[
    int,
    typer.Option(help="Workload i is drawn from seed + i; repeats need seeds further apart."),
]
Given = Annotated[
    list[Path] | None,
    typer.Option(
        help="Play this workload file in place of drawn workloads; may be given repeatedly.",
        show_default=False,
    ),
]
RelativeTo = Annotated[
    str, typer.Option(help="Policy that ratios compare with; played too if not listed.")
]
Output = Annotated[
    Path | None, typer.Option(help="Folder for evaluation.json and .csv, made if absent.")
]
PerWorkload = Annotated[
    bool,
    typer.Option(
        "--per-workload",
        help="Each workload's values: added to JSON and to --output, in place of means in CSV.",
    ),
]
PerTask = Annotated[
    bool,
    typer.Option(
        "--per-task",
        help="Each task of each policy: tasks.csv in --output, and tasks.parquet with the extra "
        "`frames`.",
    ),
]
Estimate = Annotated[
    str,
    typer.Option(
        help="What policies are shown as isolated times: algorithm1, calibrated (the same, "
        "corrected for each network and batch size) or oracle (true times)."
    ),
]
Oracle = Annotated[bool, typer.Option("--oracle", help="The same as --estimate oracle.")]
Slots = Annotated[int, typer.Option(help="Rows of the context table.")]
TokenWait = Annotated[
    str, typer.Option(help="Which wait earns tokens: since_wakeup, total or since_run.")
]
StickyDrain = Annotated[
    bool, typer.Option("--sticky-drain", help="A drain, once chosen, lasts to the task's end.")
]
MaxDecisions = Annotated[
    int | None,
    typer.Option(
        help="Cut a workload off after so many decisions; default: far more than it can need.",
    ),
]
Bounds = Annotated[
    bool, typer.Option("--bounds", help="Add the clairvoyant optimum, and each one's regret.")
]
By = Annotated[
    str,
    typer.Option(
        help="Also a table for each of these, separated by commas: network, priority, and stream "
        "for long runs.",
        show_default="stream for long runs",
    ),
]
Threads = Annotated[int | None, typer.Option(help="The same as --workers.", show_default=False)]


def evaluate(
    policies: Policies = DEFAULT_POLICIES,
    scenario: ScenarioOption = "paper",
    hardware: OnHardwareOption = None,
    set: SetOption = None,
    start: FromOption = None,
    limit: LimitOption = None,
    speed: SpeedOption = None,
    workloads: Workloads = None,
    seed: Seed = 0,
    workload: Given = None,
    relative_to: RelativeTo = "np-fcfs",
    format: FormatOption = Format.table,
    output: Output = None,
    per_workload: PerWorkload = False,
    per_task: PerTask = False,
    estimate: Estimate = "algorithm1",
    oracle: Oracle = False,
    slots: Slots = 16,
    token_wait: TokenWait = "since_wakeup",
    sticky_drain: StickyDrain = False,
    max_decisions: MaxDecisions = None,
    bounds: Bounds = False,
    by: By = "",
    threads: Threads = None,
    workers: WorkersOption = None,
    backend: BackendOption = "threads",
    resume: ResumeOption = None,
) -> None:
    """Play policies on the same workloads; print metrics with intervals, and ratios."""
    from prema_gym.evaluation.compare import evaluate as run
    from prema_gym.simulator import SchedulerOptions, one_estimate

    _check_output(output, format, per_workload, per_task)
    who = Workers(workers=one_of(workers, threads), backend=backend, resume=resume)
    chosen = make_policies(policies, relative_to)
    drawn_from = read_scenario(scenario, set, hardware=hardware, replay=(start, limit, speed))
    shown = one_estimate(estimate, oracle)
    options = SchedulerOptions(token_wait=token_wait, sticky_drain=sticky_drain)
    if drawn_from.is_stream:
        refuse_for_streams({"--workload": workload, "--per-workload": per_workload})
        refuse_for_streams({"--per-task": per_task})
        refuse_for_streams({"--max-decisions": max_decisions, "--bounds": bounds})
        long = stream_settings(workloads, seed, estimate=shown, slots=slots, options=options)
        show_streams(drawn_from, chosen, long, by, format, output, who)
        return
    _warn_of_minutes(drawn_from)
    kinds = read_kinds(by, ("network", "priority"))
    given = read_workloads(workload, drawn_from)
    first = None if given is not None else seed
    with progress() as progress_bar, who.player(first) as player:
        result = run(
            drawn_from, chosen, workloads=workloads, seed=seed, workload=given,
            relative_to=relative_to, estimate=shown, slots=slots, options=options,
            per_workload=per_workload, per_task=per_task, max_decisions=max_decisions,
            bounds=bounds, threads=who.workers, progress=progress_bar, player=player,
        )  # fmt: skip
    _show(result, format, kinds, output, per_task)


def _check_output(output: Path | None, format: Format, per_workload: bool, per_task: bool) -> None:
    """Say before anything is played that what was asked for has no place to go."""
    if per_workload and format is Format.table and output is None:
        raise ConfigError("--per-workload shows nothing in a table: add --format or --output DIR")
    if per_task and output is None:
        raise ConfigError("--per-task is written to a folder: add --output DIR")
    if output is not None:
        check_folder(output)


def _show(
    result: Evaluation, format: Format, kinds: Sequence[str], output: Path | None, per_task: bool
) -> None:
    """Print a comparison with its notes, and write its files."""
    from prema_gym.views import comparison, records, tables

    print_result(
        format,
        tables=lambda: tables.evaluation_tables(result, width=console().width, by=kinds),
        data=result.to_dict,
        rows=lambda: records.per_workload_records(result) or records.evaluation_records(result),
    )
    legend = comparison.legend(result) if format is Format.table else []
    for note in (*comparison.notes(result), *legend):
        print(note, file=sys.stderr)
    if output is not None:
        written = write_files(output, records.evaluation_files(result))
        for path in written + (records.write_tasks(output, result) if per_task else []):
            print(f"wrote {path}", file=sys.stderr)


def _warn_of_minutes(scenario: Scenario) -> None:
    """Say so before a comparison that takes minutes because its tasks take so many quanta."""
    from prema_gym.workloads import compile_scenario
    from prema_gym.workloads.accuracy import expected_quanta

    quanta = expected_quanta(compile_scenario(scenario))
    if quanta > MANY_QUANTA:
        print(
            f"a workload takes about {quanta:.0f} quanta: expect minutes for each policy, or give "
            "the scenario a longer quantum_ms",
            file=sys.stderr,
        )
