"""What may the fields of a layer hold? Their types, each with its constraint.

A class whose fields have these types holds them to it with
:func:`~prema_gym.checks.check_fields`, which also writes every pair and padding out in full, so
that equal layers compare equal.
"""

from __future__ import annotations

from typing import Annotated

from prema_gym.checks import Constraint, text, whole

IntOrPair = int | tuple[int, int]
"""One size for both directions, or (height, width)."""

IntPairOrQuad = int | tuple[int, int] | tuple[int, int, int, int]
"""One size for all sides, (height, width), or (top, left, bottom, right) as ONNX orders it."""


def as_pair(sizes: IntOrPair) -> tuple[int, int]:
    """(height, width); a single size stands for both."""
    return sizes if isinstance(sizes, tuple) else (sizes, sizes)


def as_quad(sizes: IntPairOrQuad) -> tuple[int, int, int, int]:
    """(top, left, bottom, right); a height stands for top and bottom, a width for the others."""
    if isinstance(sizes, tuple) and len(sizes) == 4:
        return sizes
    height, width = as_pair(sizes)
    return height, width, height, width


def pair_of(inner: Constraint) -> Constraint:
    """One size or (height, width), each as ``inner`` allows; kept as (height, width)."""

    def accept(value: object) -> tuple[int, int]:
        height, width = as_pair(value)  # type: ignore[arg-type]
        return inner.accept(height), inner.accept(width)

    return Constraint(f"{inner.allowed}, or (height, width) of such", accept)


def quad_of(inner: Constraint) -> Constraint:
    """One, two or four sizes, each as ``inner`` allows; kept as (top, left, bottom, right)."""

    def accept(value: object) -> tuple[int, ...]:
        top, left, bottom, right = as_quad(value)  # type: ignore[arg-type]
        return tuple(map(inner.accept, (top, left, bottom, right)))

    forms = "(height, width) or (top, left, bottom, right)"
    return Constraint(f"{inner.allowed}, or {forms} of such", accept)


Name = Annotated[str, text()]
Size = Annotated[int, whole()]
SizeOrZero = Annotated[int, whole(0)]
Pair = Annotated[IntOrPair, pair_of(whole())]
Padding = Annotated[IntPairOrQuad, quad_of(whole(0))]
