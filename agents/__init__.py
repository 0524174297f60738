"""Learned schedulers: the network, how it is trained, and trained ones to load.

    policy = agents.load("learned")            # a shipped one
    policy = agents.load("runs/mine")          # the best of a training run
    actions, _ = policy.predict(observation)
    agents.train("runs/mine", agents.TrainSettings(algo="es", timesteps=20_000_000))

Loading our own network needs no torch; a file saved by Stable-Baselines3 does.
"""

from __future__ import annotations

if __name__ == "agents":  # found as a folder of the working directory
    raise ImportError("write `from prema_gym import agents`: this folder is part of prema_gym")

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.agents.policies.files import OurPolicy
    from prema_gym.agents.policies.sb3_model import SB3Policy
    from prema_gym.agents.training.run import TrainingProgress, resume, train
    from prema_gym.agents.training.settings import TrainSettings

__all__ = [
    "PRETRAINED",
    "TrainSettings",
    "TrainingProgress",
    "load",
    "names",
    "resume",
    "train",
]

PRETRAINED = Path(__file__).parent / "pretrained"
"""Folder of the shipped weights; beside each its configuration and its table of results."""

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "training.run": ("TrainingProgress", "resume", "train"),
        "training.settings": ("TrainSettings",),
    },
)


def names() -> tuple[str, ...]:
    """The shipped policies."""
    return tuple(sorted(path.stem for path in PRETRAINED.glob("*.npz")))


def load(name_or_path: str | os.PathLike[str]) -> OurPolicy | SB3Policy:
    """Load a trained scheduler.

    Args:
        name_or_path: A shipped policy's name, where its network knows preferences with them
            (``learned:fairness=2,tail=0.5``), a run folder, an ``.npz`` of ours, or a ``.zip``
            saved by Stable-Baselines3 (which may run code when loaded: only from those you trust).

    Returns:
        An object with ``predict`` and ``mechanisms``, like every policy.

    Raises:
        UnknownNameError: Neither a shipped name nor a path that exists.
        ConfigError: The file is damaged or was made for another table, or this is no path.
        MissingExtraError: A Stable-Baselines3 file, and that package is not installed.
    """
    from prema_gym.agents.policies.files import policy_from_file
    from prema_gym.errors import ConfigError, MissingExtraError, UnknownNameError

    if not isinstance(name_or_path, str | os.PathLike) or name_or_path == "":
        raise ConfigError(
            f"a learned policy is a shipped name ({', '.join(names())}) or a path, got "
            f"{name_or_path!r}"
        )
    given = os.fspath(name_or_path)
    shipped = names()
    base, _, preferred = given.partition(":")
    if base in shipped:
        return _shipped(base, preferred)
    path = Path(given)
    if path.is_dir():
        from prema_gym.agents.training.run_folder import find_policy

        name, path = path.name, find_policy(path)
    elif path.suffix not in (".npz", ".zip") and not path.exists():
        raise UnknownNameError("learned policy", given, shipped)
    else:
        name = path.stem
    if path.suffix == ".npz":
        return policy_from_file(path, name)
    if path.suffix != ".zip":
        raise ConfigError(f"{path} is neither an .npz of ours nor a .zip of Stable-Baselines3")
    try:
        from prema_gym.agents.policies.sb3_model import load_zip
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"loading {path}", error.name or "torch", "train") from None
    return load_zip(path, name)


def _shipped(name: str, preferred: str) -> OurPolicy:
    """A shipped policy by its plain name, with the preferences given: ``key=value,key=value``."""
    from prema_gym.agents.policies.balancer_policy import Preference
    from prema_gym.agents.policies.files import policy_from_file
    from prema_gym.baselines.parameters import name_with, read_parameters

    path = PRETRAINED / f"{name}.npz"
    plain = policy_from_file(path, name)
    changed = read_parameters(preferred, {}, plain.parameters, f"policy {name!r}")
    if not changed:
        return plain
    return policy_from_file(path, name_with(name, changed), Preference(**changed))
