"""What is wrong with a value that is no number? Said as of any other setting, with what is allowed.

Pydantic, which reads the options, has words of its own.
"""

from __future__ import annotations

import re
from dataclasses import fields

_NO_NUMBER = re.compile(
    r"Invalid value for '(?P<option>--[\w-]+)': Input should be a valid (?P<kind>\w+).*"
)
_KINDS = {"integer": "a whole number", "number": "a number"}


def in_our_words(message: str) -> str:
    """A usage message in the words of `prema_gym.checks`.

    Args:
        message: As Typer has it.
    """
    found = _NO_NUMBER.fullmatch(message)
    if found is None or found["kind"] not in _KINDS:
        return message.replace(": Value error, ", ": ")
    return f"{found['option']} must be {_allowed(found['option']) or _KINDS[found['kind']]}"


def _allowed(option: str) -> str:
    """What the setting of that name may be; empty where none has it."""
    from prema_gym.evaluation.playing import PlaySettings
    from prema_gym.evaluation.settings import EvaluationSettings
    from prema_gym.evaluation.streams import StreamSettings

    name = option.removeprefix("--").replace("-", "_")
    declared = (
        one.metadata["constraint"].allowed
        for record in (EvaluationSettings, StreamSettings, PlaySettings)
        for one in fields(record)
        if one.name == name
    )
    return next(declared, "").removesuffix(", or None")
