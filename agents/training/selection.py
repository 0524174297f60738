"""Which checkpoint of a run is kept? Many are glanced at, a few are looked at closely.

The validation during training is small, because it is frequent, and the best of many small ones is
partly the luckiest. So at the end a few are compared again, on more validation workloads that none
of them was chosen by.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from prema_gym.agents.policies.files import policy_from_file
from prema_gym.agents.policies.weights_file import load_weights, save_weights
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.validation import Validation, Validator
from prema_gym.files import write_atomically

FINALISTS = 6
MORE = 3
"""Final validation workloads for one of the frequent ones: intervals shrink to almost half."""


AVERAGED = 5
"""Checkpoints in the average: the search's centre wanders by some 3 % of its length between
two, and the mean of a handful lies nearer to what it wanders around."""


def add_average(folder: RunFolder, about: Mapping[str, Any]) -> None:
    """Write the average of the last checkpoints beside them, as ``average.npz``.

    Args:
        folder: The run, of an evolution strategy: its weights wander about one place, so that
            their mean makes sense.
        about: What to note beside the weights.
    """
    rows = folder.rows()
    if len(rows) < 2:  # the average of one is that one
        return
    paths = [folder.checkpoint(int(row["timesteps"]), ".npz") for row in rows[-AVERAGED:]]
    stacked = [load_weights(path)[0] for path in paths]
    kind = type(stacked[0])
    mean = kind(*(np.mean(arrays, axis=0) for arrays in zip(*stacked, strict=True)))
    save_weights(folder.path / "average.npz", mean, about)


def latest(folder: RunFolder) -> list[int]:
    """Timesteps of the last checkpoints: for a search that gets better and wanders a little."""
    return [int(row["timesteps"]) for row in folder.rows()[-FINALISTS:]]


def best_scored(folder: RunFolder) -> list[int]:
    """Timesteps of the checkpoints that scored best: for training that may lose what it had."""
    rows = sorted(folder.rows(), key=lambda row: float(row["score"]), reverse=True)
    return sorted(int(row["timesteps"]) for row in rows[:FINALISTS])


def choose_best(
    folder: RunFolder,
    steps: Sequence[int],
    validator: Validator,
    describe: Callable[[int, Validation, bool], str],
    say: Callable[[str], None],
) -> None:
    """Compare some checkpoints of our network again, and keep the winner as ``best.npz``.

    Takes part: ``average.npz``, where there is one.

    Args:
        folder: The run.
        steps: Their timesteps.
        validator: On workloads that were not used before.
        describe: Puts a validation into a line.
        say: Told each line.
    """
    finalists = [(step, folder.checkpoint(step, ".npz")) for step in steps]
    average = folder.path / "average.npz"
    if average.exists():
        finalists.append((int(folder.rows()[-1]["timesteps"]), average))
    if len(finalists) == 1:  # there is nothing to choose from
        source = finalists[0][1]
        write_atomically(folder.path / "best.npz", lambda beside: shutil.copyfile(source, beside))
        say(f"{source.stem} is the only checkpoint: kept as best.npz")
        return
    say(f"final validation of {', '.join(path.stem for _, path in finalists)}")
    best, winner = float("-inf"), None
    for step, path in finalists:
        seen = validator(policy_from_file(path))
        if seen.score > best:
            best, winner = seen.score, path
        say(describe(step, seen, winner == path) + (" [average]" if path == average else ""))
    if winner is not None:
        source = winner
        write_atomically(folder.path / "best.npz", lambda beside: shutil.copyfile(source, beside))
