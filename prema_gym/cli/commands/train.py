"""`prema-gym train`: a scheduler of one's own. The options are the fields of the settings."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from prema_gym.agents.training.settings import TrainSettings
from prema_gym.cli.distributing import BackendOption, Workers, WorkersOption
from prema_gym.cli.fields import field_options, put, with_options
from prema_gym.errors import ConfigError
from prema_gym.files import read_toml

# Short names of what is wanted most.
ALIASES = {"--gradient-policy": "--policy", "--gradient-hyper": "--hyper"}
OPTIONS = tuple(field_options(TrainSettings, ALIASES))

Output = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Folder of a new run.", show_default=False)
]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Go on with the run of this folder.", show_default=False),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Settings; options overrule them.", show_default=False),
]


@with_options(OPTIONS)
def train(
    context: typer.Context,
    output: Output = None,
    resume: Resume = None,
    config: Config = None,
    workers: WorkersOption = None,
    backend: BackendOption = "threads",
    **given: object,
) -> None:
    """Train a scheduler, or go on with a run; then compare it with PREMA on unseen workloads."""
    folder = output if resume is None else resume
    if folder is None or (resume is not None and output is not None):
        raise ConfigError("give either --output for a new run or --resume for an old one")
    if resume is not None:
        _refuse_with_resume(resume, {**given, "config": config})
    who = Workers(workers=workers, backend=backend)
    with (
        who.candidates() as executor,
        _saving(folder, context.find_root().info_name or "prema-gym"),
    ):
        from prema_gym.agents.training import run
        from prema_gym.agents.training.report import report

        if resume is None:
            run.train(folder, settings_from(config, given), executor=executor)
        else:
            timesteps = given["timesteps"]
            end = timesteps if isinstance(timesteps, int) else None
            run.resume(folder, end, executor=executor)
        for line in report(folder):
            print(line)


def settings_from(config: Path | None, given: Mapping[str, object]) -> TrainSettings:
    """The settings of a file, or the defaults, and over them the options that are given.

    Args:
        config: The file.
        given: Options by parameter; None where one is not given.

    Raises:
        ConfigError: A value is not allowed; the message says whether the file or an option has it.
    """
    data = {} if config is None else read_toml(config)
    if config is not None:
        TrainSettings.from_dict(data, where=str(config))
    settings = TrainSettings.from_dict(put(OPTIONS, given, data), where="the options")
    _refuse_unread(settings, given)
    return settings


def _is_given(value: object) -> bool:
    """Whether an option was given; of those that may be repeated, at least once."""
    return value is not None and value not in ((), [])


def _refuse_unread(settings: TrainSettings, given: Mapping[str, object]) -> None:
    """Refuse options that only other algorithms read. Files hold every field, so they may."""
    unread = "evolution" if settings.algorithm.model else "gradient"
    wrong = [
        option.names[-1]
        for option in OPTIONS
        if option.path[0] == unread and _is_given(given[option.parameter])
    ]
    if wrong:
        raise ConfigError(
            f"{', '.join(wrong)} must be left out with --algo {settings.algo}, which reads nothing "
            f"of {unread}"
        )


def _refuse_with_resume(folder: Path, given: Mapping[str, object]) -> None:
    """Refuse what a resumed run cannot take: it goes on as it was started."""
    names = {option.parameter: option.names[0] for option in OPTIONS} | {"config": "--config"}
    wrong = [
        names[parameter]
        for parameter, value in given.items()
        if _is_given(value) and parameter != "timesteps"
    ]
    if wrong:
        raise ConfigError(
            f"a resumed run goes on as {folder}/config.toml says; only --timesteps may be given "
            f"with --resume, not {', '.join(wrong)}"
        )


@contextmanager
def _saving(folder: Path, program: str) -> Iterator[None]:
    """Within it Ctrl-C and SIGTERM end the run saved, and the last line says how to go on."""
    # A scheduler's SIGTERM saves like Ctrl-C, which a shell's background job would not even hear.
    stops = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(stop, signal.default_int_handler) for stop in stops]
    try:
        yield
    except OSError as error:  # a full disk, say
        raise ConfigError(f"{error.filename or folder}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        print("\n" + _farewell(folder, program), file=sys.stderr)
        raise typer.Exit(130) from None
    finally:
        for stop, handler in zip(stops, before, strict=True):
            signal.signal(stop, handler)


def _farewell(folder: Path, program: str) -> str:
    """What to say at an interrupt: what there is, and how to go on."""
    from prema_gym.agents.training.run_folder import RunFolder

    command = "python train.py" if program == "train.py" else f"{program} train"
    try:
        saved = RunFolder(folder).was_saved
    except ConfigError as error:
        return f"stopped; {error}"
    if saved:
        return f"stopped and saved; go on with: {command} --resume {folder}"
    return "stopped before anything was saved; the same command starts over"
