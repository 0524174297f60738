"""How functions are compiled: Numba, without the GIL, cached on disk, never stale.

Numba notices an edited function but not an edited function *it calls*, nor a changed constant
(numba issues 8851, 8926). Kernels here call each other across files, so the cache is stamped with
a digest of the kernel's source and all that it imports instead of one file's modification time.
Where no
cache folder can be written the kernels compile in memory, with one warning.
"""

from __future__ import annotations

import hashlib
import re
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.caching import NullCache
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

_config: Any = numba.config  # its attributes are made when it is imported
COMPILED = not _config.DISABLE_JIT  # else kernels are plain Python
F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# `nrt` is Numba's run-time, which allocates arrays and counts references to them.
_IN_PLACE: dict[str, Any] = {**_OPTIONS, "_nrt": False}


_PACKAGE = Path(__file__).parents[1]
# "from prema_gym.a import b, c" and "import prema_gym.a", the names perhaps in brackets.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(prema_gym[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(prema_gym[\w.]*))",
    re.MULTILINE,
)


def _file_of(module: str) -> Path | None:
    """The file of a module of ours; None if there is none (the name of a function, say)."""
    parts = module.split(".")[1:]
    # A checkout keeps `agents` and `baselines` beside the package (setup.py).
    for base in (_PACKAGE, _PACKAGE.parent):
        path = base.joinpath(*parts)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if parts and file.is_file():
                return file
    return None


def _imported_by(source: str) -> set[Path]:
    """The files of ours that a source imports, wherever in it."""
    found: set[Path | None] = set()
    for package, names, module in _IMPORT.findall(source):
        found.add(_file_of(package or module))
        found |= {_file_of(f"{package}.{name}") for name in re.findall(r"\w+", names) if package}
    return {path for path in found if path is not None}


@lru_cache
def _source_digest(file: Path) -> str:
    """Digest of a kernel's file and of every file of ours that it imports, at any remove.

    What it calls and which constants it reads is among these. Of a folder that is not ours every
    file counts: how those import each other is not for us to know.
    """
    ours = file.is_relative_to(_PACKAGE) or _file_of_checkout(file)
    todo = {file} if ours else {file, *file.parent.rglob("*.py")}
    sources: dict[Path, bytes] = {}
    while todo:
        path = todo.pop()
        sources[path] = path.read_bytes()
        todo |= _imported_by(sources[path].decode()) - sources.keys()
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(path.name.encode())
        digest.update(sources[path])
    return digest.hexdigest()


def _file_of_checkout(file: Path) -> bool:
    """Whether a file belongs to a package that a checkout keeps beside ours."""
    return any(file.is_relative_to(_PACKAGE.parent / name) for name in ("agents", "baselines"))


@lru_cache(maxsize=1)
def _warn_no_cache() -> None:
    warnings.warn(
        "compiled kernels cannot be cached, since no cache folder can be written; they compile "
        "anew in every process. Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=4,
    )


def kernel(function: F) -> F:
    """Compile ``function`` with Numba on first call; the result is cached on disk.

    Plain Python runs instead when ``NUMBA_DISABLE_JIT=1``. No ``fastmath``: results are the same on
    every machine. The GIL is released, so threads can share a batch. A division by zero is the
    caller's to exclude: checking each would cost a branch (``error_model="numpy"``).
    """
    return _cached(function, numba.njit(**_OPTIONS)(function))


def in_place(function: F) -> F:
    """Compile as :func:`kernel` does, but for functions that make no array: slices are fine.

    Arrays are not counted as references then. Numba does that with atomic instructions wherever an
    array is handed to a function, also an inlined one (measured: 40 % of the engine's time).
    """
    return _cached(function, numba.njit(**_IN_PLACE)(function))


def _cached(function: F, compiled: Any) -> F:  # noqa: ANN401
    if compiled is function:  # NUMBA_DISABLE_JIT=1
        return function
    try:
        compiled.enable_caching()
    except (RuntimeError, OSError):
        _warn_no_cache()
    else:
        # Numba offers no public way to widen the stamp from one file to a package. Where these
        # are gone, no cache is better than a stale one.
        file: Any = getattr(compiled._cache, "_cache_file", None)
        needed = ("_source_stamp", "_data_name", "_data_path", "_load_index")
        if all(hasattr(file, name) for name in needed):
            digest = _source_digest(Path(function.__code__.co_filename))
            numbered = Path(file._data_path(file._data_name(0)))
            file._source_stamp = digest
            file._data_name = partial(_new_data_name, numbered, digest[:16])
            file._load_index = partial(_index_or_none, file._load_index)
        else:
            compiled._cache = NullCache()
            _warn_no_cache()
    return cast(F, compiled)


def _index_or_none(load: Callable[[], dict[Any, str]]) -> dict[Any, str]:
    """Return what an index lists; nothing where it is of an older version of ours.

    Numba reads the types of an index before its stamp: one that names a class which has moved since
    cannot be read at all.
    """
    try:
        return load()
    except (AttributeError, ImportError):
        return {}


def _new_data_name(numbered: Path, digest: str, number: int) -> str:
    """Name a file for machine code as no other is named, and remove those of other sources.

    Numba numbers them and writes its index before the file. A process that starts just then would
    load what another source, or a process with other types, left under the number, and run it.

    Args:
        numbered: Numba's own name for number 0.
        digest: Of this source.
        number: Numba's, not used.
    """
    del number
    stem = numbered.name.removesuffix("0.nbc")
    with suppress(OSError):  # another process may be at it too
        for path in numbered.parent.iterdir():
            if path.name.startswith(stem) and path.suffix == ".nbc" and digest not in path.name:
                path.unlink(missing_ok=True)
    return f"{stem}{digest}.{uuid.uuid4().hex[:16]}.nbc"


def direct(function: F, *args: object) -> F:
    """Return a kernel compiled for the types of ``args``, to be called with just these types.

    An ordinary call looks up what its arguments are first, 2 to 3 µs for each named tuple of arrays
    (measured), which for a few environments is more than the work itself.
    """
    compiled: Any = function
    if not hasattr(compiled, "compile"):  # NUMBA_DISABLE_JIT=1
        return function
    types = tuple(numba.typeof(arg) for arg in args)  # type: ignore[no-untyped-call]
    return cast(F, compiled.compile(types))


def inlined(function: F) -> F:
    """Compile ``function`` as a part of the kernels that call it; as :func:`in_place` otherwise.

    Handing a struct of arrays to a called function copies some fifty words; for steps of tens of
    nanoseconds that is most of the time (measured: a third of the engine's).
    """
    compiled: Any = numba.njit(forceinline=True, **_IN_PLACE)(function)
    return cast(F, compiled)


def prefetch(array: NDArray[Any], byte: int) -> None:
    """Ask for the cache line ``byte`` bytes into a contiguous ``array``, without waiting for it.

    For kernels that know which records they will need some 100 ns from now (measured: a step of
    8 192 environments, whose records the caches do not hold, takes 0.6 of the time). Any address is
    allowed. In plain Python it does nothing.
    """


@overload(prefetch, inline="always")
def _prefetch_compiled(array: types.Array, byte: types.Integer) -> Callable[..., None]:
    def compiled(array: types.Array, byte: types.Integer) -> None:  # Numba compares signatures
        _prefetch_line(array, byte)

    return compiled


def _prefetch_instruction(
    typing_context: object, array: types.Array, byte: types.Integer
) -> tuple[object, Callable[..., Any]]:
    """LLVM's own instruction: Numba has no name for it."""
    del typing_context, byte

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        line = builder.gep(builder.bitcast(start, pointer), [arguments[1]])
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        read, keep, data = number(0), number(3), number(1)
        builder.call(instruction, [line, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


_prefetch_line: Any = intrinsic(_prefetch_instruction)
