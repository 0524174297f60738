"""How is a configuration read from a TOML file, and written without leaving half a file behind?

Shared by every configuration of the package. Unit of time: none. Source: ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prema_gym.atomic import write_text_atomically
from prema_gym.errors import ConfigError


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read one TOML file.

    Args:
        path: The file.

    Returns:
        Its contents as plain dictionaries, lists, numbers and strings.

    Raises:
        ConfigError: The file cannot be read or is not TOML; the message names it.
    """
    # The standard library has a reader from 3.11 on; pyproject.toml asks for tomli below that.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {os.fspath(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{os.fspath(path)!r} is not UTF-8 text") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{os.fspath(path)!r} is not valid TOML: {error}") from error


def write_toml(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    """Write one TOML file; a reader sees the old file or the whole new one, never a part.

    Args:
        path: The file; an existing one is replaced.
        data: Plain dictionaries, lists, numbers and strings (``math.inf`` is allowed).

    Raises:
        ConfigError: The file cannot be written; nothing is left behind.
    """
    import tomli_w

    text = tomli_w.dumps(data)  # before any file exists: what cannot be written leaves no trace
    try:
        write_text_atomically(Path(path), text)
    except OSError as error:
        raise ConfigError(f"cannot write {os.fspath(path)!r}: {error.strerror}") from error
