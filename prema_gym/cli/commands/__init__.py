"""Which commands are there? Every file of this folder is one: the function it is named after.

Its docstring is the command's help, its parameters the options. All files are read before any
command runs, so that a file's top imports only what is quick; the rest is imported in the function.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

import prema_gym


def commands() -> dict[str, Callable[..., None]]:
    """Every command's function by its name, in the order of the alphabet."""
    return {
        name: getattr(import_module(f"{__name__}.{name}"), name)
        for name in sorted(module.name for module in pkgutil.iter_modules(__path__))
    }


def application() -> typer.Typer:
    """The command line with all commands."""
    app = _empty(
        "Schedule DNN tasks on a preemptible NPU: PREMA, classic and learned policies compared."
    )
    app.callback(invoke_without_command=True)(_without_command)
    for function in commands().values():
        app.command()(function)
    return app


def single(name: str) -> typer.Typer:
    """One command alone, for a program of its own."""
    app = _empty()
    app.command()(commands()[name])
    return app


def _empty(help: str | None = None) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help=help,
    )


def _without_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"prema-gym {prema_gym.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
