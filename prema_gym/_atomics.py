"""How do threads work together inside compiled code? Atomic words, shared values, and sleep.

Numba has atomic operations for GPUs only; these are LLVM's own, for processors. All threads see
them in one order ("sequentially consistent"): what a thread wrote before it ``publish``-es or
``add``-s is seen by one that ``look``-s and finds the new number. They exist in compiled code alone
(not under ``NUMBA_DISABLE_JIT=1``).
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

_WORD_BYTES = 8
BED_WORDS = 4  # a `sem_t` of Linux takes 16 to 32 bytes
_POINTER, _NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
_PAUSES = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "AMD64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),  # YIELD
    "arm64": ("llvm.aarch64.hint", (1,)),
}
"""The instruction for loops that wait, by `platform.machine()`; elsewhere they do without."""

# Every function below is made by Numba from a typing function, which returns the signature and how
# to generate the code; Numba compares the names of its arguments with those of the caller's.
Generator = Callable[..., Any]
cgutils: Any = _cgutils  # untyped


def _word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
    """Pointer to word ``arguments[1]`` of the int64 array ``arguments[0]``."""
    words = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(words.data, [arguments[1]])


def _look(
    typing_context: object, words: types.Array, index: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        word = _word(context, builder, signature, arguments)
        return builder.load_atomic(word, "seq_cst", _WORD_BYTES)

    return types.int64(words, types.intp), generate


def _publish(
    typing_context: object, words: types.Array, index: types.Integer, value: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        word = _word(context, builder, signature, arguments)
        builder.store_atomic(arguments[2], word, "seq_cst", _WORD_BYTES)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.int64), generate


def _add(
    typing_context: object, words: types.Array, index: types.Integer, value: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        word = _word(context, builder, signature, arguments)
        return builder.atomic_rmw("add", word, arguments[2], "seq_cst")

    return types.int64(words, types.intp, types.int64), generate


def _pause(typing_context: object) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        del signature, arguments
        name, numbers = _PAUSES.get(platform.machine(), ("", ()))
        if name:
            constants = [_NUMBER(number) for number in numbers]
            kind = ir.FunctionType(ir.VoidType(), [constant.type for constant in constants])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), constants)
        return context.get_dummy_value()

    return types.void(), generate


def _call(builder: Any, name: str, *arguments: Any) -> None:  # noqa: ANN401
    """Call a function of the C library that returns an int."""
    kind = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _make_bed(
    typing_context: object, words: types.Array, index: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        if sys.platform == "linux":
            bed = builder.bitcast(_word(context, builder, signature, arguments), _POINTER)
            _call(builder, "sem_init", bed, _NUMBER(0), _NUMBER(0))
        return context.get_dummy_value()

    return types.void(words, types.intp), generate


def _sleep(
    typing_context: object, words: types.Array, index: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        if sys.platform == "linux":
            bed = builder.bitcast(_word(context, builder, signature, arguments), _POINTER)
            _call(builder, "sem_wait", bed)
        elif sys.platform == "win32":
            _call(builder, "Sleep", _NUMBER(1))  # [ms]
        else:
            _call(builder, "usleep", _NUMBER(1000))
        return context.get_dummy_value()

    return types.void(words, types.intp), generate


def _wake(
    typing_context: object, words: types.Array, index: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        if sys.platform == "linux":
            bed = builder.bitcast(_word(context, builder, signature, arguments), _POINTER)
            _call(builder, "sem_post", bed)
        return context.get_dummy_value()

    return types.void(words, types.intp), generate


def _give_way(typing_context: object) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        del signature, arguments
        _call(builder, "SwitchToThread" if sys.platform == "win32" else "sched_yield")
        return context.get_dummy_value()

    return types.void(), generate


def _address_of(typing_context: object, value: types.Type) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        del signature
        place = cgutils.alloca_once_value(builder, arguments[0])
        return builder.ptrtoint(place, context.get_value_type(types.int64))

    return types.int64(value), generate


def _value_at(
    typing_context: object, address: types.Integer, like: types.Type
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        kind = context.get_value_type(signature.args[1]).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], kind))

    return like(types.int64, like), generate


look: Any = intrinsic(_look)
"""``look(words, index)``: read a word of an int64 array that other threads write."""

publish: Any = intrinsic(_publish)
"""``publish(words, index, value)``: write a word for other threads to look at."""

add: Any = intrinsic(_add)
"""``add(words, index, value)``: add to a word; returns what it was before. No two see the same."""

pause: Any = intrinsic(_pause)
"""``pause()``: let the processor rest for a moment, in a loop that waits."""

give_way: Any = intrinsic(_give_way)
"""``give_way()``: let another thread have this processor, if one waits for it."""

make_bed: Any = intrinsic(_make_bed)
"""``make_bed(words, index)``: make `BED_WORDS` words, all 0, a place to sleep, once."""

sleep: Any = intrinsic(_sleep)
"""``sleep(words, index)``: sleep until woken there; the caller looks whether there is a reason to
get up. Elsewhere than on Linux, which has semaphores without names, a millisecond at most."""

wake: Any = intrinsic(_wake)
"""``wake(words, index)``: end the sleep of one thread there, or its next one."""

address_of: Any = intrinsic(_address_of)
"""``address_of(value)``: where a copy of any value lies while the calling function runs."""

value_at: Any = intrinsic(_value_at)
"""``value_at(address, like)``: the value there, which has the type of ``like``. Not checked."""
