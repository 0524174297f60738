"""Policies that do what a policy should not, for drills."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from prema_gym.simulator import AGE_MS


class First:
    """The first task there is."""

    def predict(self, observation: Any, action_masks: Any = None, **_: Any) -> tuple[Any, Any]:
        return np.asarray(action_masks).argmax(axis=-1), None


class Gated(First):
    """The same, but not while a drill has as many shards as it wants to see.

    The file DRILL_LIMIT, if there is one, says how many, the folder DRILL_SHARDS where.
    """

    def predict(self, observation: Any, action_masks: Any = None, **_: Any) -> tuple[Any, Any]:
        if "DRILL_LIMIT" in os.environ:
            limit, folder = Path(os.environ["DRILL_LIMIT"]), Path(os.environ["DRILL_SHARDS"])
            while len(list(folder.glob("[!.]*.shard"))) >= int(limit.read_text()):
                time.sleep(0.01)
        return super().predict(observation, action_masks)


class Fails(First):
    """Fails where it meets a task of one age."""

    def __init__(self, age_ms: float) -> None:
        self._age_ms = age_ms

    def predict(self, observation: Any, action_masks: Any = None, **_: Any) -> tuple[Any, Any]:
        if (observation[:, :, AGE_MS] == np.float32(self._age_ms)).any():
            raise ZeroDivisionError("my own mistake")
        return super().predict(observation, action_masks)
