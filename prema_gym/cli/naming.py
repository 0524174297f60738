"""Which policy does a name mean? A rule, a learned one, an optimum, a file of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prema_gym.cli.own import own_policy
from prema_gym.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from prema_gym.distribution.recipes import Recipe
    from prema_gym.evaluation.policy import Decider
    from prema_gym.views.listings import Described


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


def make_policies(text: str, relative_to: str) -> dict[str, Decider]:
    """Make the policies named, and the one compared with first if it is not among them."""
    from prema_gym import agents, baselines

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


def _own_file(name: str) -> tuple[str, str] | None:
    """The file of ``FILE.py:NAME``, and what follows the colon; None: it is no such name."""
    file, colon, rest = name.partition(".py:")
    return (f"{file}.py" if colon else name, rest) if colon or name.endswith(".py") else None


def recipe_of(name: str) -> Recipe:
    """How a policy is made in another process: by the same name, but its file's path in full."""
    from prema_gym.distribution.recipes import Recipe

    own = _own_file(name)
    if name.startswith("path:"):
        path = Path(name.removeprefix("path:"))
        return Recipe(make_policy, f"path:{path.absolute()}", (path,))
    if own is not None:
        path = Path(own[0])
        return Recipe(make_policy, f"{path.absolute()}:{own[1]}", (path,))
    return Recipe(make_policy, name)


def described() -> list[Described]:
    """Every policy that has a name, as the listing shows it."""
    from prema_gym import agents, baselines
    from prema_gym.evaluation import clairvoyant

    learned = [agents.load(name) for name in agents.names()]
    metrics = (name.removeprefix(clairvoyant.PREFIX) for name in clairvoyant.names())
    return [*baselines.describe(), *learned, *map(clairvoyant.Clairvoyant, metrics)]


def make_policy(name: str) -> Decider:
    """Look up a policy: a rule, a learned one, a file's (``FILE.py:NAME``), or an optimum.

    Parameters follow a colon: ``static-prema:levels=1/3/9``, ``FILE.py:NAME:alpha=2,beta=x``.

    A training run or a file of trained weights is ``path:FOLDER-OR-FILE``, an optimum
    ``clairvoyant-METRIC``.

    Raises:
        PremaError: Nothing is found by that name, or what is found cannot be used.
    """
    from prema_gym import agents, baselines
    from prema_gym.evaluation import clairvoyant
    from prema_gym.simulator import MECHANISMS

    if name.startswith("path:"):
        path = Path(name.removeprefix("path:"))
        if name == "path:" or not path.exists():
            raise ConfigError(f"{name} names no file or folder: give path:FOLDER or path:FILE")
        return agents.load(path)
    own = _own_file(name)
    if own is not None:
        file, member = own
        member, _, parameters = member.partition(":")
        return own_policy(Path(file), member, parameters)
    base, _, parameters = name.partition(":")
    optima = clairvoyant.names()
    everyone = (*baselines.names(), *agents.names(), *optima)
    if base not in (*everyone, *baselines.LEFT_OUT):
        raise UnknownNameError(
            "policy",
            base,
            everyone,
            note="see `prema-gym policies`",
            meant=baselines.meant_by(base),
        )
    if parameters and base not in (*baselines.names(), *agents.names()):
        raise ConfigError(f"policy {base!r} takes no parameters, given {parameters!r}")
    if base in agents.names():
        return agents.load(name)
    if name.startswith(clairvoyant.PREFIX):
        return clairvoyant.Clairvoyant(name.removeprefix(clairvoyant.PREFIX))
    # All mechanisms are on offer, so that drains are decisions that can be counted; `random`
    # alone would use them all, and keeps to its own.
    wide = None if name.partition(":")[0] == "random" else MECHANISMS
    return baselines.make(name, mechanisms=wide)
