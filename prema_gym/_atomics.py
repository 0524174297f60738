"""How do threads hand each other work inside compiled code? Atomic words, and where a value lies.

Numba has atomic operations for GPUs only; these are LLVM's own, for processors. All of them order
memory: what a thread wrote before it ``publish``-es or ``add``-s is seen by one that ``look``-s and
finds the new number. They exist in compiled code alone (not under ``NUMBA_DISABLE_JIT=1``).
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

_WORD_BYTES = 8
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
        return builder.load_atomic(word, "acquire", _WORD_BYTES)

    return types.int64(words, types.intp), generate


def _publish(
    typing_context: object, words: types.Array, index: types.Integer, value: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        word = _word(context, builder, signature, arguments)
        builder.store_atomic(arguments[2], word, "release", _WORD_BYTES)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.int64), generate


def _add(
    typing_context: object, words: types.Array, index: types.Integer, value: types.Integer
) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        word = _word(context, builder, signature, arguments)
        return builder.atomic_rmw("add", word, arguments[2], "acq_rel")

    return types.int64(words, types.intp, types.int64), generate


def _pause(typing_context: object) -> tuple[Any, Generator]:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        del signature, arguments
        name, numbers = _PAUSES.get(platform.machine(), ("", ()))
        if name:
            constants = [ir.IntType(32)(number) for number in numbers]
            kind = ir.FunctionType(ir.VoidType(), [constant.type for constant in constants])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), constants)
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

address_of: Any = intrinsic(_address_of)
"""``address_of(value)``: where a copy of any value lies while the calling function runs."""

value_at: Any = intrinsic(_value_at)
"""``value_at(address, like)``: the value there, which has the type of ``like``. Not checked."""
