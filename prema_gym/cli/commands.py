"""The commands: what each is asked, and which part of the package does it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import prema_gym
from prema_gym.cli.naming import described, make_policies
from prema_gym.cli.printing import FULL_WIDTH, Format, console, print_tables, progress, show
from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.files import check_folder, write_files

if TYPE_CHECKING:
    from prema_gym.evaluation.play import Decider
    from prema_gym.workloads import Scenario, WorkloadBatch

# What `evaluate` compares unless told otherwise: the paper's set, in the order of its argument, the
# floor under every comparison, and the learned scheduler that ships.
DEFAULT_POLICIES = (
    "np-fcfs,np-hpf,np-sjf,np-token,np-prema,static-rrb,static-hpf,static-sjf,static-token,"
    "static-prema,dynamic-sjf,dynamic-prema,kill-sjf,kill-prema,random,learned"
)
app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Schedule DNN tasks on a preemptible NPU: PREMA, classic and learned policies compared.",
)


FormatOption = Annotated[Format, typer.Option(help="How to print the result.")]
ScenarioOption = Annotated[
    str, typer.Option(help="A registered scenario (see `prema-gym scenarios`) or FILE.toml.")
]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"prema-gym {prema_gym.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def evaluate(
    policies: Annotated[
        str,
        typer.Option(
            help="Names from `prema-gym policies`, separated by commas, or `all`; parameters "
            "follow a colon (dysta:beta=0.05); path:FOLDER is a training run, FILE.py:NAME a "
            "policy of your own."
        ),
    ] = DEFAULT_POLICIES,
    scenario: ScenarioOption = "paper",
    workloads: Annotated[
        int | None,
        typer.Option(min=1, help="Workloads to draw and play (the paper: 25).", show_default="200"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Workload i is drawn from seed + i; repeats need seeds further apart."
        ),
    ] = 0,
    workload: Annotated[
        list[Path] | None,
        typer.Option(
            help="Play this workload file in place of drawn workloads; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    relative_to: Annotated[
        str, typer.Option(help="Policy that ratios compare with; played too if not listed.")
    ] = "np-fcfs",
    format: FormatOption = Format.table,
    output: Annotated[
        Path | None, typer.Option(help="Folder for evaluation.json and .csv, made if absent.")
    ] = None,
    per_workload: Annotated[
        bool,
        typer.Option(
            "--per-workload",
            help="Each workload's values: added to JSON and to --output, in place of means in CSV.",
        ),
    ] = False,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Show policies true times in place of estimates.")
    ] = False,
    slots: Annotated[int, typer.Option(min=1, help="Rows of the context table.")] = 16,
    token_wait: Annotated[
        str, typer.Option(help="Which wait earns tokens: since_wakeup, total or since_run.")
    ] = "since_wakeup",
    sticky_drain: Annotated[
        bool, typer.Option("--sticky-drain", help="A drain, once chosen, lasts to the task's end.")
    ] = False,
    max_decisions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Cut a workload off after so many decisions; default: far more than it can need.",
        ),
    ] = None,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Add the clairvoyant optimum, and each one's regret.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Default: one a core.")] = None,
) -> None:
    """Play policies on the same workloads; print metrics with intervals, and ratios."""
    from prema_gym.evaluation.compare import evaluate as run
    from prema_gym.simulator import SchedulerOptions
    from prema_gym.views import records, tables

    if per_workload and format is Format.table and output is None:
        raise ConfigError("--per-workload shows nothing in a table: add --format or --output DIR")
    if output is not None:
        check_folder(output)
    chosen = make_policies(policies, relative_to)
    drawn_from = _scenario(scenario)
    with progress() as progress_bar:
        result = run(
            drawn_from,
            chosen,
            workloads=workloads,
            seed=seed,
            workload=_given_workloads(workload, drawn_from),
            relative_to=relative_to,
            oracle=oracle,
            slots=slots,
            options=SchedulerOptions(token_wait=token_wait, sticky_drain=sticky_drain),
            per_workload=per_workload,
            max_decisions=max_decisions,
            bounds=bounds,
            threads=threads,
            progress=progress_bar,
        )
    if format is Format.table:
        print_tables(tables.evaluation_tables(result, width=console().width))
    elif format is Format.json:
        sys.stdout.write(records.to_json(result.to_dict()))
    else:
        rows = records.per_workload_records(result) or records.evaluation_records(result)
        sys.stdout.write(records.to_csv(rows))
    for note in tables.evaluation_notes(result):
        print(note, file=sys.stderr)
    if output is not None:
        for path in write_files(output, records.evaluation_files(result)):
            print(f"wrote {path}", file=sys.stderr)


@app.command()
def reproduce(
    only: Annotated[
        str, typer.Option(help="Names of claims, separated by commas; default: all.")
    ] = "",
    scenario: ScenarioOption = "paper",
    workloads: Annotated[int, typer.Option(min=1, help="Workloads to play.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Workload i is drawn from seed + i.")] = 0,
    format: FormatOption = Format.table,
) -> None:
    """Print each claim of the paper beside what we measure, and the command for it alone."""
    from prema_gym import baselines
    from prema_gym.evaluation.claims import reproduce as run
    from prema_gym.views import records, tables

    drawn_from = _scenario(scenario)
    with progress() as progress_bar:
        result = run(
            baselines.make,
            scenario=drawn_from,
            scenario_argument=scenario,
            only=only.split(",") if only else None,
            workloads=workloads,
            seed=seed,
            progress=progress_bar,
        )
    if format is Format.table:
        print_tables(tables.reproduction_tables(result))
        for note in tables.reproduction_notes(result):
            print(note, file=sys.stderr)
    elif format is Format.json:
        sys.stdout.write(records.to_json(result.to_dict()))
    else:
        sys.stdout.write(records.to_csv(records.reproduction_records(result)))


@app.command()
def networks(
    network: Annotated[
        list[str] | None,
        typer.Argument(
            help="FILE.csv (SCALE-Sim), FILE.onnx or names; none means all networks with a name.",
            show_default=False,
        ),
    ] = None,
    hardware: Annotated[
        Path | None, typer.Option(help="NPU configuration, FILE.toml; default: the paper's.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse a file with operators that would be skipped."),
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """List networks: layers, MACs, weights, isolated and estimated times at batch 1, 4, 16."""
    from prema_gym.networks.importers import is_file, read_network
    from prema_gym.views.listings import network_rows

    for name in network or () if strict else ():
        if is_file(name):
            read_network(name, strict=True)
    estimates = tuple(f"est b{batch}" for batch in (1, 4, 16))
    too_wide = () if console().width >= FULL_WIDTH else ("layers", "lengths", *estimates)
    rows = network_rows(_hardware(hardware), network or ())
    show(rows, format, leave_out=("source", *too_wide))
    _print_notes(network or ())


@app.command()
def policies(format: FormatOption = Format.table) -> None:
    """List the policies: rule, source, mechanisms, parameters."""
    from prema_gym import baselines
    from prema_gym.views.listings import policy_rows

    show(policy_rows(described(), baselines.as_text), format, leave_out=("mechanisms",))


@app.command()
def scenarios(format: FormatOption = Format.table) -> None:
    """List the registered scenarios."""
    from prema_gym.views.listings import scenario_rows

    show(scenario_rows(), format)


@app.command()
def preemption(
    network: Annotated[
        list[str] | None,
        typer.Argument(help="Networks or files; none means all.", show_default=False),
    ] = None,
    hardware: Annotated[
        Path | None, typer.Option(help="NPU configuration, FILE.toml; default: the paper's.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Tabulate context size and preemption latency over the course of each network."""
    from prema_gym.views.listings import preemption_rows

    show(preemption_rows(_hardware(hardware), network or ()), format)
    _print_notes(network or ())


@app.command()
def export(
    policy: Annotated[
        str, typer.Argument(help="A shipped policy's name, or path:FOLDER of a training run.")
    ],
    format: Annotated[
        str | None,
        typer.Option(help="onnx or torchscript; default: by the ending of --output, else onnx."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File; default: NAME.onnx or NAME.pt in this folder.")
    ] = None,
) -> None:
    """Write a trained network as ONNX or TorchScript, and say how long its decisions take."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("export", "torch", "train") from None
    from prema_gym import agents, baselines
    from prema_gym.agents.policies.export import QUANTUM_US, latencies_us
    from prema_gym.agents.policies.export import export as write
    from prema_gym.agents.policies.learned import LearnedPolicy

    trained = agents.load(policy.removeprefix("path:"))
    if not isinstance(trained, LearnedPolicy):
        raise ConfigError(f"{policy} holds another network than ours: only ours can be exported")
    chosen = _export_format(format, output)
    path = Path(trained.name + EXPORT_ENDINGS.get(chosen, "")) if output is None else output
    write(trained, path, chosen)
    print(f"wrote {path} ({chosen})")
    print("deciding without the exported file, one thread, batch of 1:")
    deciders: dict[str, Decider] = {trained.name: trained}
    deciders[baselines.PREMA] = baselines.make(baselines.PREMA)
    for name, microseconds in latencies_us(deciders).items():
        print(f"one decision of {name}: {microseconds:.0f} µs (quantum: {QUANTUM_US:.0f} µs)")


EXPORT_ENDINGS = {"onnx": ".onnx", "torchscript": ".pt"}


def _export_format(given: str | None, output: Path | None) -> str:
    """The format asked for, or the one that a file's ending says."""
    by_ending = {ending: name for name, ending in EXPORT_ENDINGS.items()}
    ending = "" if output is None else output.suffix
    if given is None:
        if output is not None and ending not in by_ending:
            raise ConfigError(
                f"{output} does not say its format: end it in .onnx or .pt, or give --format"
            )
        return by_ending.get(ending, "onnx")
    if by_ending.get(ending, given) != given and given in EXPORT_ENDINGS:
        raise ConfigError(f"--format {given} and --output {output} disagree: leave one out")
    return given


@app.command()
def warmup() -> None:
    """Compile the kernels now, so that the next command starts at once."""
    from prema_gym import baselines
    from prema_gym.evaluation.compare import evaluate as run
    from prema_gym.workloads import scenarios

    run(scenarios.get("paper"), {"np-fcfs": baselines.make("np-fcfs")}, workloads=1)
    print("kernels are compiled", file=sys.stderr)


def _given_workloads(files: list[Path] | None, scenario: Scenario) -> WorkloadBatch | None:
    """Read workload files for a scenario; None if none is given."""
    from prema_gym.workloads import WorkloadBatch, compile_scenario, load_workload

    if not files:
        return None
    catalog = compile_scenario(scenario)
    return WorkloadBatch.of([load_workload(file, catalog) for file in files])


def _scenario(name_or_path: str) -> Scenario:
    """Look up a scenario, and say what its networks' files left out."""
    from prema_gym.workloads import scenarios

    scenario = scenarios.get(name_or_path)
    _print_notes(scenario.networks)
    return scenario


def _print_notes(names: Sequence[str]) -> None:
    """What was skipped or assumed in files of networks, each file once."""
    from prema_gym.networks import notes

    for name in dict.fromkeys(names):
        for note in notes(name):
            print(note, file=sys.stderr)


def _hardware(path: Path | None) -> Any:  # noqa: ANN401 - NPUConfig, imported late
    from prema_gym.hardware.config import NPUConfig

    return NPUConfig() if path is None else NPUConfig.from_toml(path)
