"""What machine is simulated? One frozen record of its sizes, rates and widths.

Unit of time: cycles of ``clock_hz``. Source: fidelity.md, section "The machine"; each field's mark
there (S, R, r, C) is repeated with its reason.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from prema_gym.checks import (
    check_fields,
    declared,
    infinite,
    number,
    one_of,
    optional,
    plain,
    read_record,
    whole,
)
from prema_gym.errors import ConfigError
from prema_gym.files import read_toml, write_toml
from prema_gym.hardware.switching import LATENCY

INT64_MAX = 2**63 - 1

WEIGHT_PRELOADS: tuple[str, ...] = ("exposed", "hidden")
"""When a tile's weights are shifted into the array: before it, or while the one before runs."""

VECTOR_OVERLAPS: tuple[str, ...] = ("none", "pipelined")
"""Whether element-wise work behind a product waits for it, or runs as its results leave."""

# Widest values accepted, far beyond any machine, so that every product below is easy to bound.
_MOST_COUNT = 2**20
_MOST_BYTES = 2**50
_MOST_HZ = 10**12
_MOST_WATTS = 1e6


def _size(default: int, unit: str, source: str, *, least: int = 1, most: int) -> int:
    """Declare a whole number in a range."""
    allowed = whole(least, most, unit=unit, from_float=True)
    size: int = declared(default, allowed, unit=unit, source=source)
    return size


def _rate(default: int, source: str) -> int:
    """Declare a bandwidth: whole bytes per second, or infinity."""
    allowed = infinite(whole(1, 10**18, unit="B/s", from_float=True))
    rate: int = declared(default, allowed, unit="B/s", source=source)
    return rate


@dataclass(frozen=True, kw_only=True)
class NPUConfig:
    """A preemptible NPU: weight-stationary systolic array, on-chip buffers, memory, host link.

    Every field is checked on construction; whole numbers given as floats (``358e9``) are stored as
    integers, and a bandwidth may be ``math.inf`` (transfers then take no cycles).

    Raises:
        ConfigError: A value has the wrong type or lies outside its range, a buffer is too small for
            one double-buffered tile, or sizes and rates are so large that transfer times would
            overflow 64-bit integers.
    """

    array_rows: int = _size(
        128,
        "PEs",
        "SH, the K side of a weight tile: 128 in a public re-implementation (fidelity.md, r)",
        most=_MOST_COUNT,
    )
    array_cols: int = _size(
        128,
        "PEs",
        "SW, the N side of a weight tile: 128 in a public re-implementation (fidelity.md, r)",
        most=_MOST_COUNT,
    )
    accumulator_rows: int = _size(
        2048,
        "rows",
        "ACC, rows of M in one GEMM_OP; ours (fidelity.md, C): the depth TPU v1 found enough to "
        "keep its array busy, kept there twice",
        most=_MOST_COUNT,
    )
    clock_hz: int = _size(
        700_000_000,
        "Hz",
        "two re-implementations agree (fidelity.md, R); TPU v1 runs at the same clock",
        most=_MOST_HZ,
    )
    ubuf_bytes: int = _size(
        8 * 2**20,
        "B",
        "activations on chip, two re-implementations agree (fidelity.md, R)",
        most=_MOST_BYTES,
    )
    wbuf_bytes: int = _size(
        4 * 2**20,
        "B",
        "weights on chip, two re-implementations agree (fidelity.md, R)",
        most=_MOST_BYTES,
    )
    dram_bytes_per_s: int | float = _rate(
        358_000_000_000, "NPU memory, eight channels (fidelity.md, R)"
    )
    dram_latency_cycles: int = _size(
        100,
        "cycles",
        "before the first byte of a transfer (fidelity.md, R)",
        least=0,
        most=_MOST_HZ,
    )
    dram_bytes: int = _size(
        8 * 2**30,
        "B",
        "NPU memory for checkpointed contexts; ours: one HBM2 stack, which sixteen contexts of at "
        "most one tile (1 MiB each) never fill",
        least=0,
        most=_MOST_BYTES,
    )
    host_link_bytes_per_s: int | float = _rate(
        16_000_000_000, "ours: PCIe 3.0 x16, the host link of accelerators of that time"
    )
    switch_latency_us: float = declared(
        0.0,
        LATENCY,
        unit="µs",
        source="a CHECKPOINT or KILL takes so long beside the bytes it moves; the paper has none "
        "(S); published figures go by name, `gpu-interrupt` for 32 (hardware/switching.py)",
    )
    element_bytes: int = _size(
        2, "B", "weights and activations; ours (fidelity.md, C): 16-bit operands", most=64
    )
    accumulator_bytes: int = _size(
        4, "B", "partial sums; ours (fidelity.md, C): 32-bit sums of 16-bit products", most=64
    )
    vector_lanes: int = _size(
        128,
        "lanes",
        "one operation a lane and cycle; ours (fidelity.md, C): one lane per array column",
        most=_MOST_COUNT,
    )
    static_watts: float | None = declared(
        None,
        optional(number(0.0, _MOST_WATTS, unit="W")),
        unit="W",
        source="leakage and clocks, whether it works or not; left out: 28 W for this machine, TPU "
        "v1's when idle (Jouppi et al., ISCA 2017), and scaled for another with its array and its "
        "buffers (fidelity.md, Claims)",
    )
    weight_preload: str = declared(
        "exposed",
        one_of("weight preload", WEIGHT_PRELOADS),
        unit="name",
        source="exposed: Algorithm 1 charges every tile for filling the array (fidelity.md); "
        "hidden: shadow registers take the next tile's weights meanwhile, as in TPU v1",
    )
    vector_overlap: str = declared(
        "none",
        one_of("vector overlap", VECTOR_OVERLAPS),
        unit="name",
        source="none: the array and the vector unit work in turns; pipelined: element-wise work "
        "behind a product runs as its results leave the array; ours (hardware/overlap.py)",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        self._check_buffers()
        self._check_overflow()

    def _check_buffers(self) -> None:
        weights = 2 * self.array_rows * self.array_cols * self.element_bytes
        if self.wbuf_bytes < weights:
            raise ConfigError(
                f"wbuf_bytes must be at least {weights}, two weight tiles of "
                f"{self.array_rows}×{self.array_cols} elements, got {self.wbuf_bytes}"
            )
        row = 2 * self.array_rows * self.element_bytes
        if self.ubuf_bytes < row:
            raise ConfigError(
                f"ubuf_bytes must be at least {row}, two activation rows of "
                f"{self.array_rows} elements, got {self.ubuf_bytes}"
            )

    def _check_overflow(self) -> None:
        """Hold the largest transfer, a restore of a context and both buffers, within int64."""
        largest = self.context_limit_bytes + self.ubuf_bytes + self.wbuf_bytes
        for name in ("dram_bytes_per_s", "host_link_bytes_per_s"):
            ratio = self.cycles_per_byte(name)
            # What the kernels form to round up: n · num + den − 1.
            if largest * ratio.numerator + ratio.denominator > INT64_MAX:
                raise ConfigError(
                    f"{name} must keep cycle counts within 64 bits, got {getattr(self, name)} with "
                    f"clock_hz = {self.clock_hz} and restores of up to {largest} B; use rounder "
                    "rates or smaller buffers"
                )

    # Derived values: never stored, so they cannot go stale.

    @property
    def tile_rows(self) -> int:
        """Rows of M in one full tile: the accumulators, or what UBUF can double-buffer.

        A tile's inputs are ``rows × array_rows`` elements and two tiles are held at once, one
        computing and one loading.
        """
        fitting = self.ubuf_bytes // (2 * self.array_rows * self.element_bytes)
        return min(self.accumulator_rows, fitting)

    @property
    def vector_tile_elements(self) -> int:
        """Output elements of one full VECTOR_OP: as many as a weight tile has.

        Ours: small enough that what a layer cannot hide, its first load and last store, is little.
        """
        return self.array_rows * self.array_cols

    @property
    def fill_cycles(self) -> int:
        """Cycles of a GEMM_OP besides its rows: weights in, first row through, last sum out."""
        return 2 * self.array_rows + self.array_cols - 2

    @property
    def hidden_fill_cycles(self) -> int:
        """What a stretch of GEMM_OPs pays once, and again after an interruption; 0 if exposed."""
        return self.fill_cycles if self.weight_preload == "hidden" else 0

    @property
    def context_limit_bytes(self) -> int:
        """Largest context a checkpoint can hold: one tile's output, or its partial sums."""
        sums = self.tile_rows * self.array_cols * max(self.element_bytes, self.accumulator_bytes)
        return max(sums, self.vector_tile_elements * self.element_bytes)

    def cycles_per_byte(self, bandwidth: str) -> Fraction:
        """Exact clock/bandwidth ratio of a bandwidth field, 0 if it is infinite."""
        rate = getattr(self, bandwidth)
        if math.isinf(rate):
            return Fraction(0)
        return Fraction(self.clock_hz, rate)

    @cached_property
    def dram_cycles_per_byte(self) -> Fraction:
        """Exact clock/bandwidth ratio of NPU memory, kept: every tile's time needs it."""
        return self.cycles_per_byte("dram_bytes_per_s")

    def milliseconds(self, cycles: float) -> float:
        """Time of ``cycles`` in milliseconds."""
        return cycles * 1e3 / self.clock_hz

    def microseconds(self, cycles: float) -> float:
        """Time of ``cycles`` in microseconds."""
        return cycles * 1e6 / self.clock_hz

    @property
    def switch_cycles(self) -> int:
        """Switch latency [cycles]."""
        return self.cycles(self.switch_latency_us / 1e3)

    def cycles(self, milliseconds: float) -> int:
        """Nearest whole number of cycles: 0.25 ms is 175 000 at 700 MHz, 250 000 at 1 GHz."""
        return round(milliseconds * self.clock_hz / 1e3)

    def to_dict(self) -> dict[str, int | float | str]:
        """Every field by name, as plain numbers and names; one that is left out stays out."""
        return plain(self)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, where: str = "hardware", note: str = ""
    ) -> NPUConfig:
        """Build a machine from named values; absent fields keep their defaults.

        Args:
            data: Values by field name.
            where: What the values came from, for the message.
            note: What else to say of a key that is no field.

        Raises:
            UnknownNameError: A key is no field; the message names the nearest one.
            ConfigError: A value is not allowed.
        """
        return read_record(cls, data, where, note=note)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> NPUConfig:
        """Read a machine from a TOML file of field = value lines, without a table's head.

        Raises:
            UnknownNameError: A key is no field.
            ConfigError: The file cannot be read, is not TOML, or holds a value not allowed.
        """
        note = "a machine's file holds the fields of a scenario's [hardware] at top level"
        return cls.from_dict(read_toml(path), where=os.fspath(path), note=note)

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write every field to a TOML file that :meth:`from_toml` reads back equal.

        Raises:
            ConfigError: The file cannot be written.
        """
        write_toml(path, self.to_dict())
