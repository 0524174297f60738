"""Was a model trained on normalised tables, and by which statistics? Those beside its file."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecNormalize

from prema_gym.checks import damaged
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import PRESENT

NAMES = ("{stem}_vecnormalize.pkl", "vecnormalize.pkl", "vec_normalize.pkl")
"""Where `VecNormalize.save` puts statistics by custom, beside a model: rl_zoo3 and the pages of
Stable-Baselines3 use the latter two. `CheckpointCallback` writes ``rl_model_vecnormalize_N_steps``
beside ``rl_model_N_steps``."""


def statistics_beside(path: Path, data: Mapping[str, Any]) -> VecNormalize | None:
    """Return the statistics that belong to a model's file; None: it was trained on tables as such.

    Args:
        path: The file.
        data: What it holds beside weights.

    Raises:
        ConfigError: They are missing or damaged.
    """
    prefix, _, number = path.stem.removesuffix("_steps").rpartition("_")
    names = [name.format(stem=path.stem) for name in NAMES]
    names.insert(0, f"{prefix}_vecnormalize_{number}_steps.pkl")
    for file in (path.with_name(name) for name in names):
        if file.is_file():
            return _read(file)
    if _looks_normalised(data.get("_last_obs")):
        raise ConfigError(
            f"{path} was trained on normalised tables (VecNormalize): put its statistics beside it "
            f"as {names[1]} (env.save)"
        )
    return None


def _read(file: Path) -> VecNormalize | None:
    """Statistics as `VecNormalize.save` wrote them; it pickles, so only from those one trusts."""
    try:
        found = pickle.loads(file.read_bytes())
    except Exception as error:  # whatever pickle makes of a foreign file
        raise damaged(file, error) from None
    if not isinstance(found, VecNormalize):
        raise ConfigError(f"{file} holds a {type(found).__name__}, not a VecNormalize")
    return found if found.norm_obs else None


def _looks_normalised(last: NDArray[np.float32] | None) -> bool:
    """Whether the last tables a model saw are none: there a slot holds a task, 1, or not, 0."""
    if not isinstance(last, np.ndarray) or last.ndim != 3:
        return False
    return not np.isin(last[..., PRESENT], (0.0, 1.0)).all()
