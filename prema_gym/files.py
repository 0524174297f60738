"""How are files read and written? Whole or not at all, and with the place of every mistake.

A file is written beside its place and then renamed, so a reader never meets half of it. Readers of
TOML name the file and the line. Leaf of the house: everything may use it. Source: ours.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prema_gym.errors import ConfigError


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` fill a file beside ``path``, then rename it into place.

    Args:
        path: Where the file belongs; its folder exists.
        write: Called with the temporary path, which keeps the suffix.

    Raises:
        OSError: The file cannot be written; nothing is left behind.
    """
    # The same folder makes the rename atomic; the process id keeps two writers apart.
    beside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())  # a rename may otherwise outlive its content
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file so that a crash never leaves half of it."""
    write_atomically(path, lambda beside: beside.write_text(text, encoding="utf-8"))


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


def check_folder(directory: str | os.PathLike[str]) -> None:
    """Say before the work, not after it, that a folder cannot be written to.

    Raises:
        ConfigError: It is a file, or neither it nor the nearest folder above it can be written.
    """
    folder = Path(directory)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"cannot write to {folder}: it is not a folder")
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        raise ConfigError(f"cannot write to {folder}: no permission in {nearest}")


def write_files(directory: str | os.PathLike[str], files: Mapping[str, str]) -> list[Path]:
    """Write text files into a folder, made if absent; a failure leaves no partial file behind.

    Args:
        directory: Where to.
        files: Text by file name.

    Returns:
        The paths written.

    Raises:
        ConfigError: The folder cannot be made or written to; the message says why.
    """
    folder = Path(directory)
    temporary: dict[Path, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # All texts reach the disk before the first file takes its name.
        for name, text in files.items():
            handle, path = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
            temporary[folder / name] = Path(path)
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        for target, source in temporary.items():
            source.chmod(0o666 & ~_umask())
            source.replace(target)
    except OSError as error:
        raise ConfigError(f"cannot write to {folder}: {error.strerror or error}") from error
    finally:
        for source in temporary.values():
            source.unlink(missing_ok=True)
    return list(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
