"""Where are the classes now that old files name? Pickles remember a class by its module's name.

Files of Stable-Baselines3 and states of training runs from before ``agents`` was installed as
``prema_gym.agents`` name modules that are gone. Only what such files hold is listed; a class that
moves again gets a line here.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import zipfile
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, BinaryIO

_POLICIES = "prema_gym.agents.training.gradient.policies"

OLD_NAMES: dict[tuple[str, str], str] = {
    ("agents.es", "Normals"): "prema_gym.agents.training.evolution.search:Normals",
    ("agents.gradient", "Linear"): "prema_gym.agents.training.gradient.model:Linear",
    **{
        ("agents.sb3_policies", name): f"{_POLICIES}:{name}"
        for name in ("MaskableSlotPolicy", "SlotPolicy", "SlotQPolicy", "Untouched")
    },
}
"""Old module and class → where it is now."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as pickle's own
        if (module, name) in OLD_NAMES:
            return resolve_name(OLD_NAMES[module, name])
        return super().find_class(module, name)


def unpickle(content: bytes) -> Any:  # noqa: ANN401 - whatever it holds
    """``pickle.loads`` that knows old names; for files that one trusts, like that."""
    return _Unpickler(io.BytesIO(content)).load()


def moved_objects(file: Path | BinaryIO) -> dict[str, Any]:
    """Objects in a Stable-Baselines3 file that it names by old modules, as ``custom_objects``.

    Args:
        file: What ``BaseAlgorithm.save`` wrote.
    """
    with zipfile.ZipFile(file) as archive:
        entries = json.loads(archive.read("data"))
    kept = {
        name: base64.b64decode(entry[":serialized:"])
        for name, entry in entries.items()
        if isinstance(entry, dict) and ":serialized:" in entry
    }
    old = {module.encode() for module, _ in OLD_NAMES}
    return {
        name: unpickle(content)
        for name, content in kept.items()
        if any(module in content for module in old)
    }
