"""Where is machine code kept, and who compiles it? By content; once, whoever else waits for it.

Numba keeps machine code under the *path* of its source, so that every new place (a second checkout,
the working directory of a cluster's session) compiles all of it again, and each of several
processes that start together compiles the same. Here a folder is named by the digest of the source
(:mod:`sources`), of Numba's version and of what steers its compiler; Numba's own index in it tells
processors and types apart. Whoever finds nothing locks the kernel, looks once more, and compiles;
the others wait and load. The lock is the operating system's (``flock``): it ends with the process
that holds it, and needs no package. Where there is none, all compile side by side, and all is as
right.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import llvmlite  # type: ignore[import-untyped]
import numba
from numba.core import caching as numba_caching
from numba.core.compiler_lock import global_compiler_lock
from numba.misc import appdirs

from prema_gym.compiled.sources import PACKAGE, place_in_package, source_digest

try:
    import fcntl
except ImportError:  # Windows: all compile side by side
    fcntl = None  # type: ignore[assignment]

_config: Any = numba.config  # its attributes are made when it is imported
_caching: Any = numba_caching  # without types, as all of Numba
_AppDirs: Any = appdirs.AppDirs
_STEERING = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
"""Settings of Numba that change machine code and that its index does not know."""

KEPT = 8
"""Sources of one file whose code is kept, the latest used: some checkouts with some edits each. All
kernels take 30 MB (measured), so the whole cache stays below 250 MB."""

LOOK_AGAIN_S = 0.02
"""How often a lock is tried: far less than a kernel takes to compile."""

LONGEST_WAIT_S = 600.0
"""After so long a wait a process compiles on its own: the longest kernel takes some 20 s, and a
machine with thirty times as much to do as it has processors is not worth waiting for."""


def use_cache(compiled: Any, function: Callable[..., Any]) -> None:  # noqa: ANN401
    """Have a Numba dispatcher keep its machine code in the cache, and compile in turn.

    Args:
        compiled: The dispatcher.
        function: What it compiles. One without a file (typed at a prompt) stays in memory.
    """
    file = Path(function.__code__.co_filename)
    if not file.is_file():
        return
    root = _root(file.parent)
    if root is None:
        _warn_no_cache()
        return
    cache = _KernelCache(function, root / _folder_name(function, file))
    compiled._cache = cache
    compile_now = compiled.compile

    def compile_in_turn(signature: object) -> object:
        # The compiler's own lock first, always: two threads of ours cannot wait for each other.
        with global_compiler_lock, cache.turn():
            return compile_now(signature)

    compiled.compile = compile_in_turn


def _folder_name(function: Callable[..., Any], file: Path) -> str:
    """The folder of a kernel's file and of all that its machine code depends on."""
    place = place_in_package(file)
    # Code of a user's file names its module, which may hold the path.
    stem = "own." + file.stem if place is None else place.removesuffix(".py").replace("/", ".")
    parts = [source_digest(file), numba.__version__, llvmlite.__version__]
    parts += [f"{name}={getattr(_config, name, None)!r}" for name in _STEERING]
    parts += [function.__module__] if place is None else []
    return f"{stem}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:20]}"


@lru_cache
def _root(folder: Path) -> Path | None:
    """Where machine code is kept: NUMBA_CACHE_DIR, the user's cache, beside the source, or nowhere.

    A folder that NUMBA_CACHE_DIR names is read also where it cannot be written (an image's, say).
    """
    if _config.CACHE_DIR:
        given = Path(_config.CACHE_DIR)
        return given if _writable(given) or given.is_dir() else None
    user = Path(_AppDirs(appname="prema-gym", appauthor=False).user_cache_dir) / "kernels"
    beside = (PACKAGE if folder.is_relative_to(PACKAGE) else folder) / "__pycache__"
    return next((root for root in (user, beside) if _writable(root)), None)


@lru_cache
def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@lru_cache(maxsize=1)
def _warn_no_cache() -> None:
    warnings.warn(
        "compiled kernels cannot be cached, since no cache folder can be written; they compile "
        "anew in every process. Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=5,
    )


class _Place:
    """Where the code of one kernel lies, in Numba's words: its locator."""

    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        self._folder, self._py_file = folder, function.__code__.co_filename

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)


class _Kind(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    """How code becomes bytes, and what its files are called."""

    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        line = function.__code__.co_firstlineno
        self._locator, self._lineno = _Place(folder, function), line  # for Numba's warnings
        name = function.__qualname__.replace("<", "").replace(">", "")
        self._filename_base = f"{name}-{line}.{sys.implementation.cache_tag}{sys.abiflags}"


class _KernelCache(_caching.FunctionCache):  # type: ignore[misc]
    """The machine code of one kernel.

    Args:
        function: The kernel.
        folder: Of its source.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._name, self._py_func = repr(function), function
        self._impl, self._cache_path = _Kind(folder, function), str(folder)
        base = self._impl.filename_base
        self._cache_file = _Files(str(folder), base, folder.name)  # the digest as stamp too
        self._folder, self._lock_path = folder, folder / f"{base}.lock"
        self._depth = 0
        self._held: IO[bytes] | None = None
        self.enable()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Within it, what is compiled is ours to compile; afterwards it is the next one's turn."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._held is not None:
                self._held.close()
                self._held = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:  # noqa: ANN401
        """Load code of these types; if there is none, wait for one's turn and look again."""
        found = super().load_overload(sig, target_context)
        if found is None and self._held is None:
            self._held = _locked(self._lock_path)
            found = super().load_overload(sig, target_context)
        if found is not None:
            _used(self._folder)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:  # noqa: ANN401
        """Keep code; where that fails (a full disk, a read-only folder), go on without."""
        try:
            super().save_overload(sig, data)
        except OSError:
            _warn_no_cache()
        else:
            _forget_old(self._folder)


class _Files(_caching.IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files, with names that no other process gives and a damaged index taken for none."""

    def _data_name(self, number: int) -> str:
        # Numba writes its index before the code: a numbered file could be another process's still.
        del number
        name: str = self._data_name_pattern.format(number=0)
        return name.replace(".0.", f".{uuid.uuid4().hex[:16]}.")

    def load(self, key: object) -> Any:  # noqa: ANN401
        with suppress(Exception):  # whatever pickle makes of bytes that mean nothing
            return super().load(key)
        return None

    def _load_index(self) -> dict[Any, str]:
        try:
            found: dict[Any, str] = super()._load_index()
        except OSError:
            raise
        except Exception:  # the same
            return {}
        return found


def _locked(path: Path) -> IO[bytes] | None:
    """Wait until nobody else holds a file's lock, and hold it; None where it cannot be had."""
    if fcntl is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError:
        return None
    end = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < end:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_AGAIN_S)
        except OSError:  # a file system without locks
            break
        else:
            return file
    file.close()
    return None


@lru_cache
def _used(folder: Path) -> None:
    """Note that a folder is in use: the latest used are kept."""
    with suppress(OSError):
        os.utime(folder)


@lru_cache
def _forget_old(folder: Path) -> None:
    """Remove what other sources of the same file left, but for the latest used."""
    stem, _, _ = folder.name.rpartition("-")
    with suppress(OSError):  # another process may be at it too
        same = [one for one in folder.parent.glob(f"{stem}-*") if one != folder and one.is_dir()]
        for old in sorted(same, key=lambda one: one.stat().st_mtime)[: -(KEPT - 1)]:
            shutil.rmtree(old, ignore_errors=True)
