"""How does compiled code draw from a NumPy generator? Through NumPy's own interface for C.

A generator's numbers come from its bit generator, which hands out the address of a structure
``bitgen_t`` (NumPy's reference, "C API for random"): a state, and functions that draw from it.
``Generator.random`` calls ``next_double`` once for each number, and so does :func:`next_double`
here: the numbers, and where the generator stands afterwards, are the same. It takes no lock: the
caller sees to it that nobody else draws from the generator meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

_pointer_in: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def address_of(rng: np.random.Generator) -> int:
    """Return where the ``bitgen_t`` of a generator lies, which is there as long as it is."""
    return int(_pointer_in(rng.bit_generator.capsule, b"BitGenerator"))


class Generators(NamedTuple):
    """Generators and where they lie; one object, since compiled code takes the addresses on trust.

    Make one with :meth:`of`, and hold it while compiled code has its addresses.
    """

    rngs: tuple[np.random.Generator, ...]
    addresses: NDArray[np.int64]
    owners: tuple[np.random.BitGenerator, ...]  # of that memory

    @classmethod
    def of(cls, rngs: Iterable[np.random.Generator]) -> Generators:
        """Look up where some generators lie."""
        kept = tuple(rngs)
        addresses = np.array([address_of(rng) for rng in kept], np.int64)
        return cls(kept, addresses, tuple(rng.bit_generator for rng in kept))


def _next_double(
    typing_context: object, address: types.Integer
) -> tuple[object, Callable[..., Any]]:
    del typing_context, address

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        del context, signature
        state = ir.IntType(8).as_pointer()
        draw = ir.FunctionType(ir.DoubleType(), [state]).as_pointer()
        # The state, then next_uint64, next_uint32, next_double.
        bitgen = ir.LiteralStructType([state, state, state, draw])
        here = builder.inttoptr(arguments[0], bitgen.as_pointer())
        number = ir.IntType(32)
        state_at, draw_at = (builder.gep(here, [number(0), number(n)]) for n in (0, 3))
        return builder.call(builder.load(draw_at), [builder.load(state_at)])

    return types.float64(types.int64), generate


next_double: Any = intrinsic(_next_double)
"""``next_double(address)``: the next number of a generator, float64 in [0, 1). Compiled only."""
