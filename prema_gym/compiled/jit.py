"""How functions are compiled: Numba, without the GIL, cached on disk, never stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from prema_gym.compiled.cache import use_cache

_config: Any = numba.config  # its attributes are made when it is imported
COMPILED = not _config.DISABLE_JIT  # else kernels are plain Python
F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# `nrt` is Numba's run-time, which allocates arrays and counts references to them.
_IN_PLACE: dict[str, Any] = {**_OPTIONS, "_nrt": False}


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
    if compiled is not function:  # NUMBA_DISABLE_JIT=1
        use_cache(compiled, function)
    return cast(F, compiled)


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
