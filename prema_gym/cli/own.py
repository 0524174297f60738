"""How does a policy in a user's own file take part? The file is run, and asked for it by name."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from prema_gym.errors import ConfigError, PremaError, UnknownNameError, in_one_line

if TYPE_CHECKING:
    from prema_gym.evaluation.policy import Decider


_TRUTHS = ("true", "false")
_made: dict[str, list[str]] = {}
"""The policies made of each file that was run, by its module's name: who it may be that fails."""


class OwnPolicyError(PremaError):
    """A policy of the user's raised something while it was played.

    Attributes:
        frames: Where, from the user's file on, as Python prints it.
    """

    def __init__(self, message: str, frames: str) -> None:
        super().__init__(message)
        self.frames = frames


@contextmanager
def told_apart() -> Iterator[None]:
    """Within it, what a policy of the user's raises is told apart from mistakes of ours.

    Raises:
        OwnPolicyError: A policy raised something, whatever it was.
    """
    try:
        yield
    except PremaError:
        raise
    except Exception as error:
        whole = list(traceback.walk_tb(error.__traceback__))
        named = [frame.f_globals.get("__name__", "") for frame, _ in whole]
        at = next((i for i, name in enumerate(named) if name in _made), None)
        if at is None:
            raise
        policies, file = _made[named[at]], Path(whole[at][0].f_code.co_filename)
        who = f"the policy {policies[0]}" if len(policies) == 1 else f"one of {', '.join(policies)}"
        frames = "".join(traceback.StackSummary.extract(iter(whole[at:])).format())
        raise OwnPolicyError(f"{who} raised {in_one_line(error, [file])}", frames) from error


def own_policy(path: Path, name: str, parameters: str = "") -> Decider:
    """Make the policy that a file of the user's calls ``name``. It runs the file.

    Args:
        path: A Python file.
        name: In it, an object with ``predict``, or a class or function that makes one when it is
            called.
        parameters: What it is called with: ``alpha=2,mode=fast``. A value is what Python reads in
            it, else the text itself.

    Raises:
        ConfigError: The file cannot be run, has no such name, or it stands for no policy.
    """
    from prema_gym.evaluation.policy import mechanisms_of

    where = f"{path}:{name}"
    module = _run_file(path)
    if not name:
        there = ", ".join(_defined_in(module)) or "nothing that could be one"
        raise ConfigError(f"say which policy of {path}: FILE.py:NAME (there: {there})")
    if not hasattr(module, name):
        raise UnknownNameError("policy", name, _defined_in(module), str(path))
    found: Any = getattr(module, name)
    arguments = _arguments(parameters, where)
    if isinstance(found, type) or not hasattr(found, "predict"):
        if not callable(found):
            raise ConfigError(f"{where} is {found!r}, which has no predict")
        try:
            found = found(**arguments)
        except (Exception, SystemExit) as error:
            raise ConfigError(
                f"{where}({parameters}) fails: {in_one_line(error, [path])}"
            ) from error
    elif arguments:
        raise ConfigError(f"{where} is made already: it takes no parameters, given {parameters!r}")
    try:
        mechanisms_of(found)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    _made.setdefault(module.__name__, []).append(where)
    return cast("Decider", found)


def _arguments(text: str, where: str) -> dict[str, object]:
    """``alpha=2,mode=fast`` as keyword arguments."""
    arguments: dict[str, object] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (equals and key.isidentifier() and value):
            raise ConfigError(f"parameters of {where} read key=value,key=value, got {item!r}")
        if key in arguments:
            raise ConfigError(f"parameter {key!r} of {where} is given twice")
        try:
            arguments[key] = ast.literal_eval(value.title() if value in _TRUTHS else value)
        except (ValueError, SyntaxError):
            arguments[key] = value
    return arguments


def _run_file(path: Path) -> ModuleType:
    """Run a Python file as a module; what lies beside it can be imported, as by ``python FILE``."""
    if not path.is_file():
        raise ConfigError(f"{path} is no file: give a policy of your own as FILE.py:NAME")
    name = f"{__name__}:{path.resolve()}"
    if name in sys.modules:  # two policies of one file
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module  # dataclasses and pickles look for it there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ConfigError(f"{path} cannot be run: {in_one_line(error, [path])}") from error
    return module


def _defined_in(module: ModuleType) -> list[str]:
    """What could be a policy or make one: not what the file merely imports."""

    def could_be(member: object) -> bool:
        here = getattr(member, "__module__", None) == module.__name__
        ready = hasattr(member, "predict") and not isinstance(member, type)
        return ready or (here and callable(member))

    return [name for name, member in vars(module).items() if could_be(member)]
