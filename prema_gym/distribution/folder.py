"""Where do shards stay until all are there? In a folder, or in memory."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from prema_gym.distribution.identity import version
from prema_gym.distribution.shards import unpack
from prema_gym.errors import ConfigError
from prema_gym.files import check_folder, write_atomically

ENDING = ".shard"

LEFT_OVER_S = 3600.0
"""Age from which a file that was never finished belongs to nobody: writing one takes a second."""


class Shards:
    """The shards that are there, by key.

    Args:
        folder: Where they stay, made if absent; None: in memory.

    Attributes:
        damaged: Files whose content was not what it was written as; they are removed.

    Raises:
        ConfigError: The folder cannot be written to.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._kept: dict[str, bytes] = {}
        self.damaged: list[Path] = []
        if folder is not None:
            check_folder(folder)
            for path in folder.glob(f".*{ENDING}"):
                _remove_left_over(path)

    def get(self, key: str) -> dict[str, Any] | None:
        """The arrays of a shard; None where it is missing, or was damaged."""
        if self.folder is None:
            return unpack(self._kept[key], key) if key in self._kept else None
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error
        found = unpack(content, key)
        if found is None:
            self.damaged.append(path)
            path.unlink(missing_ok=True)
        return found

    def add(self, key: str, content: bytes) -> None:
        """Keep a shard.

        Raises:
            ConfigError: It cannot be written; those that are there stay.
        """
        if self.folder is None:
            self._kept[key] = content
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path(key), lambda beside: beside.write_bytes(content))
        except OSError as error:
            raise ConfigError(
                f"cannot write a shard to {self.folder}: {error.strerror}; what is there stays, "
                "and the same command goes on from it"
            ) from error

    def notes(self, wanted: Iterable[str]) -> list[str]:
        """What lies in the folder that is not wanted, and why, in lines for a person.

        Args:
            wanted: Keys of this comparison.
        """
        notes = [f"{path} was damaged, and is played anew" for path in self.damaged]
        if self.folder is None or not self.folder.is_dir():
            return notes
        names = {key + ENDING for key in wanted}
        # A name that begins with a point is of a file that is being written.
        there = (p for p in self.folder.glob(f"*{ENDING}") if not p.name.startswith("."))
        others = [p for p in there if p.name not in names]
        old = sum(_version_of(path) != version() for path in others)
        if old:
            notes.append(
                f"{self.folder} holds {old} shards of another version of prema-gym or its "
                "packages: not used, what is needed of them is played anew"
            )
        return notes

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / (key + ENDING)


def _remove_left_over(path: Path) -> None:
    """Remove what a killed driver was writing, but not what another one writes now."""
    with suppress(OSError):  # another process may be at it too
        if time.time() - path.stat().st_mtime > LEFT_OVER_S:
            path.unlink()


def _version_of(path: Path) -> object:
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline())
        return head.get("version") if isinstance(head, dict) else None
    except (OSError, ValueError):
        return None
