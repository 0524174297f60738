"""How large is the context table on the chip?

The paper reports about 0.01 mm² for 16 tasks in 32 nm. Its full text is not at hand, so neither its
fields nor its kind of storage is known; the two kinds below bracket what a designer would build.

Unit: mm². Source: fidelity.md (the claim); beside each number (ours).
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.checks import whole

PAPER_AREA_MM2 = 0.01
"""The paper's figure (fidelity.md, S)."""

FIELD_BITS = 64
"""Width of a field (fidelity.md, S: a few 64-bit fields a task)."""

CONTEXT_FIELDS: tuple[str, ...] = (
    "task id",
    "state",
    "priority",
    "token",
    "estimated cycles",
    "executed cycles",
    "waited cycles",
    "context address",
)
"""What PREMA must know of a task; ours: the inputs of Algorithms 2 and 3 and the
context's place."""

SRAM_MM2_PER_BIT = 1 / 4.2e6
"""Array density of 4.2 Mbit/mm² (0.171 µm² cells): Natarajan et al., IEDM 2008, 32 nm. Optimistic
here: that is a 291 Mbit array, and a table of a few kilobits pays more for its periphery."""

FLIP_FLOP_MM2_PER_BIT = 4.522e-6 * (32 / 45) ** 2
"""A D flip-flop of 4.522 µm² (DFF_X1, NanGate 45 nm open cell library), scaled to 32 nm by area.
All rows can be read at once, as a decision over all tasks needs; read multiplexers come on top."""


@dataclass(frozen=True, kw_only=True)
class ContextTableArea:
    """Storage of a context table, and its area in 32 nm by kind of storage."""

    tasks: int
    bits: int
    sram_mm2: float
    flip_flop_mm2: float
    paper_mm2: float = PAPER_AREA_MM2


def context_table_area(tasks: int = 16) -> ContextTableArea:
    """Area of a context table.

    Args:
        tasks: Rows; 16 in the paper.

    Raises:
        ConfigError: ``tasks`` is below 1.
    """
    bits = whole().check("tasks", tasks) * len(CONTEXT_FIELDS) * FIELD_BITS
    return ContextTableArea(
        tasks=tasks,
        bits=bits,
        sram_mm2=bits * SRAM_MM2_PER_BIT,
        flip_flop_mm2=bits * FLIP_FLOP_MM2_PER_BIT,
    )
