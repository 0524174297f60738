"""`prema-gym figures`: the paper's comparisons and ours, drawn, with the numbers beside them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prema_gym.cli.naming import make_policies
from prema_gym.cli.options import ScenarioOption, read_scenario
from prema_gym.cli.printing import progress
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.files import check_folder, write_atomically, write_text

if TYPE_CHECKING:
    from prema_gym.evaluation.policy import Decider
    from prema_gym.evaluation.results import Evaluation
    from prema_gym.workloads import Scenario

DEFAULT_POLICIES = (
    "np-fcfs,np-prema,static-hpf,static-sjf,kill-sjf,kill-prema,static-prema,dynamic-prema,learned"
)
LOADS = (0.25, 0.5, 1.0, 2.0, 4.0)
FORMATS = ("png", "svg", "pdf")

Output = Annotated[Path, typer.Option(help="Folder for the figures and their CSV, made if absent.")]
Policies = Annotated[str, typer.Option(help="As for `prema-gym evaluate`.")]
Workloads = Annotated[int, typer.Option(help="Workloads to draw and play.", min=2)]
Seed = Annotated[int, typer.Option(help="Workload i is drawn from seed + i.", min=0)]
Only = Annotated[
    str | None, typer.Option(help="Names of figures, by commas; default: all.", show_default=False)
]
Run = Annotated[
    list[Path] | None,
    typer.Option(
        help="A training run for the learning curves; may be repeated.", show_default=False
    ),
]
FormatOption = Annotated[str, typer.Option("--format", help="png, svg or pdf.")]
Column = Annotated[
    bool, typer.Option("--column", help="In the width of a paper's column, without titles.")
]
NoSweep = Annotated[bool, typer.Option("--no-sweep", help="Leave out the sweep over loads.")]


def figures(
    output: Output,
    policies: Policies = DEFAULT_POLICIES,
    scenario: ScenarioOption = "paper",
    workloads: Workloads = 100,
    seed: Seed = 0,
    only: Only = None,
    run: Run = None,
    format: FormatOption = "png",
    column: Column = False,
    no_sweep: NoSweep = False,
) -> None:
    """Play policies on the same workloads and draw every figure, its data beside it as CSV."""
    from prema_gym.views.figures import CHARTS, Study, draw_chart
    from prema_gym.views.listings import preemption_rows
    from prema_gym.views.plotting import new
    from prema_gym.views.records import to_csv

    if format not in FORMATS:
        raise ConfigError(f"--format must be {', '.join(FORMATS)}, got {format!r}")
    chosen = list(CHARTS) if only is None else [name.strip() for name in only.split(",")]
    for name in chosen:
        if name not in CHARTS:
            raise UnknownNameError("figure", name, CHARTS)
    check_folder(output)
    new("drawing figures", (1.0, 1.0), 100)  # says before the work that Matplotlib is missing
    made = make_policies(policies, policies.split(",")[0].strip())
    drawn_from = read_scenario(scenario)
    study = Study(
        main=_compare(drawn_from, made, workloads, seed, full=True),
        sweep={}
        if no_sweep or "load-sweep" not in chosen
        else _sweep(drawn_from, made, workloads, seed),
        preemption=preemption_rows(drawn_from.hardware, drawn_from.networks),
        runs=_runs(run or ()),
    )
    output.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        chart = CHARTS[name]
        records = chart.records(study)
        if not records:
            print(f"{name} is left out: it needs {chart.needs}", file=sys.stderr)
            continue
        drawn = draw_chart(chart, records, wide=not column)
        try:
            write_atomically(output / f"{name}.{format}", drawn.savefig)
        except OSError as error:
            raise ConfigError(f"cannot write to {output}: {error.strerror or error}") from error
        write_text(output / f"{name}.csv", to_csv(records))
        print(f"wrote {output / name}.{format} and .csv")


def _compare(
    scenario: Scenario, policies: dict[str, Decider], workloads: int, seed: int, *, full: bool
) -> Evaluation:
    from prema_gym.bounds import MAX_TASKS
    from prema_gym.evaluation.compare import evaluate

    with progress() as bar:
        return evaluate(
            scenario, policies, workloads=workloads, seed=seed, relative_to=next(iter(policies)),
            per_workload=full, per_task=full, bounds=full and scenario.num_tasks <= MAX_TASKS,
            progress=bar,
        )  # fmt: skip


def _sweep(
    scenario: Scenario, policies: dict[str, Decider], workloads: int, seed: int
) -> dict[float, Evaluation]:
    """The same comparison with the window of arrivals as wide as each load wants it."""
    from prema_gym.workloads import compile_scenario
    from prema_gym.workloads.accuracy import mean_isolated_ms

    work_ms = scenario.num_tasks * mean_isolated_ms(compile_scenario(scenario))
    sweep = {}
    for load in LOADS:
        at_load = replace(
            scenario, name=f"{scenario.name} at load {load:g}", window_ms=work_ms / load,
            trace_speed=None,
        )  # fmt: skip
        sweep[load] = _compare(at_load, policies, workloads, seed, full=False)
    return sweep


def _runs(folders: list[Path] | tuple[Path, ...]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Evaluations of training runs, by their algorithm and folder."""
    from prema_gym.agents.training.run_folder import RunFolder

    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in folders:
        folder, settings = RunFolder.open(path)
        rows = folder.rows()
        if not rows:
            raise ConfigError(f"{path} has no evaluations to draw")
        found[settings.algo, str(path)] = list(rows)
    return found
