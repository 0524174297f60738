"""How are files read and written? Whole or not at all, and with the place of every mistake.

A file is written beside its place and then renamed, so a reader never meets half of it. Readers of
TOML and JSON name the file and the line. Leaf of the house: everything may use it. Source: ours.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prema_gym.errors import ConfigError

_GIVEN: dict[str, str] = {}  # what was named first, by its whole name


def remember(name: str, given: str) -> str:
    """``name``, the same from every folder, of something that was ``given`` in shorter words."""
    # The same words in another folder are something else, which then goes by its whole name.
    if name != given and given not in _GIVEN.values():
        _GIVEN.setdefault(name, given)
    return name


def as_given(name: str) -> str:
    """What people are shown: a file by the words that first named it, not its whole path."""
    return _GIVEN.get(name, name)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` fill a file beside ``path``, then rename it into place.

    The folder exists. ``write`` is called with the temporary path, which keeps the suffix.

    Raises:
        OSError: It cannot be written; nothing is left behind.
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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file whole or not at all, as a user's command does.

    Raises:
        ConfigError: The file cannot be written; nothing is left behind.
    """
    try:
        write_text_atomically(Path(path), text)
    except OSError as error:
        raise ConfigError(f"cannot write {os.fspath(path)!r}: {error.strerror}") from error


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read one TOML file as plain dictionaries, lists, numbers and texts.

    Raises:
        ConfigError: The file cannot be read or is not TOML; the message names it.
    """
    # The standard library has a reader from 3.11 on; pyproject.toml asks for tomli below that.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(_read_text(path, "utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{os.fspath(path)!r} is not valid TOML: {error}") from error


def write_toml(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    """Write one TOML file of plain dictionaries, lists, numbers (also infinite ones) and texts.

    Raises:
        ConfigError: The file cannot be written; nothing is left behind.
    """
    write_text(path, to_toml(data))


def to_toml(data: Mapping[str, Any]) -> str:
    """A mapping as the text of a TOML file."""
    import tomli_w

    return tomli_w.dumps(data)


def read_json(path: str | os.PathLike[str], *, infinity: bool = False) -> Any:  # noqa: ANN401
    """Read one file of strict JSON as plain data: no key twice, none of Python's constants.

    With ``infinity`` the texts "inf" and "-inf" are numbers, as :func:`to_strict_json` writes them,
    and so are the constants that older files hold.

    Raises:
        ConfigError: The file cannot be read or is not such JSON; the message names it.
    """
    where = repr(os.fspath(path))

    def constant(name: str) -> float:
        if infinity and name != "NaN":
            return float(name)
        raise ConfigError(f"{where} is not valid JSON: {name} is not a number")

    def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, times in Counter(key for key, _ in pairs).items():
            if times > 1:
                raise ConfigError(f"{where} gives {key!r} twice in one object")
        return dict(pairs)

    try:
        text = _read_text(path, "utf-8-sig")
        data = json.loads(text, parse_constant=constant, object_pairs_hook=each_once)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{where} is not valid JSON: {error}") from error
    return infinity_from_text(data) if infinity else data


def to_strict_json(data: object, *, indent: int | None = 2) -> str:
    """Plain data as JSON that every reader takes: infinity, which JSON has not, is the text "inf".

    ``indent`` is spaces a level; None gives one line.

    Raises:
        ValueError: It holds NaN, which says nothing.
    """
    return json.dumps(infinity_as_text(data), indent=indent, allow_nan=False)


def write_json(path: str | os.PathLike[str], data: object) -> None:
    """Write one file of strict JSON, which ``read_json(path, infinity=True)`` reads back equal.

    Raises:
        ConfigError: The file cannot be written; nothing is left behind.
    """
    write_text(path, to_strict_json(data) + "\n")


def infinity_as_text(data: object) -> Any:  # noqa: ANN401 - plain data
    """Plain data with "inf" and "-inf" in place of infinities, which strict JSON has not."""
    return _renamed(data, {math.inf: "inf", -math.inf: "-inf"})


def infinity_from_text(data: object) -> Any:  # noqa: ANN401 - plain data
    """Undo :func:`infinity_as_text`; no text may be "inf" for another reason."""
    return _renamed(data, {"inf": math.inf, "-inf": -math.inf})


def _renamed(value: object, names: Mapping[Any, object]) -> Any:  # noqa: ANN401 - plain data
    """Plain data with other names for some of its numbers and texts, however deep."""
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str | float) else value


def _read_text(path: str | os.PathLike[str], encoding: str) -> str:
    try:
        return Path(path).read_text(encoding=encoding)
    except OSError as error:
        raise ConfigError(f"cannot read {os.fspath(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{os.fspath(path)!r} is not UTF-8 text") from error


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
    """Write texts by file name into a folder, made if absent; return the paths.

    Raises:
        ConfigError: The folder cannot be made or written to; no partial file is left behind.
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
