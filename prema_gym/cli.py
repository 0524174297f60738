"""`prema-gym …`: the command line. Looks things up by name and prints; the work is done elsewhere.

Results go to standard output, everything else to standard error. A mistake in what was asked gets
one plain line and exit status 2.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import prema_gym
from prema_gym.errors import ConfigError, MissingExtraError, PremaError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console

    from prema_gym.evaluation import Progress
    from prema_gym.listings import Described
    from prema_gym.runs import Decider

# What `evaluate` compares unless told otherwise: the paper's set, in the order of its argument, the
# floor under every comparison, and the learned scheduler that ships.
DEFAULT_POLICIES = (
    "np-fcfs,np-hpf,np-sjf,np-token,np-prema,static-rrb,static-hpf,static-sjf,static-token,"
    "static-prema,dynamic-sjf,dynamic-prema,kill-sjf,kill-prema,random,learned"
)
# Columns of a table that is not printed on a terminal, unless COLUMNS says otherwise.
PIPE_WIDTH = 132
# What the comparison needs to show values and ratios side by side.
FULL_WIDTH = 110

# Typer brings its own copy of Click, older ones use the package: both are reached through a child.
UsageProblem: type[typer.BadParameter] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"
)

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Schedule DNN tasks on a preemptible NPU: PREMA, classic and learned policies compared.",
)


class Format(str, Enum):
    """How a result is printed."""

    table = "table"
    json = "json"
    csv = "csv"


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
            "follow a colon (dysta:beta=0.05); path:FOLDER is a training run."
        ),
    ] = DEFAULT_POLICIES,
    scenario: ScenarioOption = "paper",
    workloads: Annotated[int, typer.Option(min=1, help="Workloads to play (the paper: 25).")] = 200,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Workload i is drawn from seed + i; repeats need seeds further apart."
        ),
    ] = 0,
    relative_to: Annotated[
        str, typer.Option(help="Policy that ratios compare with; played too if not listed.")
    ] = "np-fcfs",
    format: Annotated[Format, typer.Option(help="How to print the result.")] = Format.table,
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
    import agents
    from agents.seeds import check_test
    from prema_gym import report
    from prema_gym.evaluation import MAX_WORKLOADS
    from prema_gym.evaluation import evaluate as run
    from prema_gym.simulator.simulator import SchedulerOptions
    from prema_gym.workloads import scenarios

    if per_workload and format is Format.table and output is None:
        raise ConfigError("--per-workload shows nothing in a table: add --format or --output DIR")
    if output is not None:
        report.check_folder(output)
    chosen = _policies(policies, relative_to)
    if any(name.startswith("path:") or name in agents.names() for name in chosen):
        check_test(seed, min(workloads, MAX_WORKLOADS))
    with _progress() as progress:
        result = run(
            scenarios.get(scenario),
            chosen,
            workloads=workloads,
            seed=seed,
            relative_to=relative_to,
            oracle=oracle,
            slots=slots,
            options=SchedulerOptions(token_wait=token_wait, sticky_drain=sticky_drain),
            per_workload=per_workload,
            max_decisions=max_decisions,
            bounds=bounds,
            threads=threads,
            progress=progress,
        )
    if format is Format.table:
        _print_tables(report.evaluation_tables(result, narrow=_console().width < FULL_WIDTH))
    elif format is Format.json:
        sys.stdout.write(report.to_json(result.to_dict()))
    else:
        rows = report.per_workload_records(result) or report.evaluation_records(result)
        sys.stdout.write(report.to_csv(rows))
    for note in report.evaluation_notes(result):
        print(note, file=sys.stderr)
    if output is not None:
        for path in report.write_files(output, report.evaluation_files(result)):
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
    import baselines
    from prema_gym import report
    from prema_gym.reproduce import reproduce as run
    from prema_gym.workloads import scenarios

    with _progress() as progress:
        result = run(
            baselines.make,
            scenario=scenarios.get(scenario),
            scenario_argument=scenario,
            only=only.split(",") if only else None,
            workloads=workloads,
            seed=seed,
            progress=progress,
        )
    if format is Format.table:
        _print_tables(report.reproduction_tables(result))
        for note in report.reproduction_notes(result):
            print(note, file=sys.stderr)
    elif format is Format.json:
        sys.stdout.write(report.to_json(result.to_dict()))
    else:
        sys.stdout.write(report.to_csv(report.reproduction_records(result)))


@app.command()
def networks(
    hardware: Annotated[
        Path | None, typer.Option(help="NPU configuration, FILE.toml; default: the paper's.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """List the networks: layers, MACs, weights, isolated and estimated times at batch 1, 4, 16."""
    from prema_gym.listings import network_rows

    estimates = tuple(f"est b{batch}" for batch in (1, 4, 16))
    too_wide = () if _console().width >= FULL_WIDTH else ("layers", "lengths", *estimates)
    _show(network_rows(_hardware(hardware)), format, leave_out=("source", *too_wide))


@app.command()
def policies(format: FormatOption = Format.table) -> None:
    """List the policies: rule, source, mechanisms, parameters."""
    import baselines
    from prema_gym.listings import policy_rows

    _show(policy_rows(_described(), baselines.as_text), format, leave_out=("mechanisms",))


@app.command()
def scenarios(format: FormatOption = Format.table) -> None:
    """List the registered scenarios."""
    from prema_gym.listings import scenario_rows

    _show(scenario_rows(), format)


@app.command()
def preemption(
    network: Annotated[
        list[str] | None, typer.Argument(help="Networks; none means all.", show_default=False)
    ] = None,
    hardware: Annotated[
        Path | None, typer.Option(help="NPU configuration, FILE.toml; default: the paper's.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Tabulate context size and preemption latency over the course of each network."""
    from prema_gym.listings import preemption_rows

    _show(preemption_rows(_hardware(hardware), network or ()), format)


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
    import agents
    import baselines
    from agents.export import QUANTUM_US, latencies_us
    from agents.export import export as write
    from agents.policy import LearnedPolicy

    trained = agents.load(policy.removeprefix("path:"))
    if not isinstance(trained, LearnedPolicy):
        raise ConfigError(f"{policy} holds another network than ours: only ours can be exported")
    chosen = _export_format(format, output)
    path = Path(trained.name + EXPORT_ENDINGS.get(chosen, "")) if output is None else output
    write(trained, path, chosen)
    print(f"wrote {path} ({chosen})")
    print("deciding without the exported file, one thread, batch of 1:")
    deciders: dict[str, Decider] = {trained.name: trained}
    deciders["dynamic-prema"] = baselines.make("dynamic-prema")
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
    import baselines
    from prema_gym.evaluation import evaluate as run
    from prema_gym.workloads import scenarios

    run(scenarios.get("paper"), {"np-fcfs": baselines.make("np-fcfs")}, workloads=1)
    print("kernels are compiled", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; mistakes of the caller exit with status 2 and one line."""
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a "±" that the encoding lacks
        # Typer's own way to run would turn an interrupt and a closed pipe into exit codes.
        command = typer.main.get_command(app)
        with command.make_context("prema-gym", given) as context:
            status = command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as stop:
        status = stop.exit_code
    except UsageProblem as error:
        typed = shlex.join(sys.argv[1:] if arguments is None else arguments)
        _fail(f"{error.format_message()} (given: {typed})")
    except PremaError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader went away, as `head` does
        sys.stderr.close()
        sys.exit(0)
    except MemoryError:
        _fail("not enough memory: ask for fewer workloads, tasks or slots")
    except OSError as error:
        # What is still buffered would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(f"cannot write the result: {error.strerror}")
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> None:
    print("prema-gym: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


def split_names(text: str) -> list[str]:
    """Split a list of policies at commas, but keep parameters with their policy.

    ``static-prema:strict=true,levels=1/3/9,np-fcfs`` is two policies: a piece with ``=`` and no
    policy of its own continues the one before.
    """
    names: list[str] = []
    for piece in filter(None, (part.strip() for part in text.split(","))):
        if names and "=" in piece and ":" not in piece:
            names[-1] += f",{piece}"
        else:
            names.append(piece)
    if not names:
        raise ConfigError(f"no policy named in {text!r}: give names from `prema-gym policies`")
    return names


def _policies(text: str, relative_to: str) -> dict[str, Decider]:
    """Make the policies named, and the one compared with first if it is not among them."""
    import agents
    import baselines

    names = split_names(text)
    if "all" in names:
        everyone = [*baselines.names(), *agents.names()]
        at = names.index("all")
        names[at : at + 1] = [name for name in everyone if name not in names]
    if relative_to not in names:
        names.insert(0, relative_to)
    made: dict[str, Decider] = {}
    for name in names:
        if name in made:
            raise ConfigError(f"policy {name!r} is named twice")
        made[name] = make_policy(name)
    return made


def _described() -> list[Described]:
    """Every policy that has a name, as the listing shows it."""
    import agents
    import baselines
    from prema_gym import clairvoyant

    learned = [agents.load(name) for name in agents.names()]
    metrics = (name.removeprefix(clairvoyant.PREFIX) for name in clairvoyant.names())
    return [*baselines.describe(), *learned, *map(clairvoyant.Clairvoyant, metrics)]


def make_policy(name: str) -> Decider:
    """Look up a policy: a rule, a learned one, ``path:FOLDER-OR-FILE``, or ``clairvoyant-METRIC``.

    Raises:
        PremaError: Nothing is found by that name, or what is found cannot be used.
    """
    import agents
    import baselines
    from prema_gym import clairvoyant
    from prema_gym.simulator.observation import MECHANISMS

    if name.startswith("path:"):
        path = Path(name.removeprefix("path:"))
        if name == "path:" or not path.exists():
            raise ConfigError(f"{name} names no file or folder: give path:FOLDER or path:FILE")
        return agents.load(path)
    base, _, parameters = name.partition(":")
    optima = clairvoyant.names()
    everyone = (*baselines.names(), *agents.names(), *optima)
    if base not in (*everyone, *baselines.LEFT_OUT):
        raise UnknownNameError("policy", base, everyone, note="see `prema-gym policies`")
    if parameters and base not in baselines.names():
        raise ConfigError(f"policy {base!r} takes no parameters, given {parameters!r}")
    if name in agents.names():
        return agents.load(name)
    if name.startswith(clairvoyant.PREFIX):
        return clairvoyant.Clairvoyant(name.removeprefix(clairvoyant.PREFIX))
    # All mechanisms are on offer, so that drains are decisions that can be counted; `random`
    # alone would use them all, and keeps to its own.
    wide = None if name.partition(":")[0] == "random" else MECHANISMS
    return baselines.make(name, mechanisms=wide)


def _hardware(path: Path | None) -> Any:  # noqa: ANN401 - NPUConfig, imported late
    from prema_gym.hardware.config import NPUConfig

    return NPUConfig() if path is None else NPUConfig.from_toml(path)


def _show(
    rows: Sequence[dict[str, object]],
    format: Format,
    leave_out: Sequence[str] = (),
) -> None:
    """Print records; a table leaves out the columns that would not fit a terminal."""
    from prema_gym import report

    if format is Format.table:
        kept = [{k: v for k, v in row.items() if k not in leave_out} for row in rows]
        _print_tables([report.to_table(kept)])
    elif format is Format.json:
        sys.stdout.write(report.to_json(rows))
    else:
        sys.stdout.write(report.to_csv(rows))


def _print_tables(tables: Sequence[Any]) -> None:
    console = _console()
    for table in tables:
        console.print(table)


def _console() -> Console:
    """Standard output as Rich sees it: as wide as the terminal, or as COLUMNS says."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise

    fixed = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Output(width=fixed)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("workloads played"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, todo: bar.update(task, completed=done, total=todo)
