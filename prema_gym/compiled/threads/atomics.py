"""How do threads work together inside compiled code? Atomic words, shared values, semaphores.

Numba has atomic operations for GPUs only; these are LLVM's own, for processors. All threads see
them in one order ("sequentially consistent"): what a thread wrote before a ``store`` or
``fetch_add`` is seen by one whose ``load`` finds the new number. They exist in compiled code alone
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
SEMAPHORE_WORDS = 4  # a `sem_t` of Linux takes 16 to 32 bytes
_POINTER, _NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
_PAUSES = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "AMD64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),  # YIELD
    "arm64": ("llvm.aarch64.hint", (1,)),
}
"""The instruction for loops that wait, by `platform.machine()`; elsewhere they do without."""

# Numba makes each function from one that gives its signature and how to generate its code. It
# compares argument names, so those that work on a word have two forms, without and with a value.
Generator = Callable[..., Any]
cgutils: Any = _cgutils  # untyped


def _on_word(code: Callable[[Any, Any], Any], result: types.Type) -> Any:  # noqa: ANN401
    """Make ``f(words, index)`` from what generates its code, given a builder and the word."""

    def typed(
        typing_context: object, words: types.Array, index: types.Integer
    ) -> tuple[Any, Generator]:
        del typing_context, index

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            value = code(builder, _word(context, builder, signature, arguments))
            return context.get_dummy_value() if value is None else value

        return result(words, types.intp), generate

    return intrinsic(typed)


def _on_word_by_value(code: Callable[[Any, Any, Any], Any], result: types.Type) -> Any:  # noqa: ANN401
    """Make ``f(words, index, value)`` likewise."""

    def typed(
        typing_context: object, words: types.Array, index: types.Integer, value: types.Integer
    ) -> tuple[Any, Generator]:
        del typing_context, index, value

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            word = _word(context, builder, signature, arguments)
            value = code(builder, word, arguments[2])
            return context.get_dummy_value() if value is None else value

        return result(words, types.intp, types.int64), generate

    return intrinsic(typed)


def _word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
    """Pointer to word ``arguments[1]`` of the int64 array ``arguments[0]``."""
    words = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(words.data, [arguments[1]])


def _alone(code: Callable[[Any], None]) -> Any:  # noqa: ANN401
    """Make ``f()``."""

    def typed(typing_context: object) -> tuple[Any, Generator]:
        del typing_context

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            del signature, arguments
            code(builder)
            return context.get_dummy_value()

        return types.void(), generate

    return intrinsic(typed)


def _load(builder: Any, word: Any) -> Any:  # noqa: ANN401
    return builder.load_atomic(word, "seq_cst", _WORD_BYTES)


def _store(builder: Any, word: Any, value: Any) -> None:  # noqa: ANN401
    builder.store_atomic(value, word, "seq_cst", _WORD_BYTES)


def _fetch_add(builder: Any, word: Any, value: Any) -> Any:  # noqa: ANN401
    return builder.atomic_rmw("add", word, value, "seq_cst")


def _call(builder: Any, name: str, *arguments: Any, result: ir.Type = _NUMBER) -> None:  # noqa: ANN401
    """Call a function by its name: of LLVM, or of the C library."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _pause(builder: Any) -> None:  # noqa: ANN401
    name, numbers = _PAUSES.get(platform.machine(), ("", ()))
    if name:
        _call(builder, name, *(_NUMBER(number) for number in numbers), result=ir.VoidType())


def _yield_processor(builder: Any) -> None:  # noqa: ANN401
    _call(builder, "SwitchToThread" if sys.platform == "win32" else "sched_yield")


def _init_semaphore(builder: Any, word: Any) -> None:  # noqa: ANN401
    if sys.platform == "linux":
        _call(builder, "sem_init", builder.bitcast(word, _POINTER), _NUMBER(0), _NUMBER(0))


def _wait_semaphore(builder: Any, word: Any) -> None:  # noqa: ANN401
    if sys.platform == "linux":
        _call(builder, "sem_wait", builder.bitcast(word, _POINTER))
    elif sys.platform == "win32":
        _call(builder, "Sleep", _NUMBER(1))  # [ms]
    else:
        _call(builder, "usleep", _NUMBER(1000))


def _post_semaphore(builder: Any, word: Any) -> None:  # noqa: ANN401
    if sys.platform == "linux":
        _call(builder, "sem_post", builder.bitcast(word, _POINTER))


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


load = _on_word(_load, types.int64)
"""``load(words, index)``: read a word of an int64 array that other threads write."""

store = _on_word_by_value(_store, types.void)
"""``store(words, index, value)``: write a word that other threads load."""

fetch_add = _on_word_by_value(_fetch_add, types.int64)
"""``fetch_add(words, index, value)``: add to a word; returns what it was before. No two see the
same."""

pause = _alone(_pause)
"""``pause()``: let the processor rest for a moment, in a loop that waits."""

yield_processor = _alone(_yield_processor)
"""``yield_processor()``: let another thread have this processor, if one waits for it."""

init_semaphore = _on_word(_init_semaphore, types.void)
"""``init_semaphore(words, index)``: make `SEMAPHORE_WORDS` words, all 0, a semaphore, once."""

wait_semaphore = _on_word(_wait_semaphore, types.void)
"""``wait_semaphore(words, index)``: sleep until there is a post, and use it up. Elsewhere than on
Linux, which has semaphores without names, it sleeps for a millisecond: the caller looks afterwards
whether there is a reason to get up, as it does in any case."""

post_semaphore = _on_word(_post_semaphore, types.void)
"""``post_semaphore(words, index)``: end the wait of one thread, or its next one."""

address_of: Any = intrinsic(_address_of)
"""``address_of(value)``: where a copy of any value lies while the calling function runs."""

value_at: Any = intrinsic(_value_at)
"""``value_at(address, like)``: the value there, which has the type of ``like``. Not checked."""
