"""Which commands are there, and which options? From the functions that they are."""

from __future__ import annotations

from typing import Any

import typer

from docs.generate.sections import table
from prema_gym.cli.commands import application


def commands() -> str:
    """Every command: its help, its options with their defaults."""
    group: Any = typer.main.get_command(application())
    return "".join(_command(name, command) for name, command in group.commands.items())


def _command(name: str, command: Any) -> str:  # noqa: ANN401 - Typer's own Click
    rows = [
        [_code(parameter), _cell(getattr(parameter, "help", "") or ""), _default(parameter)]
        for parameter in command.params
        if getattr(parameter, "name", "") != "help"
    ]
    text = f"\n## {name}\n\n{' '.join(command.help.split())}\n"
    return text + ("\n" + table(("option", "what", "default"), rows) if rows else "")


def _code(parameter: Any) -> str:  # noqa: ANN401
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:  # noqa: ANN401
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return _cell(shown)
    value = parameter.default
    given = value is not None and value is not False and value not in ((), [])
    if not given or callable(value) or "Sentinel" in type(value).__name__:
        return ""
    value = getattr(value, "value", value)
    return f"`{_cell(str(value))}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


PARTS = {"commands": commands}
