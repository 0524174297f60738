"""How may the running task give way? The table of mechanisms, which all that lists them reads.

To add one: a line here, what it does in ``decisions.py`` and in the slow twin of the tests, and a
paragraph in ``docs/simulator.md``. Source: fidelity.md, "Preemption".
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from prema_gym.checks import Constraint, list_of, one_of


class Mechanism(IntEnum):
    """A way of preempting; its value is the engine's code.

    Attributes:
        counter: The field of a task record that counts it; the metric's name, too.
        heading: Of the count, as the column of a table.
    """

    counter: str
    heading: str

    def __new__(cls, code: int, counter: str, heading: str) -> Mechanism:  # noqa: D102
        member = int.__new__(cls, code)
        member._value_ = code
        member.counter = counter
        member.heading = heading
        return member

    CHECKPOINT = 0, "checkpoints", "ckpts"  # saves its context, and goes on from there later
    KILL = 1, "kills", "kills"  # loses its work, and starts again later
    DRAIN = 2, "drains", "drains"  # runs to its end first


MECHANISMS: tuple[str, ...] = tuple(mechanism.name.lower() for mechanism in Mechanism)
"""Names of the mechanisms; position = the engine's code."""

DEFAULT_MECHANISMS: tuple[str, ...] = ("checkpoint",)
"""What the action space offers if nothing is said: an action is a slot then."""


def _accept(value: object) -> Any:  # noqa: ANN401 - as Constraint has it
    # A lone text is a sequence too: take it for the one mechanism it names.
    return list_of(one_of("mechanism", MECHANISMS)).accept(
        (value,) if isinstance(value, str) else value
    )


MECHANISM_NAMES = Constraint(f"one or more of {', '.join(MECHANISMS)}, each once", _accept)
"""What an action space may offer: names, or one name alone; kept as a tuple."""


def check_mechanisms(mechanisms: Sequence[str]) -> tuple[str, ...]:
    """Return ``mechanisms`` as a tuple.

    Raises:
        ConfigError: There is none, one twice, or they are no list or tuple of names.
        UnknownNameError: One is not known.
    """
    checked: tuple[str, ...] = MECHANISM_NAMES.check("mechanisms", mechanisms)
    return checked
