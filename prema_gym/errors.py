"""What can go wrong, as a small family of exceptions with one-line messages.

Every message says what was given, what is allowed, and where. The command line prints it and
exits with 2; a library user catches :class:`PremaError` or the builtin each child also is.
"""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class PremaError(Exception):
    """Base class of every error this package raises on purpose.

    Errors pickle: one raised in a worker process arrives in the process that waits for it.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # By default the class is called with the message; the children's constructors take parts.
        return _restored, (type(self), self.args)


def _restored(kind: type[PremaError], args: tuple[Any, ...]) -> PremaError:
    """The error as it was, its constructor left out."""
    return kind.__new__(kind, *args)


class ConfigError(PremaError, ValueError):
    """An option, configuration field or file holds a value that is not allowed."""


class UnknownNameError(ConfigError):
    """A name (policy, network, scenario, field) that is not in the list of known names."""

    def __init__(
        self,
        kind: str,
        given: str,
        allowed: Iterable[str],
        where: str = "",
        *,
        note: str = "",
        meant: str = "",
        list_all: bool = False,
    ) -> None:
        """Say what was given and what is known.

        Args:
            kind: What the names are of.
            given: The name that is not known.
            allowed: Those that are.
            where: Where it was given.
            note: What else to say.
            meant: Which one is meant, where that is known better than by its letters.
            list_all: Whether all are listed, however many: where no command lists them.
        """
        names = list(allowed)
        near = [meant] if meant else difflib.get_close_matches(given, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        place = f" in {where}" if where else ""
        tail = f"; {note}" if note else ""
        # Of many names the near ones say more than all of them, and nobody reads all.
        many = len(names) > _MOST_LISTED and not list_all
        known = "" if many else f" (known: {', '.join(names) or 'none'})"
        if many and not (near or note):
            known = f" ({len(names)} are known, {', '.join(names[:_FEW])} among them)"
        super().__init__(f"unknown {kind} {given!r}{place}{hint}{known}{tail}")


_MOST_LISTED, _FEW = 20, 5


class UnknownArgumentError(UnknownNameError, TypeError):
    """A keyword argument that nothing takes: what Python raises, in Python's words.

    Libraries look for the words and for TypeError, and Gymnasium makes the error anew with a longer
    message: so it is made from one string, by :func:`unknown_argument`.
    """

    def __init__(self, message: str) -> None:
        PremaError.__init__(self, message)


def unknown_argument(caller: str, given: str, known: Iterable[str]) -> UnknownArgumentError:
    """Say that ``caller`` takes no argument ``given``, and which one may be meant."""
    near = difflib.get_close_matches(given, names := list(known), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(names)})"
    return UnknownArgumentError(f"{caller}() got an unexpected keyword argument {given!r}{hint}")


class WorkloadError(PremaError, ValueError):
    """A workload's arrays are inconsistent (negative time, unknown profile, wrong shape)."""


class IllegalActionError(PremaError, ValueError):
    """An action the legality mask does not allow, where the caller asked for strictness."""


class MissingExtraError(PremaError, ImportError):
    """A command needs an optional dependency that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package!r}: install prema-gym with the {extra!r} extra "
            f"(pip install 'prema-gym[{extra}]')"
        )


def in_one_line(error: BaseException, files: Iterable[Path] = ()) -> str:
    """An exception's kind and message, and in which line of a user's files it came about.

    Args:
        error: It has been raised.
        files: The user's.
    """
    theirs = {path.resolve() for path in files}
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() in theirs
    ]
    place = f" (line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{place}"


@contextmanager
def located(where: str) -> Iterator[None]:
    """Within it, an error's message begins with where the mistake is: a file, line, section or key.

    The one way to say so. Blocks may lie in each other: ``mine.toml: hardware: clock_hz must …``;
    of two that say the same, or one of them by name, only one is heard.
    """
    try:
        yield
    except PremaError as error:
        if str(error).startswith((f"{where}: ", f"{where} '")):
            raise
        error.args = (f"{where}: {error}",)  # the same error, of the same class
        raise
