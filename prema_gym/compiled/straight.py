"""How does compiled code treat every field of a table alike? One statement a field, written once.

Numba has no loop over the fields of a record or a named tuple. So a function is made from a table
as `dataclasses` makes ``__init__``: as text, one line a field. It runs and compiles as a list
written by hand does (measured; a chain of closures runs alike but takes three times as long to
compile).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prema_gym.compiled.jit import inlined


def straight_line(
    name: str, arguments: str, statement: str, fields: Iterable[str]
) -> Callable[..., None]:
    """Make a function, compiled as a part of its callers, of one statement for each field.

    Args:
        name: What to call it.
        arguments: Its parameters, as in a definition.
        statement: One statement with ``{field}`` where the field's name goes.
        fields: The fields' names, in the order of the statements.
    """
    lines = [f"def {name}({arguments}):", *(f"    {statement.format(field=f)}" for f in fields)]
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)  # the text is ours
    function: Callable[..., None] = made[name]
    return inlined(function)


def switch(
    name: str, arguments: str, functions: Sequence[Callable[..., Any] | None], default: str
) -> Callable[..., Any]:
    """Make a function, compiled as a part of its callers, that calls one of several by its number.

    Args:
        name: What to call it.
        arguments: Its parameters after the number, as in a definition; the functions take these.
        functions: Compiled functions, in the order of their numbers; None: the default.
        default: An expression, returned where there is no function.
    """
    lines = [f"def {name}(number, {arguments}):"]
    made: dict[str, Any] = {"math": math}
    for number, function in enumerate(functions):
        if function is not None:
            made[f"function_{number}"] = function
            lines.append(f"    if number == {number}: return function_{number}({arguments})")
    lines.append(f"    return {default}")
    exec("\n".join(lines), made)  # the text is ours
    chosen: Callable[..., Any] = made[name]
    return inlined(chosen)
