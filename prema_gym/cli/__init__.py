"""`prema-gym …`: how does a command start, and how does it end?

Results go to standard output, everything else to standard error. A mistake in what was asked gets
one plain line and exit status 2; what a policy of the user's own raises gets its own lines before
that, and status 1. The commands are the files of ``commands/``; what several take is in
``options.py``, how the fields of settings become options in ``fields.py``, what a policy's name
means in ``naming.py``, how results look in ``printing.py``.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from prema_gym.cli.commands import application
from prema_gym.cli.own import OwnPolicyError, told_apart
from prema_gym.cli.usage import in_our_words
from prema_gym.errors import PremaError

__all__ = ["main", "run"]

# Typer brings its own copy of Click, older ones use the package: both are reached through a child.
UsageProblem: type[typer.BadParameter] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; mistakes of the caller exit with status 2 and one line."""
    run(application(), "prema-gym", arguments)


def run(app: typer.Typer, program: str, arguments: Sequence[str] | None = None) -> None:
    """Run an application, and end as every command of ours ends: with an exit status.

    Args:
        app: Its commands.
        program: What messages call it.
        arguments: What it is asked; default: what the process was.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)

    def fail(message: str, status: int = 2) -> NoReturn:
        print(f"{program}: " + " ".join(message.split()), file=sys.stderr)
        sys.exit(status)

    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a "±" that the encoding lacks
        # Typer's own way to run would turn an interrupt and a closed pipe into exit codes.
        command = typer.main.get_command(app)
        with told_apart(), command.make_context(program, [*given]) as context:
            status = command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as stop:
        status = stop.exit_code
    except UsageProblem as error:
        fail(f"{in_our_words(error.format_message())} (given: {shlex.join(given)})")
    except OwnPolicyError as error:
        print(error.frames, end="", file=sys.stderr)
        fail(str(error), status=1)
    except PremaError as error:
        fail(_as_typed(str(error), given))
    except (KeyboardInterrupt, typer.Abort):
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader went away, as `head` does
        sys.stderr.close()
        sys.exit(0)
    except MemoryError:
        fail("not enough memory: ask for fewer workloads, tasks or slots")
    except OSError as error:
        # What is still buffered would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"cannot write the result: {error.strerror}")
    sys.exit(status if isinstance(status, int) else 0)


def _as_typed(message: str, given: Sequence[str]) -> str:
    """A message about a setting, which calls it as it was typed: ``--max-decisions must be …``."""
    message = message.replace(", or None, got ", ", got ")  # which neither options nor TOML can say
    name, _, rest = message.partition(" ")
    option = "--" + name.replace("_", "-")
    typed = any(word.partition("=")[0] == option for word in given)
    return f"{option} {rest}" if typed and rest.startswith("must ") else message
